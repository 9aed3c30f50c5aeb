"""Finding the flow in a user's Python file."""

from __future__ import annotations

import runpy
import sys
import traceback
from pathlib import Path
from typing import Any

from tidegate.errors import NotFound, TidegateError
from tidegate.flow import Flow
from tidegate.flow.errors import did_you_mean

__all__ = ["load_flow"]


def load_flow(path: Path, name: str = "") -> Flow:
    """Run a Python file and return the flow in it; ``name`` chooses one of several.

    The file may import modules from its own directory. Its ``__name__`` is ``__tidegate__``, so the code below
    ``if __name__ == "__main__"`` does not run.
    """
    if not path.is_file():
        raise NotFound(f"there is no file {path}", hint="tidegate explain flow.py")
    found = _run_file(path)
    every = list({id(flow): flow for flow in found.values() if isinstance(flow, Flow)}.values())
    flows = {flow.name: flow for flow in every}
    if len(flows) < len(every):
        raise NotFound(f"{path} has several flows of one name", hint="give each flow a name of its own")
    if not flows:
        raise NotFound(f"{path} defines no flow", hint='flow = tidegate.Flow("name") at the top level of the file')
    if name and name not in flows:
        what = f"{path} has no flow {name!r}; it has {', '.join(map(repr, flows))}"
        raise NotFound(what, hint=did_you_mean(name, flows))
    if not name and len(flows) > 1:
        raise NotFound(f"{path} has several flows: {', '.join(flows)}", hint=f"choose one: --flow {next(iter(flows))}")
    return flows[name] if name else next(iter(flows.values()))


def _run_file(path: Path) -> dict[str, Any]:
    """Run a file and return the names that it defines. If it fails, raise a short error with the line of the file."""
    directory = str(path.resolve().parent)
    sys.path.insert(0, directory)
    try:
        return runpy.run_path(str(path), run_name="__tidegate__")
    except TidegateError as error:
        raise error.at(_place(path, error)) from None
    except SyntaxError as error:
        raise NotFound(f"{error.filename}, line {error.lineno}: {error.msg}", hint="this is not valid Python") from None
    except (Exception, SystemExit) as error:
        raise NotFound(
            f"expected a file that builds a flow, and it failed with {type(error).__name__}: {error}",
            hint=f"python {path} shows where that comes from",
        ).at(_place(path, error)) from None
    finally:
        # The file itself may have removed it.
        if directory in sys.path:
            sys.path.remove(directory)


def _place(path: Path, error: BaseException) -> str:
    """Return the place in the file at which an error was raised, from its traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    return f"{path}, line {lines[-1]}" if lines else str(path)
