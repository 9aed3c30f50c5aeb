"""What a run needs of the engine that it runs on, beside relations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from tidegate.engine.outputs import Fields, Results
from tidegate.engine.relation import Backend, Relation
from tidegate.engine.said import Said
from tidegate.engine.storage.files import Files
from tidegate.flow.plan import Plan
from tidegate.flow.schema import Column

__all__ = ["Host", "Speaks"]

#: Returns what an error of an engine says.
Speaks = Callable[[BaseException], Said]


class Host(Protocol):
    """An engine, as a run sees it."""

    @property
    def name(self) -> str:
        """What commits call it: another engine can't go on from them."""
        ...

    @property
    def backend(self) -> Backend:
        """Where relations are computed that are no step's."""
        ...

    @property
    def tables(self) -> Mapping[str, Relation]:
        """The rows of the flow's tables."""
        ...

    def lowering(self, flow: Plan) -> AbstractContextManager[None]:
        """Make ready for plans of a flow, which may be in another time zone."""
        ...

    def shape(self, columns: Sequence[Column]) -> Any:
        """Return the shape of rows with these columns."""
        ...

    def fields(self, shape: Any) -> Fields:
        """Return the columns of a shape, as outputs are told them."""
        ...

    def results(self, files: Files, path: str) -> Results:
        """Return the rows of a step, as they were written aside."""
        ...

    def records(self, files: Files) -> list[str]:
        """Return the directories of a checkpoint in which the engine itself writes down what a commit depends on."""
        ...

    def said(self, error: BaseException) -> Said:
        """Return what an error says."""
        ...

    def sees_all(self, flow: Plan, name: str, sources: Sequence[str], shapes: Any) -> bool:
        """Whether who reads the output of an operator reads all rows of these sources, which come one by one."""
        ...
