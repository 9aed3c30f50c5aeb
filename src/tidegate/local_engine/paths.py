"""Paths of this machine, as DuckDB takes them, and as users write them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

__all__ = ["file_list", "parquet_files", "place_of"]

#: What DuckDB takes for a part of a pattern, and how it is written so that it is not.
_SPECIAL = str.maketrans({"[": "[[]", "*": "[*]", "?": "[?]", "'": "''"})


def file_list(files: Iterable[str | Path]) -> str:
    """Return the names of files as DuckDB takes them: each is one file, whatever characters it has.

    >>> file_list(["a.csv", "it's [1].csv"])
    "['a.csv', 'it''s [[]1].csv']"
    """
    return "[" + ", ".join(f"'{str(file).translate(_SPECIAL)}'" for file in files) + "]"


def parquet_files(files: Iterable[str | Path], *, by_name: bool = False) -> str:
    """Return what reads the rows of Parquet files, of the columns that they have; ``by_name`` if these differ.

    Names of directories are no columns. What Arrow writes of the least and greatest value of a column leaves NaN out:
    DuckDB must not take it that there is none.

    >>> parquet_files(["a.parquet"])
    "read_parquet(['a.parquet'], hive_partitioning = false, can_have_nan = true)"
    """
    more = ", union_by_name = true" if by_name else ""
    return f"read_parquet({file_list(files)}, hive_partitioning = false, can_have_nan = true{more})"


def place_of(path: str | os.PathLike[str]) -> Path:
    """Return a path of this machine, which may have been written with a scheme.

    >>> str(place_of("file:///data/in")), str(place_of("data"))
    ('/data/in', 'data')
    """
    text = os.fspath(path)
    return Path(text.removeprefix("file://") if text.startswith("file://") else text.removeprefix("file:"))
