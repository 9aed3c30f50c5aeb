"""Directories for the values of columns, named as Hive names them: ``country=DE/day=2026-01-01``.

The columns stay in the files: their values are read from there, whatever the names of directories make of them. The
names are for readers that leave out what they do not need.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import unquote

from tidegate.engine.storage.files import Files
from tidegate.flow.sqltypes import quoted

__all__ = ["directory_of_value", "is_partition", "longest_text", "rename_directories", "text_columns", "text_of"]

#: How many bytes the name of a directory may have.
_LONGEST = 255
#: The directory of NULL, and of the empty text, which could not be told from it.
_NOTHING = "__HIVE_DEFAULT_PARTITION__"
#: Characters that Spark and Hive write as ``%XX`` in names of directories; and ``}``, which may be part of a pattern.
_SPECIAL = frozenset("\"#%'*/:=?\\{}[]^\x7f") | frozenset(map(chr, range(32)))


def directory_of_value(column: str, text: str | None) -> str:
    """Return the name of the directory of a value of a column, which is given as a text.

    >>> directory_of_value("page", "a/b: ä"), directory_of_value("page", None)
    ('page=a%2Fb%3A ä', 'page=__HIVE_DEFAULT_PARTITION__')
    """
    return f"{_escaped(column)}={_escaped(text) if text else _NOTHING}"


def _escaped(text: str) -> str:
    return "".join(f"%{ord(c):02X}" if c in _SPECIAL else c for c in text)


def longest_text(column: str) -> int:
    """Return how many characters a value may have so that the name of its directory is short enough, whatever they are.

    >>> longest_text("page")
    61
    """
    # A character has up to four bytes; one that is escaped has three. On its way, a column may have another name.
    return (_LONGEST - max(len(f"{_escaped(column)}=".encode()), len("by99____="))) // 4


def is_partition(name: str) -> bool:
    """Whether the name of a directory is that of a value."""
    return "=" in name


def text_columns(by: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Return names for columns of the texts of others, which rows with the columns ``names`` do not have.

    >>> text_columns(["k", "day"], ["t", "k", "day", "by0"])
    {'by0_': 'k', 'by1_': 'day'}
    """
    taken, end = {name.lower() for name in names}, ""
    while any(f"by{i}{end}" in taken for i in range(len(by))):
        end += "_"
    return {f"by{i}{end}": column for i, column in enumerate(by)}


def text_of(column: str) -> str:
    """Return the text of a column's value, NULL where there is none or no name could have it, as Spark SQL."""
    text = f"CAST({quoted(column)} AS STRING)"
    # What no name can have is refused, once all rows are written: until then it is somewhere.
    fits = f"length({text}) BETWEEN 1 AND {longest_text(column)} AND NOT contains({text}, chr(0))"
    return f"CASE WHEN {fits} AND {text} <> '{_NOTHING}' THEN {text} END"


def rename_directories(files: Files, path: str, columns: Mapping[str, str]) -> None:
    """Give directories of values of text columns, which Spark has named, the names of the columns that they are of."""
    for name in files.names(path):
        column, _, value = name.partition("=")
        text = None if value in ("", _NOTHING) else unquote(value, errors="strict")
        to = f"{path}/{directory_of_value(columns[column], text)}"
        files.rename(f"{path}/{name}", to)
        rest = {text: of for text, of in columns.items() if text != column}
        if rest:
            rename_directories(files, to, rest)
