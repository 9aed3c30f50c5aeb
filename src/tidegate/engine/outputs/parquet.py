"""Results in a directory of Parquet files. The run moves them there itself: a step becomes visible by a rename."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.engine.outputs.output import Fields, Output, Results, Sender
from tidegate.engine.outputs.outside import check_outside
from tidegate.engine.outputs.refusals import Refusal
from tidegate.engine.storage.errors import BadCheckpoint
from tidegate.engine.storage.files import Files, is_hidden
from tidegate.engine.storage.partitions import longest_text
from tidegate.flow import sqltypes
from tidegate.flow.arguments import checked_directory, names_of
from tidegate.flow.errors import BadArgument
from tidegate.flow.schema import Column, Schema
from tidegate.flow.sqltypes import quoted

__all__ = ["Parquet", "parquet"]

#: Types whose values have the same directory names on all engines.
_NAMED = (*sqltypes.INTEGERS, "STRING", "BOOLEAN", "DATE")


@dataclass(frozen=True, slots=True)
class Parquet(Output):
    """A directory with one directory of Parquet files for each step that had rows."""

    path: str
    partition_by: tuple[str, ...] = ()

    needs_workers = False

    @property
    def directory(self) -> str:
        """The directory itself."""
        return self.path

    def check(self, checkpoint: Files, sink: str) -> None:
        """Raise if files can't be renamed there atomically, or if the checkpoint would delete them."""
        checkpoint.check_fit(self.path, f"the output of sink {sink!r}")
        check_outside(checkpoint, sink, self.path, checkpoint.at(self.path).root)

    def claim(self, sender: Sender, fields: Fields) -> None:  # noqa: ARG002
        """Raise if rows can't be partitioned by the named columns."""
        for column in self._columns(fields):
            if column.type not in _NAMED:
                by_day = f'day="CAST({quoted(column.name)} AS DATE)"' if "TIMESTAMP" in str(column.type) else ""
                raise BadArgument(
                    f"expected columns of {', '.join(_NAMED)} in partition_by=, whose values can be names of "
                    f"directories, got {column}",
                    hint=f"with_columns({by_day or '…'}) right before the sink makes one",
                )

    def partitions(self, fields: Fields) -> Sequence[str]:
        """Return the columns of ``partition_by``."""
        return [column.name for column in self._columns(fields)]

    def refuses(self, fields: Fields) -> Sequence[Refusal]:
        """Return which values can't be names of directories."""
        return [found for column in self._columns(fields) for found in _no_names(column)]

    def deliver(self, sender: Sender, rows: Results, step: int) -> None:  # noqa: ARG002
        """Raise: rows that are handed over were written for another output, which the sink had before."""
        raise BadCheckpoint(
            f"rows of step {step} were to be handed over, and the output is a directory now",
            hint="start once more with the output that it had, so that nothing is lost; then change it",
        )

    def _columns(self, fields: Fields) -> list[Column]:
        schema = Schema(fields.columns) if self.partition_by else Schema(())
        return [schema[name] for name in self.partition_by]


def _no_names(column: Column) -> Iterator[Refusal]:
    if column.type == "STRING":
        name, most = quoted(column.name), longest_text(column.name)
        yield Refusal(
            column.name,
            f"length({name}) > {most}",
            f"texts of more than {most} characters, which are no names of directories",
            f"substring({name}, 1, {most})",
        )
        yield Refusal(column.name, f"contains({name}, chr(0))", "U+0000 in a text", f"replace({name}, chr(0), '')")


def parquet(path: str | os.PathLike[str], *, partition_by: str | Sequence[str] = ()) -> Parquet:
    """Write results to ``path``, a directory ``step=N`` for each step; `read` reads what is committed.

    Each row is there exactly once, whatever happens. The directory must be empty, or belong to the same checkpoint.
    ``partition_by`` names columns by whose values rows are partitioned, in directories with Hive's names:
    ``step=3/country=DE/day=2026-01-01``. A reader of a few values then opens only the files that have them. The columns
    stay in the files. Their types are integers, STRING, BOOLEAN or DATE.

    >>> parquet("out/hourly", partition_by=["country", "day"])
    Parquet(path='out/hourly', partition_by=('country', 'day'))
    """
    given = names_of(partition_by, "partition_by")
    for i, name in enumerate(given):
        _check_partition(name, given[:i])
    return Parquet(checked_directory(path, "parquet(…)", hint='parquet("out/hourly")'), given)


def _check_partition(name: Any, before: Sequence[str]) -> None:
    if not isinstance(name, str) or not name:
        raise BadArgument(
            f"expected names of columns in partition_by=, got {name!r}", hint='parquet("out", partition_by="day")'
        )
    if name.lower() in [other.lower() for other in before]:
        raise BadArgument(f"expected each column once in partition_by=, got {name} twice")
    if is_hidden(name) or name.lower() == "step":
        why = "the directories of steps have that name" if name.lower() == "step" else "readers overlook such names"
        raise BadArgument(
            f"expected columns that can name directories in partition_by=, got {name!r}: {why}",
            hint="rename(…) the column right before the sink",
        )
