"""Orders in a checkpoint: state holds the points of times, so the numbers of elements are kept with it.

An order may grow between two runs: the elements that there were keep their numbers, and must be ordered as they were.
None may come below a time that is complete: what was answered there was final.

Beside an output stands which element is below which: a frontier says the same to who follows it only if that one knows
them alike.
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
from tidegate.flow.orders import Coordinates, Ordered, PackedCoordinates, PosetCoordinates, SumCoordinates
from tidegate.flow.orders.coordinates import points_stored, stored
from tidegate.flow.orders.realizer import Points
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
    """Return what a commit says of finite orders: for each source, the numbers of all elements."""
    found = ((source.id, source.schema.coordinates) for source in flow.sources)
    return {name: stored(at) for name, at in found if isinstance(at, PosetCoordinates)}


def parts_of_orders(flow: Plan) -> dict[str, list[str]]:
    """Return what a commit says of lexicographic orders: for each source, the orders of the columns."""
    found = ((source.id, source.schema.coordinates) for source in flow.sources)
    return {
        name: [repr(part) for part in at.order.parts]
        for name, at in found
        if at is not None and isinstance(at.order, Lexicographic)
    }


def sides_of_orders(flow: Plan) -> dict[str, list[str]]:
    """Return what a description says of sums: for each source, the orders of both sides. Commits leave it out."""
    found = ((source.id, source.schema.coordinates) for source in flow.sources)
    return {
        name: [repr(at.order.left), repr(at.order.right)]
        for name, at in found
        if at is not None and isinstance(at.order, Sum)
    }


def coordinates_in(name: str, columns: Sequence[Column], flow: Mapping[str, Any]) -> Coordinates | None:
    """Return the points of a source's times as a commit knows them; None if its times are ordered by their values.

    ``columns`` are its time columns, and ``flow`` is what the commit says of the flow.
    """
    column = columns[0]
    types = tuple(c.type or "" for c in columns)
    if parts := flow.get("lexicographic", {}).get(name):
        orders = (Nat() if said == repr(Nat()) else order_of(type_) for said, type_ in zip(parts, types, strict=True))
        return PackedCoordinates(
            Ordered(tuple(c.name for c in columns), Lexicographic(*(o or Int() for o in orders)), types)
        )
    if types[0].startswith("STRUCT"):
        given = Ordered((column.name,), Sum(Int(), Int()), types)
        said = flow.get("sums", {}).get(name, ("", ""))
        sides = (Nat() if s == repr(Nat()) else order_of(type_) for s, type_ in zip(said, given.sides, strict=True))
        return SumCoordinates(replace(given, order=Sum(*(side or Int() for side in sides))))
    found = flow.get("orders", {}).get(name)
    if found is None:
        return None
    # What is needed of the order is in the numbers.
    points = points_stored(Ordered((column.name,), Poset([]), types), found)
    pairs = [(x, y) for x, p in points.items() for y, q in points.items() if all(map(le, p, q))]
    return PosetCoordinates.of(Ordered((column.name,), Poset(pairs), types), points)


def orders_in(files: Files) -> dict[str, list[list[Any]]]:
    """Return the numbers of the orders that a checkpoint knows, by source."""
    commit = last_commit(files)
    return dict(commit["flow"].get("orders", {})) if commit else {}


def promised_order(times: Schema) -> dict[str, Any]:
    """Return what an output says of the order of its times: of a finite one, the elements, each with those just above.

    Nothing, if what kind of order it is says all.
    """
    at = times.coordinates
    if not isinstance(at, PosetCoordinates) or not isinstance(at.order, Poset):
        return {}
    order = at.order
    return {"order": [[at.written(x), [at.written(y) for y in order.successors(x)]] for x in order.elements]}


def check_followed_order(source: Source, owner: Mapping[str, Any], root: str) -> None:
    """Raise if a source knows another order than the output that it follows; it may have more elements.

    What is complete is told by its greatest elements: those below would be others.
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
                hint="declare the order that the published output has; it may have more elements",
            )
    for x in theirs.elements:
        for y in theirs.elements:
            if at.order.le(x, y) != theirs.le(x, y):
                said, here = ("is", "is not") if theirs.le(x, y) else ("is not", "is")
                raise BadInput(
                    f"expected the order of {at.given.column} that {root} has, in which {x!r} {said} below {y!r}, "
                    f"got one in which it {here}",
                    hint="declare the pairs that the published output has; there may be more elements",
                )


def check_orders(flow: Plan, old: Mapping[str, Any]) -> None:
    """Raise if the order of a source is not the one that a checkpoint knows, or one that it can have grown to."""
    for source, at, before in _known(flow, old):
        now = dict(at.points)
        if any(now.get(x) != point for x, point in before.items()):
            raise FlowChanged(
                f"the order of {at.given.column} in source {source} is not the one that the checkpoint was made with, "
                "or one that it can have grown to",
                hint="keep all elements that there were, ordered as they were; if there are new ones that do not fit "
                "between them, begin with a new checkpoint and other outputs",
            ).at(f"flow {flow.name!r}")


def check_grown(flow: Plan, commit: Commit, old: Mapping[str, Any]) -> None:
    """Raise if an order has new elements below a time that is complete; all others are not complete."""
    for source, at, before in _known(flow, old):
        open_ = set(at.elements_from(commit.marks[source].frontier))
        for x, _ in at.points:
            below = [y for y in before if x not in before and y not in open_ and at.order.le(x, y)]
            # What is below a complete time would be taken for complete.
            if below:
                raise FlowChanged(
                    f"the new element {x!r} of {at.given.column} in source {source} is below {below[0]!r}, which is "
                    "complete: answers there are final",
                    hint="let new elements be above the times that are complete, or beside them",
                ).at(f"flow {flow.name!r}")


def _known(flow: Plan, old: Mapping[str, Any]) -> Iterator[tuple[str, PosetCoordinates, Points]]:
    """Return the sources whose orders a checkpoint knows, with the numbers that it knows."""
    # A source may have had another name.
    names = {source.id: source.id for source in flow.sources} | {s.was: s.id for s in flow.sources if s.was}
    for name, found in old.get("orders", {}).items():
        at = flow[names[name]].schema.coordinates if name in names else None
        if isinstance(at, PosetCoordinates):
            yield names[name], at, points_stored(at.given, found)
