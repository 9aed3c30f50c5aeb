"""Examples in docstrings of what users call can be pasted: they need nothing that they do not say."""

from __future__ import annotations

import ast
import builtins
import doctest
import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from tidegate import Flow, Stream, graph
from tidegate.flow.windows import Windowed


def methods() -> Iterator[tuple[str, Any]]:
    for kind in (Flow, Stream, Windowed):
        for name, method in inspect.getmembers(kind, inspect.isfunction):
            if not name.startswith("_"):
                yield f"{kind.__name__}.{name}", method
    for name in graph.__all__:
        yield f"graph.{name}", getattr(graph, name)


def unsaid(source: str) -> set[str]:
    """The names that a text uses and neither defines nor imports."""
    nodes = list(ast.walk(ast.parse(source)))
    used = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    known = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    known |= {n.name for n in nodes if isinstance(n, ast.FunctionDef)}
    known |= {n.arg for n in nodes if isinstance(n, ast.arg)}
    known |= {a.asname or a.name for n in nodes if isinstance(n, ast.Import | ast.ImportFrom) for a in n.names}
    return used - known - vars(builtins).keys()


@pytest.mark.parametrize(("name", "method"), [pytest.param(*m, id=m[0]) for m in methods()])
def test_an_example_can_be_pasted(name: str, method: Any) -> None:
    """Every method and function has one that imports what it needs, shows what comes out, and uses no other names."""
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(method) or "")
    assert "import tidegate as tg\n" in [example.source for example in examples]
    assert any(example.want for example in examples)
    assert unsaid("".join(example.source for example in examples)) == set()


def test_a_name_from_elsewhere_would_be_seen() -> None:
    """The check above finds a stream that nobody made, also in a function, and leaves arguments alone."""
    assert unsaid("def f(x):\n    return edits.where(x)\nprint(f(1))") == {"edits"}
    assert unsaid("import tidegate as tg\n[tg.WM(t) for t in (1, 2)]") == set()
    assert len(list(methods())) > 30
