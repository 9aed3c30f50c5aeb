"""Directories for the values of columns, named as Hive does: ``country=DE/day=2026-01-01``.

The columns are also in the files, and their values are read from there. The names of directories are for readers that
skip the values that they do not need.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import unquote

from tidegate.engine.storage.files import Files
from tidegate.flow.sqltypes import quoted

__all__ = ["directory_of_value", "is_partition", "longest_text", "rename_directories", "text_columns", "text_of"]

#: The greatest length of the name of a directory, in bytes.
_LONGEST = 255
#: The directory of NULL and of the empty string, which such names cannot tell apart.
_NOTHING = "__HIVE_DEFAULT_PARTITION__"
#: Characters that Spark and Hive write as ``%XX`` in names of directories; and ``}``, which can be part of a glob
#: pattern.
_SPECIAL = frozenset("\"#%'*/:=?\\{}[]^\x7f") | frozenset(map(chr, range(32)))


def directory_of_value(column: str, text: str | None) -> str:
    """Return the name of the directory for a value of a column. The value is given as text.

    >>> directory_of_value("page", "a/b: ä"), directory_of_value("page", None)
    ('page=a%2Fb%3A ä', 'page=__HIVE_DEFAULT_PARTITION__')
    """
    return f"{_escaped(column)}={_escaped(text) if text else _NOTHING}"


def _escaped(text: str) -> str:
    return "".join(f"%{ord(c):02X}" if c in _SPECIAL else c for c in text)


def longest_text(column: str) -> int:
    """Return how many characters a value may have so that its directory's name is short enough in any case.

    >>> longest_text("page")
    61
    """
    # A character has up to four bytes, an escaped one three. The name ``by99____`` is that of a temporary text column.
    return (_LONGEST - max(len(f"{_escaped(column)}=".encode()), len("by99____="))) // 4


def is_partition(name: str) -> bool:
    """Whether a name is that of a directory for a value."""
    return "=" in name


def text_columns(by: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Return names for added columns with the values of ``by`` as text, each with the column it is of.

    None of them is in ``names``.

    >>> text_columns(["k", "day"], ["t", "k", "day", "by0"])
    {'by0_': 'k', 'by1_': 'day'}
    """
    taken, end = {name.lower() for name in names}, ""
    while any(f"by{i}{end}" in taken for i in range(len(by))):
        end += "_"
    return {f"by{i}{end}": column for i, column in enumerate(by)}


def text_of(column: str) -> str:
    """Return SQL for the text of a column's value. It is NULL if no directory name can have the value."""
    text = f"CAST({quoted(column)} AS STRING)"
    # Values that no name can have are refused after all rows are written. Until then they are in the directory of NULL.
    fits = f"length({text}) BETWEEN 1 AND {longest_text(column)} AND NOT contains({text}, chr(0))"
    return f"CASE WHEN {fits} AND {text} <> '{_NOTHING}' THEN {text} END"


def rename_directories(files: Files, path: str, columns: Mapping[str, str]) -> None:
    """Rename the directories that Spark has named after text columns to the names of the original columns."""
    for name in files.names(path):
        column, _, value = name.partition("=")
        text = None if value in ("", _NOTHING) else unquote(value, errors="strict")
        to = f"{path}/{directory_of_value(columns[column], text)}"
        files.rename(f"{path}/{name}", to)
        rest = {text: of for text, of in columns.items() if text != column}
        if rest:
            rename_directories(files, to, rest)
