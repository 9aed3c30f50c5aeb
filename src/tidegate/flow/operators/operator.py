"""What all operators of a plan have. (`tidegate.spec.Operator` is another thing: the papers' state machine.)"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from tidegate.flow.fingerprint import LEFT_OUT
from tidegate.flow.schema import Schema

__all__ = ["PlanOperator"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOperator:
    """An operator of a plan: its name there, the names of its inputs, and the schema of its output."""

    #: The name of the method that users call.
    verb: ClassVar[str] = ""
    #: Whether it keeps rows or answers until times are complete.
    stateful: ClassVar[bool] = False

    id: str = field(metadata=LEFT_OUT)
    #: Left out of the fields of the fingerprint: the fingerprints of the inputs are part of it anyway.
    inputs: tuple[str, ...] = field(default=(), metadata=LEFT_OUT)
    #: Left out because it follows from the other fields. If a user declares it, the class declares this field again.
    schema: Schema = field(metadata=LEFT_OUT)

    @property
    def keeps_state(self) -> bool:
        """Whether it keeps something from step to step. It does not on tables, which are complete from the start."""
        return self.stateful and bool(self.schema.time)
