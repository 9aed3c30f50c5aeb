"""The layers: a module imports only from its own layer and those before it, and one alone uses PySpark's inside."""

import ast
import re
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tidegate.extras import EXTRAS

SOURCE = Path(__file__).parents[1] / "src" / "tidegate"
# Layers in one tuple may use each other.
LAYERS = [
    ("printable",),
    ("errors",),
    ("extras",),
    ("layout",),
    ("time",),
    ("spec",),
    ("progress",),
    ("sim",),
    ("flow",),
    ("reference",),
    ("graph",),
    ("engine",),
    ("live",),
    ("spark", "local_engine"),
    ("testing",),
    ("check",),
    ("ui", "demos", "cli"),
]
#: Packages of which modules are imported by name.
PACKAGES = ("tidegate", "tidegate.flow", "tidegate.engine", "tidegate.spark")
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def layer(module: str) -> str:
    parts = module.split(".")
    return parts[1] if parts[0] == "tidegate" and len(parts) > 1 else ""


def imports(source: str, *, ever: bool = False) -> list[str]:
    """What a module imports when it is loaded; with ``ever``, also inside functions: the documented way back."""
    found: list[str] = []
    pending: list[ast.AST] = list(ast.parse(source).body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.ImportFrom) and node.module in (
            "tidegate",
            "tidegate.flow",
            "tidegate.engine",
            "tidegate.spark",
        ):
            found += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append(str(node.module))
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            pending += node.orelse
        elif ever or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            pending += ast.iter_child_nodes(node)
    return found


def files_of(name: str) -> list[Path]:
    """The modules of a layer."""
    module = SOURCE / f"{name}.py"
    return [module] if module.exists() else sorted((SOURCE / name).rglob("*.py"))


@pytest.mark.parametrize("name", sorted(RANK))
def test_a_layer_uses_only_those_before_it(name):
    """No module imports, when it is loaded, from a layer that comes after its own."""
    files = files_of(name)
    assert files
    wrong = [
        f"{path.relative_to(SOURCE)} imports {module}"
        for path in files
        for module in imports(path.read_text(encoding="utf-8"))
        if RANK.get(layer(module), 0) > RANK[name]
    ]
    assert wrong == []


def test_every_package_has_a_layer():
    """A new package gets a place among the layers."""
    packages = {p.name for p in SOURCE.iterdir() if p.is_dir() and (p / "__init__.py").exists()}
    assert packages <= set(RANK)


# What a job runs, and what none needs: to check operators and protocols, to simulate them, and to show things.
OF_JOBS = (
    "printable",
    "errors",
    "extras",
    "layout",
    "time",
    "spec",
    "progress",
    "flow",
    "reference",
    "graph",
    "engine",
    "live",
    "spark",
    "local_engine",
)
OF_NO_JOB = {"sim", "check", "testing", "ui", "demos", "cli"}


def not_for_jobs(source: str) -> list[str]:
    """What a module imports, sooner or later, that no job needs."""
    packages = {*EXTRAS["check"], *EXTRAS["prove"], *EXTRAS["cli"]}
    return [m for m in imports(source, ever=True) if layer(m) in OF_NO_JOB or m.split(".")[0] in packages]


@pytest.mark.parametrize("name", OF_JOBS)
def test_a_job_loads_nothing_that_serves_checks_and_commands(name):
    """Neither when a module is loaded nor when a function of it is called."""
    found = {path.name: not_for_jobs(path.read_text(encoding="utf-8")) for path in files_of(name)}
    assert {path: modules for path, modules in found.items() if modules} == {}


def test_an_import_inside_a_function_would_be_seen():
    """The check above finds imports of either form at any depth, and leaves those for types alone."""
    assert not_for_jobs("def f():\n  if f:\n    from tidegate import check") == ["tidegate.check"]
    assert not_for_jobs("class A:\n  def f(self):\n    import hypothesis.strategies") == ["hypothesis.strategies"]
    assert not_for_jobs("import tidegate.checks\nif TYPE_CHECKING:\n  from rich import text") == []


def test_every_layer_is_of_jobs_or_of_none():
    """So a new layer is looked at too."""
    assert {*OF_JOBS, *OF_NO_JOB} == set(RANK)


def parts_of(name: str) -> dict[str, list[str]]:
    """The sources of each package and each module in a layer."""
    found: dict[str, list[str]] = {}
    for path in files_of(name):
        part = path.relative_to(SOURCE / name).parts[0].removesuffix(".py")
        found.setdefault(part, []).append(path.read_text(encoding="utf-8"))
    return found


def circle(name: str, parts: Mapping[str, Iterable[str]]) -> list[str]:
    """Parts of a layer that import each other, sooner or later, in a circle; nothing if imports go one way."""
    used: dict[str, set[str]] = {}
    for part, sources in parts.items():
        modules = [m.split(".") for source in sources for m in imports(source, ever=True)]
        used[part] = {m[2] for m in modules if m[:2] == ["tidegate", name] and m[2:]} & set(parts) - {part}
    try:
        TopologicalSorter(used).prepare()
    except CycleError as error:
        return sorted(set(error.args[1]))
    return []


@pytest.mark.parametrize("name", ["engine", "spark"])
def test_imports_inside_of_an_engine_go_one_way(name):
    """The lowering, loops, streaming and the modules beside them: no two of them import each other."""
    parts = parts_of(name)
    assert {"engine": {"lowering", "loops", "relation"}, "spark": {"backend", "streaming"}}[name] <= set(parts)
    assert circle(name, parts) == []


