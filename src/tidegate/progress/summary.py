"""Summaries of paths that may cross scopes: the least change to a time from one location to another."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

from tidegate.progress.scope import AnyOrder, append, drop, inner, outer, split
from tidegate.time import Product, Summaries

__all__ = ["Summary", "minimal_summaries"]


class Summary:
    """What a path does to a time: leave some scopes, change what is kept, enter some scopes.

    Every composition of edges has this form. A scope that the path enters begins at its least element, so the path
    arrives there at a fixed time. Entering a scope and leaving it again changes nothing. Leaving a scope and entering
    it again begins at its least element.

    ``leaves`` is the number of scopes left, ``change`` a summary of the order that is kept, ``enters`` the inner times
    at which the path arrives in the scopes that it entered, outermost first.

    >>> from tidegate.time import Nat, Product
    >>> once = Summary.local(Product(Nat(), Nat()), (0, 1))
    >>> again = Summary.leave(Product(Nat(), Nat())).followed_by(Summary.enter(Product(Nat(), Nat())))
    >>> once.results_in((3, 5)), again.results_in((3, 5)), once.followed_by(again).results_in((3, 5))
    ((3, 6), (3, 0), (3, 0))
    >>> again.le(once), once.le(again)
    (True, False)
    """

    __slots__ = ("_hash", "base", "change", "enters", "leaves", "results_in", "source", "target")

    #: Return the least time that a time becomes along the path.
    results_in: Callable[[Any], Any]

    def __init__(self, source: AnyOrder, leaves: int, change: Any, enters: tuple[Any, ...], target: AnyOrder) -> None:
        self.source = source
        self.leaves = leaves
        self.change = change
        self.enters = enters
        self.target = target
        self.base = _outer(source, leaves)
        self._hash = hash((leaves, change, enters))
        # Made once, because propagation applies the same few summaries again and again.
        self.results_in = _compiled(self)

    @classmethod
    def local(cls, order: AnyOrder, change: Any) -> Summary:
        """Build the summary that changes times of ``order`` within their scope."""
        return cls(order, 0, change, (), order)

    @classmethod
    def enter(cls, order: AnyOrder) -> Summary:
        """Build the summary that enters the scope whose times have ``order``."""
        around = _outer(order, 1)
        return cls(around, 0, around.summaries.neutral, (inner(order).least(),), order)

    @classmethod
    def leave(cls, order: AnyOrder) -> Summary:
        """Build the summary that leaves the scope whose times have ``order``."""
        around = _outer(order, 1)
        return cls(order, 1, around.summaries.neutral, (), around)

    @property
    def neutral(self) -> bool:
        """Whether it leaves every time as it is."""
        return not self.leaves and not self.enters and bool(self.change == self.base.summaries.neutral)

    @property
    def advances(self) -> bool:
        """Whether the part of the time that it keeps strictly increases, whatever the time.

        For a path back to its beginning this says that no time comes back at or below itself. If the path leaves no
        scope, the whole time strictly increases. If it leaves a scope and enters it again, the inner component starts
        again, and the whole time need not increase: along ``(t, i)`` to ``(t + 1, 0)``, (0, 5) becomes (1, 0).
        """
        return self.base.summaries.advances(self.change)

    def followed_by(self, then: Summary) -> Summary:
        """Return the summary of the path that goes on with ``then``."""
        entered = len(self.enters)
        if then.leaves >= entered:
            more = then.leaves - entered
            kept = _levels(self, self.leaves + more)[0] if more else self.change
            change = then.base.summaries.followed_by(kept, then.change)
            return Summary(self.source, self.leaves + more, change, then.enters, then.target)
        stays = entered - then.leaves
        changes, whole = then.change, then.base
        inside: list[Any] = []
        for x in reversed(self.enters[:stays]):
            changes, by = split(whole, changes)
            inside.append(inner(whole).summaries.results_in(x, by))
            whole = _outer(whole, 1)
        change = self.base.summaries.followed_by(self.change, changes)
        return Summary(self.source, self.leaves, change, (*reversed(inside), *then.enters), then.target)

    def le(self, other: Summary) -> bool:
        """Whether for every time its result is at or below that of ``other``."""
        return _compare(self, other)[0]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Summary)
            and (self.leaves, self.change, self.enters) == (other.leaves, other.change, other.enters)
            and self.source == other.source
            and self.target == other.target
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        steps = ["Leave"] * self.leaves
        if self.change != self.base.summaries.neutral or not (self.leaves or self.enters):
            steps.append(repr(self.change))
        steps += [f"Enter at {x!r}" for x in self.enters]
        return f"<{', '.join(steps)}>"


def minimal_summaries(summaries: Iterable[Summary]) -> list[Summary]:
    """Return the distinct minimal ones among summaries from one location to another.

    >>> from tidegate.time import Nat, Product
    >>> order = Product(Nat(), Nat())
    >>> minimal_summaries(Summary.local(order, s) for s in [(0, 2), (1, 0), (1, 2)])
    [<(0, 2)>, <(1, 0)>]
    """
    kept: list[Summary] = []
    for s in summaries:
        if not any(k.le(s) for k in kept):
            kept = [k for k in kept if not s.le(k)]
            kept.append(s)
    return kept


def _outer(order: AnyOrder, levels: int) -> AnyOrder:
    for _ in range(levels):
        order = cast(AnyOrder, outer(order))
    return order


def _compiled(summary: Summary) -> Callable[[Any], Any]:
    if summary.neutral:
        return lambda t: t
    apply, change = summary.base.summaries.results_in, summary.change
    if not summary.leaves and not summary.enters:
        return lambda t: apply(t, change)
    left = [_outer(summary.source, i) for i in range(summary.leaves)]
    entered = [_outer(summary.target, i) for i in reversed(range(len(summary.enters)))]
    unchanged = change == summary.base.summaries.neutral

    def results_in(t: Any) -> Any:
        for order in left:
            t = drop(order, t)
        if not unchanged:
            t = apply(t, change)
        for order, x in zip(entered, summary.enters, strict=True):
            t = append(order, t, x)
        return t

    return results_in


def _compare(a: Summary, b: Summary) -> tuple[bool, bool]:
    """Return two bools: whether ``a`` is at or below ``b`` at every time, and strictly below at every time."""
    leaves = max(a.leaves, b.leaves)
    change_a, inside_a = _levels(a, leaves)
    change_b, inside_b = _levels(b, leaves)
    base = _outer(a.source, leaves)
    le = base.summaries.le(change_a, change_b)
    lt = base.summaries.lt_everywhere(change_a, change_b)
    wholes = [_outer(a.target, i) for i in reversed(range(len(inside_a)))]
    for whole, x, y in zip(wholes, inside_a, inside_b, strict=True):
        inner_le, inner_lt = _compare_inside(whole, x, y)
        if isinstance(whole, Product):
            le, lt = le and inner_le, le and inner_le and (lt or inner_lt)
        else:  # from left to right: what is strictly below outside is so whatever happens inside
            le, lt = lt or (le and inner_le), lt or (le and inner_lt)
    return le, lt


def _levels(s: Summary, leaves: int) -> tuple[Any, list[tuple[bool, Any]]]:
    """Take ``s`` apart as if it left ``leaves`` scopes.

    Return the change outside, and for each scope, outermost first, (True, the time it arrives at) or (False, a change).
    """
    change, base = s.change, s.base
    inside: list[tuple[bool, Any]] = []
    for _ in range(leaves - s.leaves):
        change, by = split(base, change)
        inside.insert(0, (False, by))
        base = _outer(base, 1)
    return change, inside + [(True, x) for x in s.enters]


def _compare_inside(whole: AnyOrder, a: tuple[bool, Any], b: tuple[bool, Any]) -> tuple[bool, bool]:
    order = inner(whole)
    summaries: Summaries[Any, Any] = order.summaries
    (a_fixed, x), (b_fixed, y) = a, b
    if not a_fixed and not b_fixed:
        return summaries.le(x, y), summaries.lt_everywhere(x, y)
    if a_fixed and b_fixed:
        return order.le(x, y), order.lt(x, y)
    # One arrives at a fixed time, the other changes the time: its least and greatest results are those of the least
    # and the greatest time.
    if a_fixed:
        pairs = [(x, summaries.results_in(t, y)) for t in order.bottoms()]
    else:
        pairs = [(summaries.results_in(t, x), y) for t in order.tops()]
    return all(order.le(p, q) for p, q in pairs), all(order.lt(p, q) for p, q in pairs)
