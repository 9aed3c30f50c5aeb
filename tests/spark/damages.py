"""Damages to files: what power cuts, full disks, people and bits that flip do to them; each can be undone."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["DAMAGES", "damaged", "flipped", "unreadable"]


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flipped(path: Path, at: int) -> None:
    """Flip one bit of a file."""
    content = bytearray(path.read_bytes())
    content[at] ^= 4
    path.write_bytes(bytes(content))


def unreadable(path: Path) -> None:
    """Let Hadoop fail when it reads a file: what it keeps as the checksum of each piece of it is wrong."""
    pieces = path.stat().st_size // 512 + 1
    path.with_name(f".{path.name}.crc").write_bytes(b"crc\0" + (512).to_bytes(4, "big") + bytes(4 * pieces))


def _flip_a_page(path: Path) -> None:
    flipped(path, 40)


def _flip_the_footer(path: Path) -> None:
    flipped(path, -30)


def _add(path: Path) -> None:
    shutil.copy(path, path.with_name(f"part-99999{path.suffix}"))


#: What can happen to a Parquet file, by name.
DAMAGES: dict[str, Callable[[Path], None]] = {
    "emptied": _empty,
    "truncated": _truncate,
    "deleted": Path.unlink,
    "a bit of a page flipped": _flip_a_page,
    "a bit of the footer flipped": _flip_the_footer,
    "another file added": _add,
}


@contextmanager
def damaged(path: Path, damage: Callable[[Path], None]) -> Iterator[None]:
    """Damage a file or directory for a while; then its directory is as it was before."""
    place = path.parent
    copy = place.with_name(f"{place.name} as it was")
    shutil.copytree(place, copy)
    try:
        damage(path)
        yield
    finally:
        shutil.rmtree(place)
        copy.rename(place)
