"""Operators that rows come from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from tidegate.flow.fingerprint import LEFT_OUT
from tidegate.flow.operators.operator import PlanOperator
from tidegate.flow.schema import Schema
from tidegate.flow.watermarks import Watermark

__all__ = ["Source", "Table"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(PlanOperator):
    """Rows from outside; ``watermark`` is resolved against ``schema``; ``late`` is ``divert``, ``fail`` or ``drop``."""

    verb: ClassVar[str] = "source"

    schema: Schema
    watermark: Watermark = field(metadata=LEFT_OUT)
    late: str = field(metadata=LEFT_OUT)
    #: The name that it had before, and still has in old checkpoints.
    was: str = field(default="", metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(PlanOperator):
    """Rows without a time, complete from the start."""

    verb: ClassVar[str] = "table"

    schema: Schema
    #: The name that it had before, and still has in old checkpoints.
    was: str = field(default="", metadata=LEFT_OUT)
