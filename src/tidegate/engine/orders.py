"""Orders of the user's own, as checkpoints and outputs record them.

State has times as points: whole numbers, one for each axis. So the commit records the point of each element of a finite
order, and the next run uses the same points.

An order may get new elements between two runs. The old elements must be ordered as they were. A new element must not be
below a time that is complete, because answers there are final.

An output records which elements its order has, and which is below which. A flow that follows the output must have the
same order, because a frontier means other times in another order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import le
from typing import Any

from tidegate.engine.commits.commit import Commit
from tidegate.engine.storage.errors import FlowChanged
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.log import last_commit
from tidegate.flow.errors import BadInput
from tidegate.flow.orders import Coordinates, LexicographicCoordinates, Ordered, PosetCoordinates, SumCoordinates
from tidegate.flow.orders.coordinates import points_stored, stored
from tidegate.flow.orders.realizer import Points, keeps
from tidegate.flow.plan import Plan, Source
from tidegate.flow.schema import Column, Schema
from tidegate.flow.sqltypes import order_of
from tidegate.time import Int, Lexicographic, Nat, Poset, Sum

__all__ = [
    "check_followed_order",
    "check_grown",
    "check_orders",
    "coordinates_in",
    "orders_in",
    "orders_of",
    "parts_of_orders",
    "promised_order",
    "sides_of_orders",
]


def orders_of(flow: Plan) -> dict[str, list[list[Any]]]:
    """Return what a commit records of finite orders: by source, each element with its point."""
    found = ((source.id, source.schema.coordinates) for source in flow.sources)
    return {name: stored(at) for name, at in found if isinstance(at, PosetCoordinates)}


def parts_of_orders(flow: Plan) -> dict[str, list[str]]:
    """Return what a commit records of lexicographic orders: by source, the orders of the columns, as text."""
    found = ((source.id, source.schema.coordinates) for source in flow.sources)
    return {
        name: [repr(part) for part in at.order.parts]
        for name, at in found
        if at is not None and isinstance(at.order, Lexicographic)
    }


def sides_of_orders(flow: Plan) -> dict[str, list[str]]:
    """Return what the trace records of sums of orders: by source, the orders of both sides, as text. Commits do not."""
    found = ((source.id, source.schema.coordinates) for source in flow.sources)
    return {
        name: [repr(at.order.left), repr(at.order.right)]
        for name, at in found
        if at is not None and isinstance(at.order, Sum)
    }


def coordinates_in(name: str, columns: Sequence[Column], flow: Mapping[str, Any]) -> Coordinates | None:
    """Return the coordinates of a source's times, from what a commit records; None if times are ordered by value.

    ``name`` is the source, ``columns`` are its time columns, and ``flow`` is the part of the commit about the flow.
    """
    column = columns[0]
    types = tuple(c.type or "" for c in columns)
    if parts := flow.get("lexicographic", {}).get(name):
        orders = (Nat() if part == repr(Nat()) else order_of(type_) for part, type_ in zip(parts, types, strict=True))
        return LexicographicCoordinates(
            Ordered(tuple(c.name for c in columns), Lexicographic(*(o or Int() for o in orders)), types)
        )
    if types[0].startswith("STRUCT"):
        given = Ordered((column.name,), Sum(Int(), Int()), types)
        written = flow.get("sums", {}).get(name, ("", ""))
        sides = (Nat() if s == repr(Nat()) else order_of(type_) for s, type_ in zip(written, given.sides, strict=True))
        return SumCoordinates(replace(given, order=Sum(*(side or Int() for side in sides))))
    found = flow.get("orders", {}).get(name)
    if found is None:
        return None
    # The points tell which element is below which, so the order itself is not needed.
    points = points_stored(Ordered((column.name,), Poset([]), types), found)
    pairs = [(x, y) for x, p in points.items() for y, q in points.items() if all(map(le, p, q))]
    return PosetCoordinates.of(Ordered((column.name,), Poset(pairs), types), points)


def orders_in(files: Files) -> dict[str, list[list[Any]]]:
    """Return the finite orders that the last commit of a checkpoint records, by source: each element with its point."""
    commit = last_commit(files)
    return dict(commit["flow"].get("orders", {})) if commit else {}


def promised_order(times: Schema) -> dict[str, Any]:
    """Return what an output records of the order of its times: the elements, each with the elements just above it.

    Only finite orders are recorded. For all others, the result is empty: the kind of the order says enough.
    """
    at = times.coordinates
    if not isinstance(at, PosetCoordinates) or not isinstance(at.order, Poset):
        return {}
    order = at.order
    return {"order": [[at.written(x), [at.written(y) for y in order.successors(x)]] for x in order.elements]}


def check_followed_order(source: Source, owner: Mapping[str, Any], root: str) -> None:
    """Raise if a source has another order than the output that it follows. The source may have more elements.

    ``owner`` is the record of the output, and ``root`` its path. A published frontier of a finite order only names the
    greatest times that are complete. Those below them are complete, too, so both flows need the same order.
    """
    schema = source.schema
    given = schema.coordinates.given if schema.coordinates else schema.ordered
    if given is None or not isinstance(given.order, Poset) or "order" not in owner:
        return
    at = PosetCoordinates(given, ())
    listed = [(at.read(x), [at.read(y) for y in above]) for x, above in owner["order"]]
    theirs = Poset([(x, y) for x, above in listed for y in above], elements=[x for x, _ in listed])
    for x in theirs.elements:
        if not at.order.contains(x):
            raise BadInput(
                f"expected an order of {at.given.column} with all elements that {root} has, got one without {x!r}",
                hint="declare the order that the published output has; yours may have more elements",
            )
    for x in theirs.elements:
        for y in theirs.elements:
            if at.order.le(x, y) != theirs.le(x, y):
                there, here = ("is", "is not") if theirs.le(x, y) else ("is not", "is")
                raise BadInput(
                    f"expected the order of {at.given.column} that {root} has, in which {x!r} {there} below {y!r}, "
                    f"got one in which it {here}",
                    hint="declare the pairs that the published output has; yours may have more elements",
                )


def check_orders(flow: Plan, old: Mapping[str, Any]) -> None:
    """Raise if an element that the checkpoint records is gone or has another point: the order has changed.

    Or it has grown, and there are no points for its new elements. ``old`` is the flow's part of the last commit.
    """
    for source, at, before in _known(flow, old):
        now = dict(at.points)
        if any(now.get(x) != point for x, point in before.items()):
            new = sorted(repr(x) for x in now if x not in before)
            if new and isinstance(at.order, Poset) and keeps(at.order, before):
                names = ", ".join(new[:8]) + (", …" if len(new) > 8 else "")
                raise FlowChanged(
                    f"the order of {at.given.column} in source {source} has new elements, and there is no room for "
                    f"them between the points that the checkpoint has of the old ones: {names}",
                    hint="begin with a new checkpoint and other outputs, or leave out new elements that are above "
                    "several old ones",
                ).at(f"flow {flow.name!r}")
            raise FlowChanged(
                f"the order of {at.given.column} in source {source} is not the one that the checkpoint was made with, "
                "nor that order with new elements",
                hint="keep all old elements and their order, or begin with a new checkpoint and other outputs",
            ).at(f"flow {flow.name!r}")


def check_grown(flow: Plan, commit: Commit, old: Mapping[str, Any]) -> None:
    """Raise if an order has a new element below an old one that is complete: the new one would count as complete."""
    for source, at, before in _known(flow, old):
        open_ = set(at.elements_from(commit.marks[source].frontier))
        for x, _ in at.points:
            below = [y for y in before if x not in before and y not in open_ and at.order.le(x, y)]
            if below:
                raise FlowChanged(
                    f"the new element {x!r} of {at.given.column} in source {source} is below {below[0]!r}, which is "
                    "complete: answers there are final",
                    hint="put new elements above the times that are complete, or leave them unrelated to these",
                ).at(f"flow {flow.name!r}")


def _known(flow: Plan, old: Mapping[str, Any]) -> Iterator[tuple[str, PosetCoordinates, Points]]:
    """Yield the sources whose orders a checkpoint records: the name, the coordinates now, and the recorded points."""
    # The checkpoint may know a source by the name that it had before (``was``).
    names = {source.id: source.id for source in flow.sources} | {s.was: s.id for s in flow.sources if s.was}
    for name, found in old.get("orders", {}).items():
        at = flow[names[name]].schema.coordinates if name in names else None
        if isinstance(at, PosetCoordinates):
            yield names[name], at, points_stored(at.given, found)
