"""Local paths, as DuckDB takes them and as users write them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

__all__ = ["file_list", "parquet_files", "place_of"]

#: Characters that are special in DuckDB's patterns, and how they are escaped.
_SPECIAL = str.maketrans({"[": "[[]", "*": "[*]", "?": "[?]", "'": "''"})


def file_list(files: Iterable[str | Path]) -> str:
    """Return a list of files in DuckDB's SQL. Each is one file, whatever characters its name has.

    >>> file_list(["a.csv", "it's [1].csv"])
    "['a.csv', 'it''s [[]1].csv']"
    """
    return "[" + ", ".join(f"'{str(file).translate(_SPECIAL)}'" for file in files) + "]"


def parquet_files(files: Iterable[str | Path], *, by_name: bool = False) -> str:
    """Return the table function that reads Parquet files; with ``by_name``, their columns may differ.

    Names of directories are not read as columns. Arrow leaves NaN out of the minimum and maximum of a column, and
    DuckDB must not conclude from them that there is none.

    >>> parquet_files(["a.parquet"])
    "read_parquet(['a.parquet'], hive_partitioning = false, can_have_nan = true)"
    """
    more = ", union_by_name = true" if by_name else ""
    return f"read_parquet({file_list(files)}, hive_partitioning = false, can_have_nan = true{more})"


def place_of(path: str | os.PathLike[str]) -> Path:
    """Return a local path, which may have been written with a scheme.

    >>> str(place_of("file:///data/in")), str(place_of("data"))
    ('/data/in', 'data')
    """
    text = os.fspath(path)
    return Path(text.removeprefix("file://") if text.startswith("file://") else text.removeprefix("file:"))
