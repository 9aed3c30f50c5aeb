"""A checkpoint that a page shows, perhaps to several browsers at the same time."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from threading import Lock
from typing import Any, cast

from tidegate.errors import TidegateError
from tidegate.flow.orders import PosetCoordinates
from tidegate.live.checkpoint import Checkpoint, checkpoint_at
from tidegate.live.picture import flow_picture, order_picture
from tidegate.live.progress import CommittedProgress
from tidegate.live.set_aside import latest_rows
from tidegate.live.snapshot import reasons_as_json, snapshot
from tidegate.live.view import View, read_view

__all__ = ["WatchedCheckpoint"]

#: At most this many of the rows that were set aside are shown.
_ROWS = 50


class WatchedCheckpoint:
    """A checkpoint, and what is kept of it for the next view. No method raises: problems are part of the results."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._mutex = Lock()
        self._progress: CommittedProgress | None = None
        self._checkpoint: Checkpoint | None = None
        self._refused = ""
        try:
            self._checkpoint = checkpoint_at(self.path)
        except TidegateError as error:
            self._refused = str(error)

    @property
    def place(self) -> str:
        """The path of the checkpoint, as people write it."""
        return self._checkpoint.place if self._checkpoint else self.path

    def snapshot(self, *, after: float = 0.0) -> dict[str, Any]:
        """Return all that the page shows now. Steps are those that ended after ``after``, in Unix seconds."""
        with self._mutex:
            return {"checkpoint": self.place, **snapshot(self._read_view(), after=after)}

    def summary(self) -> dict[str, Any]:
        """Return what the list of runs shows."""
        found = self.snapshot(after=float("inf"))
        return {key: found[key] for key in ("checkpoint", "flow", "engine", "state", "step", "problems")}

    def why(self, sink: str, time: Sequence[str]) -> dict[str, Any]:
        """Return what holds a time back at a sink, or an error."""
        with self._mutex:
            try:
                return reasons_as_json(self._read_view(), sink, time)
            except TidegateError as error:
                return {"error": str(error)}
            except Exception as error:
                # As in `View.attempt`, this also catches errors that we did not foresee.
                return {"error": f"what holds this time back can't be told: {type(error).__name__}: {error}"}

    def aside(self, name: str) -> dict[str, Any]:
        """Return the latest rows of a source or an operator that were set aside."""
        with self._mutex:
            view = self._read_view()
        directory = view.attempt("what was set aside", lambda: _directories(view).get(name), None)
        if directory is None or self._checkpoint is None:
            return {"rows": [], "problems": [f"no rows are set aside under the name {name!r}"]}
        files = self._checkpoint.files
        nothing: dict[str, Any] = {"rows": [], "problems": view.problems}
        return cast(
            "dict[str, Any]",
            view.attempt("rows that were set aside", lambda: latest_rows(files, directory, _ROWS), nothing),
        )

    def pictures(self) -> dict[str, Any]:
        """Return the graph of the flow, and the diagrams of its finite orders, by column."""
        with self._mutex:
            view = self._read_view()
        description = view.description
        if description is None:
            return {"flow": "", "orders": {}}
        orders = {
            at.given.column: view.attempt("an order", partial(order_picture, at), "")
            for stage in description.shape.stages
            if isinstance(at := stage.schema.coordinates, PosetCoordinates) and not stage.inputs
        }
        return {"flow": view.attempt("the graph", lambda: flow_picture(description), ""), "orders": orders}

    def _read_view(self) -> View:
        if self._checkpoint is None:
            return View(problems=[self._refused])
        view = read_view(self._checkpoint, self._progress)
        self._progress = view.progress
        return view


def _directories(view: View) -> dict[str, str]:
    """Return the directories of rows that were set aside, by the names that the page uses."""
    named: Mapping[str, str] = view.description.whole["asides"] if view.description else {}
    counts = view.commit.get("aside", {}) if view.commit else {}
    found = {**named, **{directory: directory for directory in counts if directory not in named.values()}}
    # The names come from a file, which may be damaged. None of them may lead out of the checkpoint.
    return {name: d for name, d in found.items() if d.startswith(("late/", "rejected/")) and ".." not in d.split("/")}
