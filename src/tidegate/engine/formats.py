"""Formats of data files: Parquet, CSV and JSON, recognised by the end of the name."""

from __future__ import annotations

from glob import glob
from pathlib import Path

from tidegate.flow.errors import BadArgument, BadInput

__all__ = ["ENDINGS", "checked_input", "checked_output", "data_files", "file_format", "input_format"]

_FORMATS = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json"}
_COMPRESSED = (".gz", ".bz2", ".snappy", ".zst", ".lz4", ".deflate")
#: The file name endings of all formats, for messages.
ENDINGS = ", ".join(_FORMATS)


def file_format(path: str) -> str:
    """Return the format of a file or directory by the end of its name; Parquet if it has none.

    >>> file_format("in/clicks.csv"), file_format("out/hourly")
    ('csv', 'parquet')
    """
    suffix = Path(path).suffix.lower()
    if suffix and suffix not in _FORMATS:
        raise BadArgument(
            f"expected a file whose name ends in {ENDINGS}, got {path}", hint="a directory of Parquet files"
        )
    return _FORMATS.get(suffix, "parquet")


def input_format(path: str) -> str:
    """Return the format of an input: for a directory or a pattern, the format of its files, if they all have one.

    If there are no files yet, the name decides, as it does for outputs.
    """
    place = Path(path)
    if _ending(place) in _FORMATS:
        return _FORMATS[_ending(place)]
    if "://" in path or place.is_file():
        return file_format(path)
    meant = [place] if place.exists() else map(Path, glob(path))
    files = [p for found in meant for p in (found.rglob("*") if found.is_dir() else [found]) if _is_data(p)]
    endings = sorted({_ending(p) for p in files})
    kinds = {_FORMATS.get(ending, "") for ending in endings}
    if len(kinds) > 1 or kinds == {""}:
        raise BadArgument(
            f"expected files of one format in {path}, whose names end in {ENDINGS}; "
            f"got {', '.join(ending or 'no ending' for ending in endings)}",
            hint=f"a directory for each format; or a pattern, as '{path.rstrip('/')}/*.csv'",
        )
    return kinds.pop() if kinds else "parquet"


def checked_input(name: str, path: str) -> str:
    """Return the format of an input, or raise if there is none; this needs no Spark."""
    if "://" not in path and not Path(path).exists() and not glob(path):
        raise BadInput(f"expected a file or directory for {name!r}, got {path}, which is not there")
    if Path(path).is_dir() and not any(map(_is_data, Path(path).rglob("*"))):
        raise BadInput(
            f"expected files for {name!r} in {path}, got none", hint="files whose names begin with . or _ are ignored"
        )
    return input_format(path)


def data_files(path: str) -> list[str]:
    """Return the files that a local path, directory or pattern stands for, without hidden ones."""
    if "://" in path:
        raise BadInput(f"expected a path on this machine, got {path}", hint="run it on Spark, which reads from there")
    place = Path(path)
    meant = [place] if place.exists() else [Path(found) for found in sorted(glob(path, recursive=True))]
    return [
        str(file)
        for found in meant
        for file in (sorted(found.rglob("*")) if found.is_dir() else [found])
        if _is_data(file) and not any(part.startswith((".", "_")) for part in file.relative_to(found).parts)
    ]


def _is_data(path: Path) -> bool:
    """Whether Spark would read a file. It ignores names that begin with a dot or an underscore."""
    return path.is_file() and not path.name.startswith((".", "_"))


def _ending(path: Path) -> str:
    """Return the ending of a file name, without that of a compression."""
    return next((s for s in reversed([s.lower() for s in path.suffixes]) if s not in _COMPRESSED), "")


def checked_output(path: str, *, overwrite: bool) -> str:
    """Return the format of an output; raise if something exists there that may not be replaced."""
    kind = file_format(path)
    if "://" not in path and Path(path).exists() and not overwrite:
        raise BadArgument(f"{path} is there already", hint="choose another place, or pass --overwrite")
    return kind
