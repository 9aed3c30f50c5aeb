"""The dataflow graph in the language of the proofs: what Figure 5 assumes, for any number of locations and edges.

A pointstamp is a location and a time. ``tle`` compares two at one location, so that each location may have an order of
its own. An edge has one summary; several summaries between two locations are several edges. ``step(p, s)`` is ``p``
moved along the edge ``s``. ``le`` is *could result in*: some path takes the one to at or below the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import z3

from tidegate.check.proofs.logic import Counts, Finite, ProofScope, Term, closed, le, partial_order, sort
from tidegate.check.proofs.query import Obligation, ProofQuery
from tidegate.check.proofs.updates import function

__all__ = [
    "DST",
    "LOC",
    "SRC",
    "STEP",
    "expects",
    "flow_facts",
    "flow_of",
    "frontier",
    "graph_axioms",
    "graph_in_words",
    "has_frontier",
    "leaves",
    "paths",
    "tle",
    "tlt",
]

LOC, SRC, DST = function("loc", "P", "L"), function("src", "S", "L"), function("dst", "S", "L")
STEP = function("step", "PS", "P")
tle = function("tle", "PP", "B")


def tlt(p: Term, q: Term) -> Term:
    """Whether ``p`` is at the location of ``q`` at a strictly smaller time."""
    return z3.And(tle(p, q), p != q)


def leaves(p: Term, s: Term) -> Term:
    """Whether the edge ``s`` begins at the location of ``p``."""
    return LOC(p) == SRC(s)


def _edges(scope: ProofScope) -> list[Term]:
    """Return what is assumed of times and edges."""
    named = [
        scope.all("P", lambda p: closed(scope, "L", LOC(p))),
        scope.all("S", lambda s: z3.And(closed(scope, "L", SRC(s)), closed(scope, "L", DST(s)))),
        scope.all("PS", lambda p, s: z3.Implies(leaves(p, s), closed(scope, "P", STEP(p, s)))),
    ]
    return [
        *(named if isinstance(scope, Finite) else ()),
        *partial_order(scope, tle),
        scope.all("PP", lambda p, q: z3.Implies(tle(p, q), LOC(p) == LOC(q))),
        scope.all("S", lambda s: SRC(s) != DST(s)),
        scope.all("PS", lambda p, s: z3.Implies(leaves(p, s), LOC(STEP(p, s)) == DST(s))),
        scope.all("PPS", lambda p, q, s: z3.Implies(z3.And(tle(p, q), leaves(p, s)), tle(STEP(p, s), STEP(q, s)))),
    ]


def _reaches(scope: ProofScope, p: Term, q: Term, edges: int) -> Term:
    if not edges:
        return tle(p, q)
    further = scope.some("S", lambda s: z3.And(leaves(p, s), _reaches(scope, STEP(p, s), q, edges - 1)))
    return z3.Or(tle(p, q), further)


def graph_axioms(scope: ProofScope) -> list[Term]:
    """Return what is assumed of a graph; that ``le`` is a partial order with these properties follows, see `paths`."""
    # Where all can be named, it is written out: a path without a cycle has fewer edges than there are locations.
    exact = (
        []
        if not isinstance(scope, Finite)
        else [scope.all("PP", lambda p, q: le(p, q) == _reaches(scope, p, q, len(scope.elements["L"]) - 1))]
    )
    return [
        *_edges(scope),
        *exact,
        *partial_order(scope),
        scope.all("PP", lambda p, q: z3.Implies(tle(p, q), le(p, q))),
        scope.all("PS", lambda p, s: z3.Implies(leaves(p, s), le(p, STEP(p, s)))),
    ]


def paths() -> Iterator[ProofQuery]:
    """Return the lemmas about could-result-in: it is a partial order, by what Figure 5 assumes of paths.

    Paths keep the order of times, can be composed, and have an empty one. Along a cycle no time comes back at or below
    itself.
    """
    begin, end = function("begin", "R", "L"), function("end", "R", "L")
    walk, empty = function("walk", "PR", "P"), function("empty", "L", "R")
    then, single = function("then", "RR", "R"), function("single", "S", "R")

    def along(p: Term, r: Term) -> Term:
        return LOC(p) == begin(r)

    def path(p: Term, q: Term, r: Term) -> list[Term]:
        arrives = z3.Implies(along(p, r), LOC(walk(p, r)) == end(r))
        keeps_order = z3.Implies(z3.And(tle(p, q), along(p, r)), tle(walk(p, r), walk(q, r)))
        return [arrives, keeps_order]

    def nothing(p: Term) -> list[Term]:
        here = empty(LOC(p))
        return [begin(here) == LOC(p), end(here) == LOC(p), walk(p, here) == p]

    def composed(p: Term, r: Term, t: Term) -> list[Term]:
        both = then(r, t)
        meets = end(r) == begin(t)
        ends = z3.Implies(meets, z3.And(begin(both) == begin(r), end(both) == end(t)))
        walks = z3.Implies(z3.And(meets, along(p, r)), walk(p, both) == walk(walk(p, r), t))
        # Only two empty paths make an empty one.
        empties = z3.Implies(z3.And(meets, both == empty(begin(r))), z3.And(r == empty(begin(r)), t == empty(begin(t))))
        return [ends, walks, empties]

    def no_return(p: Term, r: Term) -> Term:
        proper = z3.And(along(p, r), end(r) == begin(r), r != empty(begin(r)))
        return z3.Implies(proper, z3.Not(tle(walk(p, r), p)))

    def edge(p: Term, s: Term) -> list[Term]:
        alone = single(s)
        walks = z3.Implies(leaves(p, s), walk(p, alone) == STEP(p, s))
        return [begin(alone) == SRC(s), end(alone) == DST(s), walks]

    def takes(p: Term, q: Term, r: Term) -> Term:
        return z3.And(along(p, r), tle(walk(p, r), q))

    a, b, c = (z3.Const(x, sort("P")) for x in "abc")
    e, r, t = z3.Const("e", sort("S")), z3.Const("r", sort("R")), z3.Const("t", sort("R"))
    whole = then(r, t)

    def query(part: str, given: Sequence[Term], goal: Term, *, possible: bool = False) -> ProofQuery:
        def build(scope: ProofScope) -> Obligation:
            return Obligation([*_edges(scope), *given], goal)

        scopes = [Finite(P=3, S=1, L=2)] if possible else []
        return ProofQuery("graph", "could-result-in is a partial order along edges", part, build, scopes, possible)

    # What is assumed of all paths is given for those that matter; a path is named that shows what is claimed.
    both = [*path(a, a, r), *path(walk(a, r), b, t), *composed(a, r, t)]
    yield query("reflexive", nothing(a), takes(a, a, empty(LOC(a))))
    yield query("transitive", [*both, takes(a, b, r), takes(b, c, t)], takes(a, c, whole))
    yield query(
        "antisymmetric",
        [*both, *nothing(a), *nothing(b), no_return(a, whole), takes(a, b, r), takes(b, a, t)],
        a == b,
    )
    yield query("what is assumed", [*both, takes(a, b, r), takes(b, c, t)], a != c, possible=True)
    yield query("contains the order of times", [*nothing(a), tle(a, b)], takes(a, b, empty(LOC(a))))
    yield query("contains the edges", [*edge(a, e), leaves(a, e)], takes(a, STEP(a, e), single(e)))


# Frontiers, and what they pass along edges.


def frontier(scope: ProofScope, M: Counts) -> Counts:
    """Return the minimal times at each location that have a positive count in ``M``, each once."""

    # Each count is a formula over all pointstamps, and is asked for again and again.
    @cache
    def counts(p: Term) -> Term:
        least = scope.all("P", lambda q: z3.Implies(tlt(q, p), M(q) <= 0))
        return z3.If(z3.And(M(p) > 0, least), z3.IntVal(1), z3.IntVal(0))

    return counts


def has_frontier(scope: ProofScope, M: Counts) -> Term:
    """Return what is used of finiteness: at or below each time with a positive count is one of the frontier."""
    return scope.all(
        "P",
        lambda p: z3.Implies(M(p) > 0, scope.some("P", lambda q: z3.And(tle(q, p), frontier(scope, M)(q) == 1))),
    )


def expects(scope: ProofScope, imp: Counts, q: Term) -> Term:
    """Whether something at the location of ``q``, at or below it, is implied."""
    return scope.some("P", lambda y: z3.And(tle(y, q), imp(y) > 0))


def flow_of(scope: Finite, M: Counts) -> Counts:
    """Return what ``M`` gives along all edges, written out."""
    pairs = [(p, s) for p in scope.elements["P"] for s in scope.elements["S"]]

    @cache
    def given(q: Term) -> Term:
        return z3.Sum([z3.If(z3.And(leaves(p, s), STEP(p, s) == q), M(p), 0) for p, s in pairs])

    return given


def flow_facts(scope: ProofScope, M: Counts, flow: Counts) -> list[Term]:
    """Return what is used of the sum ``flow`` of what ``M``, with the counts 0 and 1, gives along all edges."""
    return [
        scope.all("P", lambda q: flow(q) >= 0),
        scope.all("PS", lambda p, s: z3.Implies(z3.And(M(p) == 1, leaves(p, s)), flow(STEP(p, s)) >= 1)),
        scope.all(
            "P",
            lambda q: z3.Implies(
                flow(q) > 0, scope.some("PS", lambda p, s: z3.And(M(p) == 1, leaves(p, s), STEP(p, s) == q))
            ),
        ),
    ]


def graph_in_words(scope: ProofScope, model: z3.ModelRef) -> Sequence[str]:
    """Return the locations, the order of times and the edges of a model."""

    def value(term: Term) -> Term:
        return model.eval(term, model_completion=True)

    ps, edges = scope.elements["P"], scope.elements["S"]
    where = ", ".join(f"{p} at {_name(scope, 'L', value(LOC(p)), model)}" for p in ps)
    less = [f"{p} < {q}" for p in ps for q in ps if p is not q and z3.is_true(value(tle(p, q)))]
    moves = [
        f"{s} takes {p} to {_name(scope, 'P', value(STEP(p, s)), model)}"
        for s in edges
        for p in ps
        if z3.is_true(value(leaves(p, s)))
    ]
    return [f"order: {where}; {', '.join(less) or 'no two times are comparable'}; {', '.join(moves) or 'no edges'}"]


def _name(scope: ProofScope, letter: str, value: Term, model: z3.ModelRef) -> str:
    return next((str(x) for x in scope.elements[letter] if model.eval(x, model_completion=True).eq(value)), str(value))
