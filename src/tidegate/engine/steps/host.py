"""What a run needs from its engine, beside relations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from tidegate.engine.error_messages import ErrorMessage
from tidegate.engine.outputs import Fields, Results
from tidegate.engine.relation import Backend, Relation
from tidegate.engine.storage.files import Files
from tidegate.flow.plan import Plan
from tidegate.flow.schema import Column

__all__ = ["DescribeError", "Host"]

#: A function that returns the message of an engine's error, in our form.
DescribeError = Callable[[BaseException], ErrorMessage]


class Host(Protocol):
    """An engine, as a run sees it."""

    @property
    def name(self) -> str:
        """The engine's name in commits. Another engine can't continue from them."""
        ...

    @property
    def backend(self) -> Backend:
        """The backend for relations outside of steps."""
        ...

    @property
    def tables(self) -> Mapping[str, Relation]:
        """The rows of the flow's tables."""
        ...

    def lowering(self, flow: Plan) -> AbstractContextManager[None]:
        """Prepare the engine for evaluating a flow, which may be in another time zone."""
        ...

    def shape(self, columns: Sequence[Column]) -> Any:
        """Return the shape of rows with these columns."""
        ...

    def fields(self, shape: Any) -> Fields:
        """Return the columns of a shape, in the form that outputs are given."""
        ...

    def results(self, files: Files, path: str) -> Results:
        """Return the rows of a step from the files where they were staged."""
        ...

    def records(self, files: Files) -> list[str]:
        """Return the directories of a checkpoint in which the engine itself records what commits depend on."""
        ...

    def describe_error(self, error: BaseException) -> ErrorMessage:
        """Return the message of an error, in our form."""
        ...

    def sees_all(
        self, flow: Plan, name: str, sources: Sequence[str], shapes: Any, relevant: Callable[[Relation], Relation]
    ) -> bool:
        """Whether all rows of these sources are read when the relevant rows of an operator's output are read.

        The rows come there row by row.
        """
        ...
