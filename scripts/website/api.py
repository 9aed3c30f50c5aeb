"""Pages of the API: which name is on which page. What is said there is its docstring, which mkdocstrings puts in."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from scripts.website.navigation import SiteError

__all__ = ["OVERVIEW", "PAGES", "ApiPage", "api_pages", "pages_there", "public_names"]

#: The page that lists what ``import tidegate as tg`` brings.
OVERVIEW = "api/tidegate.md"


@dataclass(frozen=True)
class ApiPage:
    """A page with what docstrings say of some names, and of all public names of some modules."""

    path: str
    title: str
    about: str
    names: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    #: A module that hands out the classes of all these modules: they are shown under its name, and nothing else is.
    under: str = ""
    options: Mapping[str, object] = field(default_factory=dict)

    def all_names(self, source: Path) -> list[str]:
        """Return the names on the page; ``source`` is the directory that the package is in."""
        listed = [(module, name) for module in self.modules for name in public_names(source, module)]
        if self.under:
            return [*self.names, *(f"{self.under}.{name}" for _, name in listed if name[0].isupper())]
        return [*self.names, *(f"{module}.{name}" for module, name in listed)]

    def text(self, source: Path) -> str:
        """Return the page, with a directive for each name."""
        options = "".join(f"\n      {name}: {json.dumps(value)}" for name, value in self.options.items())
        said = f"\n    options:{options}" if options else ""
        directives = [f"::: {name}{said}" for name in self.all_names(source)]
        return "\n\n".join([f"# {self.title}", self.about, *directives]) + "\n"


PAGES = (
    ApiPage(
        "api/flow.md",
        "Flow",
        "What you begin with: sources, tables, sinks, and the ways to run. With examples: [flows](../docs/flows.md).",
        ("tidegate.Flow",),
    ),
    ApiPage(
        "api/stream.md",
        "Stream",
        "What comes out of a source or an operator. Every operator is a method. With examples: "
        "[flows](../docs/flows.md).",
        ("tidegate.Stream", "tidegate.flow.windows.Windowed", "tidegate.Timer", "tidegate.flow.preview.Preview"),
    ),
    ApiPage(
        "api/watermarks.md",
        "Watermarks and time columns",
        "How a source says which times are complete, and times that are not one column of instants. How to choose: "
        "[choosing watermarks](../docs/choosing-watermarks.md).",
        (
            *("tidegate.bounded", "tidegate.punctuated", "tidegate.published", "tidegate.at_end"),
            *("tidegate.arrival", "tidegate.clock", "tidegate.ordered"),
        ),
    ),
    ApiPage(
        "api/run.md",
        "Run, inputs and outputs",
        "What a running flow can be asked, what it reads from, and where its results go: "
        "[flows on streams](../docs/streaming.md).",
        (
            *("tidegate.Run", "tidegate.engine.runs.Status", "tidegate.local", "tidegate.files"),
            *("tidegate.read", "tidegate.read_stream"),
            *("tidegate.parquet", "tidegate.postgres", "tidegate.delta", "tidegate.foreach", "tidegate.foreach_batch"),
            *("tidegate.memory", "tidegate.console", "tidegate.Output", "tidegate.Sender"),
        ),
    ),
    ApiPage(
        "api/graph.md",
        "tidegate.graph",
        "Graphs that change, as loops: [loops](../docs/loops.md).",
        modules=("tidegate.graph",),
    ),
    ApiPage(
        "api/testing.md",
        "tidegate.testing",
        "A flow in a test, with time moved by hand: [testing a flow](../docs/testing.md).",
        modules=("tidegate.testing",),
    ),
    ApiPage(
        "api/errors.md",
        "Errors",
        "What is raised on purpose, all of it in `tg.errors`. Each is a `TidegateError`, and also a built-in error.",
        (
            "tidegate.TidegateError",
            *(f"tidegate.errors.{name}" for name in ("BadWorkers", "MissingExtra", "UnknownName")),
        ),
        ("tidegate.flow.errors", "tidegate.engine.storage.errors"),
        under="tidegate.errors",
        options={"inherited_members": False, "show_bases": True},
    ),
    ApiPage(
        "api/time.md",
        "tidegate.time",
        "Orders, antichains, frontiers: [the model](../docs/model.md).",
        modules=("tidegate.time",),
    ),
    ApiPage(
        "api/spec.md",
        "tidegate.spec",
        "The executable specification: events, operators, properties: [the model](../docs/model.md).",
        modules=("tidegate.spec",),
    ),
    ApiPage(
        "api/progress.md",
        "tidegate.progress",
        "Progress tracking: [when a time is complete](../docs/progress.md).",
        modules=("tidegate.progress",),
    ),
)


def api_pages(source: Path) -> dict[str, tuple[str, str]]:
    """Return the title and the text of each page, by path."""
    there = pages_there(source)
    pages = {page.path: (page.title, page.text(source)) for page in there}
    return {OVERVIEW: ("tidegate", _overview(source, there)), **pages}


def pages_there(source: Path) -> list[ApiPage]:
    """Return the pages but those of modules that are not there."""
    return [page for page in PAGES if all(_file(source, module) for module in page.modules)]


def public_names(source: Path, module: str) -> list[str]:
    """Return what a module lists in ``__all__``, in that order."""
    for statement in _parsed(source, module).body:
        if isinstance(statement, ast.Assign) and "__all__" in [getattr(t, "id", "") for t in statement.targets]:
            return [str(name) for name in ast.literal_eval(statement.value)]
    return []


def _overview(source: Path, pages: list[ApiPage]) -> str:
    """Return a page that lists the names of the package, each with the first sentence of what is said of it."""
    homes = {name.rpartition(".")[2]: name for page in reversed(pages) for name in page.all_names(source)}
    modules = {page.modules[0]: page.path for page in pages if page.modules}
    rows = []
    for name in public_names(source, "tidegate"):
        if path := modules.get(f"tidegate.{name}") or {"errors": "api/errors.md"}.get(name):
            rows.append(f"| [`tg.{name}`]({Path(path).name}) | {_said(source, f'tidegate.{name}')} |")
        elif name != "__version__":
            rows.append(f"| [`tg.{name}`][{homes[name]}] | {_said(source, homes[name])} |")
    rows.append("| `tg.__version__` | The version, as text. |")
    about = "What `import tidegate as tg` brings, in one table. A name is imported when it is first used."
    return "\n".join(["# tidegate", "", about, "", "| name | |", "|---|---|", *rows, ""])


def _said(source: Path, path: str) -> str:
    """Return the first sentence of a docstring."""
    found = _package(source)[path.removeprefix("tidegate.")]
    if not found.docstring:
        raise SiteError(f"{path} has no docstring")
    return " ".join(found.docstring.value.split("\n\n")[0].split())


@cache
def _package(source: Path) -> Any:
    """Return the package, read and not imported."""
    import griffe  # only who builds the site has it

    return griffe.load("tidegate", search_paths=[source], resolve_aliases=True)


def _file(source: Path, module: str) -> Path | None:
    stem = source.joinpath(*module.split("."))
    return next((path for path in (stem / "__init__.py", stem.with_suffix(".py")) if path.exists()), None)


def _parsed(source: Path, module: str) -> ast.Module:
    path = _file(source, module)
    if path is None:
        raise ModuleNotFoundError(f"{module} is not in {source}")
    return ast.parse(path.read_text(encoding="utf-8"))