def rewrites(sources: Iterable[str]) -> list[str]:
    """What is imported of the rewriter."""
    return [m for source in sources for m in imports(source, ever=True) if m.startswith("tidegate.flow.rewrite")]


def test_the_lowering_does_not_rewrite():
    """A plan is rewritten before it is lowered, and never by what lowers it."""
    assert rewrites(parts_of("engine")["lowering"]) == []


def test_a_circle_would_be_seen():
    """The checks above find a circle of two and of three, an import inside a function, and one of the rewriter."""
    down = "from tidegate.spark.lowering.rows import quoted"
    up = "def f():\n  from tidegate.spark import loops"
    assert circle("spark", {"lowering": [up], "loops": ["import json", down]}) == ["loops", "lowering"]
    through = {"lowering": ["from tidegate.spark.arrow import a"], "arrow": [up], "loops": [down]}
    assert circle("spark", through) == ["arrow", "loops", "lowering"]
    assert circle("spark", {"lowering": ["from tidegate.flow.plan import Plan"], "loops": [down]}) == []
    assert rewrites([down, "from tidegate.flow.rewrite.pieces import exact"]) == ["tidegate.flow.rewrite.pieces"]


OUTPUTS = SOURCE / "engine" / "outputs"


def calls_in(node: ast.AST) -> set[str]:
    """What is called in an expression, as it is written."""
    return {ast.unparse(n.func) for n in ast.walk(node) if isinstance(n, ast.Call)}


def kinds_asked_for(source: str, kinds: set[str]) -> list[str]:
    """The kinds that a module tells apart: by `isinstance`, by a pattern, or by `type`; also under another name."""
    tree = ast.parse(source)
    aliases = [alias for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names]
    names = {kind: kind for kind in kinds} | {a.asname: a.name for a in aliases if a.asname and a.name in kinds}
    found = []
    for node in ast.walk(tree):
        asked: list[ast.AST] = []
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
            asked = [*node.args[1:]]
        elif isinstance(node, ast.MatchClass):
            asked = [node.cls]
        elif isinstance(node, ast.Compare) and "type" in calls_in(node):
            asked = [node]
        inside = [part for tree in asked for part in ast.walk(tree)]
        found += [names[p.id] for p in inside if isinstance(p, ast.Name) and p.id in names]
        found += [p.attr for p in inside if isinstance(p, ast.Attribute) and p.attr in kinds]
    return found


def kinds_of_outputs() -> set[str]:
    """The classes in `outputs/`."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in OUTPUTS.glob("*.py")]
    return {node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)}


def test_a_run_asks_no_output_for_its_kind():
    """What a run needs to know of an output, the output answers: so a new kind is a module, and nothing else."""
    kinds = kinds_of_outputs()
    assert {"Output", "Own", "Transactional", "Parquet", "Foreach", "Postgres", "Delta"} <= kinds
    layers = [*files_of("engine"), *files_of("spark"), *files_of("local_engine")]
    outside = [path for path in layers if OUTPUTS not in path.parents]
    found = {path.name: kinds_asked_for(path.read_text(encoding="utf-8"), kinds) for path in outside}
    assert {name: asked for name, asked in found.items() if asked} == {}


def test_a_kind_that_is_asked_for_would_be_seen():
    """The check above finds each way to tell kinds apart, and leaves names in types and calls alone."""
    kinds = {"Parquet", "Delta"}
    assert kinds_asked_for("if isinstance(output, Parquet | str): pass", kinds) == ["Parquet"]
    assert kinds_asked_for("[o for o in outputs if isinstance(o, (int, outputs.Delta))]", kinds) == ["Delta"]
    assert kinds_asked_for("match output:\n  case Delta(path=path): pass", kinds) == ["Delta"]
    assert kinds_asked_for("if type(output) is not Parquet: pass", kinds) == ["Parquet"]
    assert kinds_asked_for("from outputs import Delta as D\nissubclass(type(output), D)", kinds) == ["Delta"]
    assert kinds_asked_for("def f(output: Parquet) -> bool:\n  return output == Parquet(str(output))", kinds) == []


#: What PySpark keeps for itself: its handles on objects of the JVM, and a few more.
PRIVATE = re.compile(r"_(j[a-z]\w*|gateway|sc|df|cause)")


def private_doors(source: str) -> list[str]:
    """What a module uses of PySpark's inside, by name; attributes of its own objects are its own."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            of_context = node.attr.startswith("_") and ast.unparse(node.value).endswith("sparkContext")
            if not own and (PRIVATE.fullmatch(node.attr) or of_context):
                found.append(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and PRIVATE.fullmatch(node.value):
            found.append(node.value)
    return found


def test_one_module_has_the_private_doors_into_pyspark():
    """What a new version of PySpark may take away is used in one place."""
    found = {str(p.relative_to(SOURCE)): private_doors(p.read_text(encoding="utf-8")) for p in SOURCE.rglob("*.py")}
    assert {path for path, doors in found.items() if doors} == {"spark/jvm.py"}


def test_a_private_door_would_be_seen():
    """The check above finds one at the end of a chain, behind `getattr`, and of a context; not a module's own."""
    assert private_doors("rows = frame.limit(1)._jdf.collectAsList()") == ["_jdf"]
    assert private_doors("getattr(session, '_jvm').java") == ["_jvm"]
    assert private_doors("spark.sparkContext._ensure_initialized()") == ["_ensure_initialized"]
    assert private_doors("self._jvm.org.apache.hadoop.fs.Path(root)\nself._frames") == []
