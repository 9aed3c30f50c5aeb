"""The log of a checkpoint: numbered records, each created once and never changed. A record is a commit or a fence.

A run that has read the log up to some number can write only the next number. A run that takes over from one that may
still be alive writes a *fence* as the next number. If the old run writes that number first, that was its last commit,
and the fence follows it. From then on the old run finds its number taken and cannot commit. No commit will ever name
what it writes after that, so it may be deleted. A fence is never deleted: the old run may wake up at any time.

A commit is deleted when it is a hundred records behind. As long as there is no fence, the number of a commit is the
number of its step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from tidegate.engine.storage.dataclass_json import as_object, from_object
from tidegate.engine.storage.errors import BadCheckpoint
from tidegate.engine.storage.files import Files

__all__ = [
    "FORMAT",
    "NOBODY",
    "Log",
    "Token",
    "append",
    "in_file_of",
    "last_commit",
    "read_log",
    "sweep_log",
    "write_fence",
]

_KEPT = 100
#: The format of new records. Earlier formats can be read (`upgrade.py`). Commits of the first format name directories
#: and not the files in them, and may have no checksum. Those of the second were all made on Spark, and do not name
#: their engine.
FORMAT = 3
_FENCE: dict[str, Any] = {"number": int, "token": dict}
_COMMIT: dict[str, Any] = {
    "step": int,
    "batch": int | None,
    "query": str,
    "offsets": str,
    "sources": dict,
    "state": dict,
    "publish": list,
    "outputs": dict,
    "flow": dict,
    "ended": bool,
    "outlets": dict,
}
#: What commits have only from some format on.
_SINCE: dict[int, dict[str, Any]] = {2: {"aside": dict}, 3: {"engine": str, "positions": dict}}


@dataclass(frozen=True, slots=True)
class Token:
    """The run that writes a record: the number of its lock, which grows with every run, and a unique id."""

    lock: int
    id: str


#: The token of a run without a lock.
NOBODY = Token(0, "")


@dataclass(frozen=True, slots=True)
class Log:
    """The end of a log: the number and the writer of its last record, and its last commit as JSON."""

    number: int = -1
    token: Token = NOBODY
    commit: Mapping[str, Any] | None = None


def read_log(files: Files) -> Log:
    """Return the end of the log of a checkpoint."""
    numbers = files.numbers("commits")
    token = NOBODY
    for number in numbers:
        record = _record(files, number)
        if number == numbers[0]:
            token = from_object(Token, record["token"])
        if "fence" not in record:
            return Log(numbers[0], token, record)
    return Log(numbers[0], token) if numbers else Log()


def last_commit(files: Files) -> Mapping[str, Any] | None:
    """Return the last commit as JSON; None if there is none."""
    return read_log(files).commit


@contextmanager
def in_file_of(files: Files, commit: Mapping[str, Any]) -> Iterator[None]:
    """Name the file of a commit in errors about what it contains."""
    try:
        yield
    except BadCheckpoint as error:
        raise error.at(files.path(f"commits/{commit['number']}")) from None


def append(
    files: Files,
    number: int,
    commit: Mapping[str, Any],
    token: Token,
    *,
    before: int,
    midway: Callable[[], None] = lambda: None,
) -> int | None:
    """Write a commit under the next number. Return its number, or None if another run has written it first.

    ``before`` is the number of the previous commit. Commits that are a hundred records behind are deleted.
    """
    while not files.create(f"commits/{number}", {**commit, "number": number, "token": as_object(token)}, midway):
        # A run that was replaced before it wrote its fence may write it later. Such a fence does not stop runs that
        # came after it.
        found = _record(files, number)
        if "fence" not in found or found["token"]["lock"] >= token.lock:
            return None
        number += 1
    _forget(files, range(max(0, before - _KEPT + 1), number - _KEPT + 1))
    return number


def sweep_log(files: Files, last: int) -> None:
    """Delete old commits that a run did not delete because it died."""
    _forget(files, [number for number in files.numbers("commits") if number <= last - _KEPT])


def _forget(files: Files, numbers: Iterable[int]) -> None:
    """Delete commits that are not needed any more. A record that can't be read may be a fence, and stays."""
    for number in numbers:
        # A record that can't be deleted does no harm.
        with suppress(Exception):
            if files.exists(f"commits/{number}") and "fence" not in _record(files, number):
                files.delete(f"commits/{number}")


def write_fence(files: Files, token: Token) -> None:
    """Write a fence as the next record. If another run takes the number first, the one after it is used."""
    number = max(files.numbers("commits"), default=-1) + 1
    fence = {"format": FORMAT, "fence": True, "token": as_object(token)}
    while not files.create(f"commits/{number}", {**fence, "number": number}):
        number += 1


def _record(files: Files, number: int) -> dict[str, Any]:
    """Return a record, with the checks that need no flow."""
    name = f"commits/{number}"
    found = files.read(name, "a commit", {"format": int})
    if not 1 <= found["format"] <= FORMAT:
        raise BadCheckpoint(
            f"expected a commit of format {FORMAT} in {files.path(name)}, got one of format {found['format']}",
            hint="another version of Tidegate wrote it: go on with that one",
        )
    since = [keys for first, keys in _SINCE.items() if first <= found["format"]]
    keys = _FENCE if "fence" in found else reduce(or_, since, _COMMIT)
    if found["format"] == 1:
        files.expect(name, "a commit", found, keys)
    else:
        found = files.read(name, "a commit", keys, required=True)
    files.expect(name, "who wrote a commit", found.setdefault("token", as_object(NOBODY)), {"lock": int, "id": str})
    # A commit of a version without fences has the number of its step.
    if found.setdefault("number", found.get("step")) != number:
        raise BadCheckpoint(
            f"expected record {number} in {files.path(name)}, got record {found['number']}",
            hint="the file is a copy of another: restore the right one, or begin with a new checkpoint and output",
        )
    return found
