"""What was measured, kept as a line of JSON for each cell: who starts again goes on where the last run stopped."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

__all__ = ["Store", "digest"]

_ROOT = Path(__file__).parents[3]
#: What decides what is measured, beside the parameters: of all sides, and of Tidegate.
_BENCH = (
    "bench/aggregates/queries",
    "bench/aggregates/measure.py",
    "bench/latency.py",
    *(
        f"bench/aggregates/evaluation/{name}.py"
        for name in ("asked", "by_hand", "cell", "pace", "rule", "sides", "waits")
    ),
)
_TIDEGATE = ("src/tidegate",)
#: What no run uses: commands, pictures, checks, the specification of flows.
_UNUSED = {"check", "cli", "demos", "explain", "live", "reference", "sim", "testing", "ui"}
#: And what only one engine uses, left out for the other side.
_LEFT_OUT = {"spark": _UNUSED | {"local_engine", "agreed"}, "local": _UNUSED | {"spark"}}
#: And packages that do the work.
_PACKAGES = ("pyspark", "duckdb", "pyarrow")


def digest(side: str, *, root: Path = _ROOT, version: Callable[[str], str] = version) -> str:
    """Return a short name of the code that a side's figures depend on: whoever changes it measures again.

    Of Tidegate, Spark by hand uses how a session is started and how names are quoted. If that changes, it is not
    noticed; the texts of Maps come from the queries.
    """
    found = sha256(" ".join(map(version, _PACKAGES)).encode())
    for name in (*_BENCH, *(() if side == "hand" else _TIDEGATE)):
        path = root / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            if _LEFT_OUT.get(side, set()).intersection(file.relative_to(path).parts):
                continue
            found.update(f"{file.relative_to(root)}\0{_code_in(file, file.stat().st_mtime_ns)}\0".encode())
    return found.hexdigest()[:12]


@cache
def _code_in(file: Path, changed: int) -> str:  # noqa: ARG001
    """Return what a file does, by its code alone; it is read once for each time that it was changed."""
    return sha256(_code_of(file.read_text(encoding="utf-8")).encode()).hexdigest()


def _code_of(text: str) -> str:
    """Return what a module does, without comments, docstrings and layout: to reword them changes no figure.

    >>> _code_of("x = 1  # one") == _code_of("'A module.'; x = 1"), _code_of("x = 1") == _code_of("x = 2")
    (True, False)
    """
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, clean=False):
            del node.body[0]
    return ast.dump(tree)


class Store:
    """Cells by their parameters and the machine that they ran on: another machine measures anew.

    A line that is not whole, as a kill may leave one, does not count.
    """

    def __init__(self, path: Path, machine: str = "") -> None:
        self.path = path
        self._machine = machine
        self._found: dict[str, dict[str, Any]] = {}
        self._whole = True
        if path.exists():
            text = path.read_text(encoding="utf-8")
            self._whole = text.endswith("\n") or not text
            for line in text.splitlines():
                try:
                    self._keep(json.loads(line))
                except (ValueError, KeyError, TypeError):
                    continue

    def get(self, code: str, cell: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return what was measured of a cell with some code, if it was."""
        entry = self._found.get(_key(code, self._machine, cell))
        return entry["result"] if entry else None

    def put(self, code: str, cell: Mapping[str, Any], result: Mapping[str, Any]) -> None:
        """Keep what was measured of a cell."""
        entry = {"code": code, "machine": self._machine, "cell": dict(cell), "result": dict(result)}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(("" if self._whole else "\n") + json.dumps(entry) + "\n")
        self._whole = True
        self._keep(entry)

    def results(self) -> Iterable[tuple[dict[str, Any], dict[str, Any]]]:
        """Return cells and results of this machine, of any code; what was kept last comes last."""
        return [(entry["cell"], entry["result"]) for entry in self._found.values() if entry["machine"] == self._machine]

    def entries(self) -> Iterable[dict[str, Any]]:
        """Return all that was measured: code, machine, cell and result."""
        return list(self._found.values())

    def _keep(self, entry: dict[str, Any]) -> None:
        key = _key(entry["code"], entry["machine"], entry["cell"])
        self._found.pop(key, None)
        self._found[key] = entry


def _key(code: str, machine: str, cell: Mapping[str, Any]) -> str:
    return json.dumps([code, machine, cell], sort_keys=True)
