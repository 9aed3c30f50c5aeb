"""The frontiers of an example by definition: follow every path of the file's own graph, and keep the least times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

__all__ = ["frontiers"]

#: A time as a tuple, whatever it is in the file.
Long = tuple[int, ...]


def frontiers(data: Mapping[str, Any], pointstamps: Iterable[tuple[str, Any]]) -> dict[str, set[Any]]:
    """Return the least times that can be reached at each location from any of the pointstamps.

    Nothing of `tidegate` is used: times are tuples of numbers, and every walk is walked, up to times so late that a
    walk beyond them has taken some edge three times. A walk that goes round twice is at or above one that goes round
    once, also where it leaves a scope and enters it anew.
    """
    steps = edges(data)
    start = {(l, long(t)) for l, t in pointstamps}
    late = max((x for _, t in start for x in t), default=0) + 2 * sum(max(s) for _, _, s in all_sums(data)) + 1
    seen, todo = set(start), list(start)
    while todo:
        l, t = todo.pop()
        for m, u in ((m, move(t, how)) for m, how in steps.get(l, ())):
            if max(u) <= late and (m, u) not in seen:
                seen.add((m, u))
                todo.append((m, u))
    found: dict[str, set[Any]] = {}
    for l in locations(data):
        times = {t for m, t in seen if m == l}
        found[l] = {short(t) for t in times if not any(u != t and le(u, t) for u in times)}
    return found


def locations(data: Mapping[str, Any]) -> list[str]:
    """Return all ports."""
    return [f"{n}.{p}" for n, o in data["operators"].items() for p in (*o.get("inputs", ()), *o.get("outputs", ()))]


def edges(data: Mapping[str, Any]) -> dict[str, list[tuple[str, Any]]]:
    """Return where each location leads, with the numbers to add, or 'in' or 'out' for scopes."""
    found: dict[str, list[tuple[str, Any]]] = {}
    for l, m, s in all_sums(data):
        found.setdefault(l, []).append((m, s))
    for l, m in data["channels"]:
        before, after = size(data, l), size(data, m)
        how: Any = "in" if after > before else "out" if after < before else (0,) * before
        found.setdefault(l, []).append((m, how))
    return found


def all_sums(data: Mapping[str, Any]) -> Iterator[tuple[str, str, Long]]:
    """Return what each operator adds to times, from each input to each output."""
    for n, o in data["operators"].items():
        for i in o.get("inputs", ()):
            for p in o.get("outputs", ()):
                given = o.get("summaries", {}).get(f"{i} {p}", [0] * o.get("time", 1))
                several = given if isinstance(given, list) and any(isinstance(s, list) for s in given) else [given]
                yield from ((f"{n}.{i}", f"{n}.{p}", long(s)) for s in several if s is not None)


def size(data: Mapping[str, Any], location: str) -> int:
    return int(data["operators"][location.split(".")[0]].get("time", 1))


def long(t: Any) -> Long:
    return tuple(t) if isinstance(t, list | tuple) else (t,)


def short(t: Long) -> Any:
    return t[0] if len(t) == 1 else t


def move(t: Long, how: Any) -> Long:
    if how == "in":
        return (*t, 0)
    if how == "out":
        return t[:-1]
    return tuple(x + y for x, y in zip(t, how, strict=True))


def le(t: Long, u: Long) -> bool:
    return all(x <= y for x, y in zip(t, u, strict=True))
