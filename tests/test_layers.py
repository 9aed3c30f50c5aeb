"""The layers: a module imports only from its own layer and from those before it."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "tidegate"
# Layers in one tuple may use each other.
LAYERS = [
    ("errors",),
    ("extras",),
    ("time",),
    ("spec",),
    ("progress",),
    ("sim",),
    ("flow",),
    ("graph",),
    ("spark",),
    ("check",),
    ("ui", "demos", "cli"),
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def layer(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def imports(path: Path) -> list[str]:
    """What a module imports when it is loaded; imports inside functions are the documented way back."""
    found: list[str] = []
    pending: list[ast.AST] = list(ast.parse(path.read_text(encoding="utf-8")).body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.ImportFrom) and node.module == "tidegate":
            found += [f"tidegate.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tidegate."):
            found.append(str(node.module))
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.startswith("tidegate.")]
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            pending += node.orelse
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            pending += ast.iter_child_nodes(node)
    return found


@pytest.mark.parametrize("name", sorted(RANK))
def test_a_layer_uses_only_those_before_it(name):
    """No module imports, when it is loaded, from a layer that comes after its own."""
    files = [SOURCE / f"{name}.py"] if (SOURCE / f"{name}.py").exists() else sorted((SOURCE / name).rglob("*.py"))
    assert files
    wrong = [
        f"{path.relative_to(SOURCE)} imports {module}"
        for path in files
        for module in imports(path)
        if RANK.get(layer(module), 0) > RANK[name]
    ]
    assert wrong == []


def test_every_package_has_a_layer():
    """A new package gets a place among the layers."""
    packages = {p.name for p in SOURCE.iterdir() if p.is_dir() and (p / "__init__.py").exists()}
    assert packages <= set(RANK)
