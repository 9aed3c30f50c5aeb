"""Finding the flow in a user's Python file."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from tidegate.errors import TidegateError
from tidegate.flow import Flow
from tidegate.flow.errors import nearest

__all__ = ["NoFlow", "load_flow"]


class NoFlow(TidegateError, LookupError):
    """A file does not contain the flow that was asked for."""


def load_flow(path: Path, name: str = "") -> Flow:
    """Run a Python file and answer the flow in it; ``name`` chooses one of several.

    The file is run with its own directory importable, under the name ``__tidegate__``: what is below
    ``if __name__ == "__main__"`` is not run.
    """
    if not path.is_file():
        raise NoFlow(f"there is no file {path}", hint="tidegate explain flow.py")
    directory = str(path.resolve().parent)
    sys.path.insert(0, directory)
    try:
        found = runpy.run_path(str(path), run_name="__tidegate__")
    finally:
        sys.path.remove(directory)
    every = list({id(flow): flow for flow in found.values() if isinstance(flow, Flow)}.values())
    flows = {flow.name: flow for flow in every}
    if len(flows) < len(every):
        raise NoFlow(f"{path} has several flows of one name", hint="give each flow a name of its own")
    if not flows:
        raise NoFlow(f"{path} defines no flow", hint='flow = tidegate.Flow("name") at the top level of the file')
    if name and name not in flows:
        near = nearest(name, flows)
        hint = f"did you mean {near!r}?" if near else ""
        raise NoFlow(f"{path} has no flow {name!r}; it has {', '.join(map(repr, flows))}", hint=hint)
    if not name and len(flows) > 1:
        raise NoFlow(f"{path} has several flows: {', '.join(flows)}", hint=f"choose one: --flow {next(iter(flows))}")
    return flows[name] if name else next(iter(flows.values()))
