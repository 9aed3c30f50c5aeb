"""Local propagation of Figure 6, on any graph with any order of times at each location."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import z3

from tidegate.check.proofs.graph import (
    LOC,
    STEP,
    expects,
    flow_facts,
    flow_of,
    frontier,
    graph_axioms,
    graph_in_words,
    has_frontier,
    leaves,
    tle,
    tlt,
)
from tidegate.check.proofs.inductive import Action, Claim, Invariant, Premises, Proof, System, shown
from tidegate.check.proofs.logic import Counts, Finite, ProofScope, Term, closed, finite, le, sort
from tidegate.check.proofs.query import ProofStep
from tidegate.check.proofs.updates import counted, function

__all__ = ["CLAIMS", "INVARIANTS", "PropagationRules", "PropagationState", "propagated", "propagation", "vacant_work"]

#: Any set of pointstamps that nothing leaves: with one it has all later times there, and what comes along edges.
CLOSED = function("expected", "P", "B")
_X, _N = z3.Const("x", sort("P")), z3.Int("n")


@dataclass(frozen=True)
class PropagationState:
    """A configuration of one worker; ``flow`` is what the frontiers of ``imp`` give along all edges."""

    scope: ProofScope = field(repr=False)
    pts: Counts
    imp: Counts
    work: Counts
    flow: Counts

    def with_flow(self, flow: Counts) -> PropagationState:
        """Return the configuration with what its frontiers give: written out, where all can be named."""
        scope = self.scope
        return replace(self, flow=flow_of(scope, frontier(scope, self.imp)) if isinstance(scope, Finite) else flow)

    def describe(self, model: z3.ModelRef) -> list[str]:
        """Return what a model says of this configuration."""
        pts, imp, work = (counted(self.scope, model, M) for M in (self.pts, self.imp, self.work))
        return [*graph_in_words(self.scope, model), f"pts {pts}, imp {imp}, work {work}"]


@dataclass(frozen=True)
class PropagationRules:
    """How propagation acts; a mutant has other rules."""

    filter_pts: bool = True
    filter_imp: bool = True
    #: Whether the first pointstamp must be propagated before the second.
    before: Callable[[Term, Term], Term] = lambda u, x: z3.And(u != x, le(u, x))


_RULES = PropagationRules()


def _begin(scope: ProofScope) -> PropagationState:
    return PropagationState(
        scope, function("pts", "P"), function("imp", "P"), function("work", "P"), function("flow", "P")
    ).with_flow(function("flow", "P"))


def _axioms(c: PropagationState) -> list[Term]:
    scope = c.scope
    nothing_leaves = [
        scope.all("PP", lambda p, q: z3.Implies(z3.And(CLOSED(p), tle(p, q)), CLOSED(q))),
        scope.all("PS", lambda p, s: z3.Implies(z3.And(CLOSED(p), leaves(p, s)), CLOSED(STEP(p, s)))),
    ]
    sums = [] if isinstance(scope, Finite) else flow_facts(scope, frontier(scope, c.imp), c.flow)
    return [*graph_axioms(scope), *nothing_leaves, *sums]


def _initial(c: PropagationState) -> list[Term]:
    first = frontier(c.scope, c.pts)
    return [
        c.scope.all("P", lambda p: z3.And(c.imp(p) == 0, c.work(p) == first(p))),
        c.scope.all("P", lambda p: z3.Implies(c.pts(p) > 0, CLOSED(p))),
    ]


def _adds_up(c: PropagationState, p: Term) -> Term:
    return c.imp(p) + c.work(p) == frontier(c.scope, c.pts)(p) + c.flow(p)


#: The paper's two invariants, and that nothing comes from outside of what was to be expected.
INVARIANTS = (
    Invariant("imp is positive", "P", lambda c, p: c.imp(p) >= 0),
    Invariant("imp + work adds up", "P", _adds_up),
    Invariant(
        "nothing enters from outside of what is expected",
        "P",
        lambda c, p: z3.Implies(z3.Or(c.pts(p) > 0, c.imp(p) > 0), CLOSED(p)),
    ),
)


def change_multiplicity(c: PropagationState, rules: PropagationRules = _RULES) -> Action[PropagationState]:
    """Count some more, or fewer, of one pointstamp."""
    scope, x, n = c.scope, _X, _N

    def pts(p: Term) -> Term:
        return c.pts(p) + z3.If(p == x, n, 0)

    before, after = frontier(scope, c.pts), frontier(scope, pts)

    def work(p: Term) -> Term:
        return c.work(p) + (after(p) - before(p) if rules.filter_pts else z3.If(p == x, n, 0))

    return Action(
        [closed(scope, "P", x)],
        {"n ≠ 0": n != 0, "some t' <= t in the frontier of imp l": expects(scope, c.imp, x)},
        replace(c, pts=pts, work=work),
        lambda m: f"change_multiplicity {shown(scope, m, x)} {m.eval(n, model_completion=True).as_long():+d}",
    )


def propagated(
    c: PropagationState, x: Term, passed: Counts, flow: Counts, rules: PropagationRules = _RULES
) -> PropagationState:
    """Return ``c`` after propagating ``x``; ``passed`` and ``flow`` are sums that are written out where they can be."""
    scope = c.scope

    def imp(p: Term) -> Term:
        return c.imp(p) + z3.If(p == x, c.work(x), 0)

    if isinstance(scope, Finite):
        before, after = frontier(scope, c.imp), frontier(scope, imp)
        passed = flow_of(scope, (lambda p: after(p) - before(p)) if rules.filter_imp else (lambda p: imp(p) - c.imp(p)))

    def work(p: Term) -> Term:
        return z3.If(p == x, 0, c.work(p)) + passed(p)

    return replace(c, imp=imp, work=work).with_flow(flow)


def propagate(c: PropagationState, rules: PropagationRules = _RULES) -> Action[PropagationState]:
    """Apply what is pending for one pointstamp, and pass on along all edges how the frontier there changed."""
    scope, x, passed = c.scope, _X, function("passed", "P")

    def flow(p: Term) -> Term:
        # What the frontiers give changes by what their change gives: sums are added part by part.
        return c.flow(p) + passed(p) if rules.filter_imp else function("other_flow", "P")(p)

    return Action(
        [closed(scope, "P", x)],
        {
            "t ∈ work l": c.work(x) != 0,
            "no smaller time in any worklist": scope.all(
                "P", lambda u: z3.Implies(c.work(u) != 0, z3.Not(rules.before(u, x)))
            ),
        },
        propagated(c, x, passed, flow, rules),
        lambda m: f"propagate {shown(scope, m, x)}",
    )


def propagate_in_one_order(c: PropagationState, rules: PropagationRules = _RULES) -> Action[PropagationState]:
    """Do the same where all locations have one order, as in Figure 6: smaller times come first, wherever they are."""
    scope, x = c.scope, _X
    acts = propagate(c, rules)
    guard = scope.all("P", lambda u: z3.Implies(c.work(u) != 0, z3.Not(sooner(u, x))))
    one_order = [
        scope.all("PPP", lambda p, q, r: z3.Implies(z3.And(_tle(p, q), _tle(q, r)), _tle(p, r))),
        scope.all("PP", lambda p, q: tle(p, q) == z3.And(LOC(p) == LOC(q), _tle(p, q))),
        # Summaries never lower a time.
        scope.all("PP", lambda p, q: z3.Implies(le(p, q), _tle(p, q))),
    ]
    guards = {**acts.guards, "no smaller time in any worklist": guard}
    return replace(acts, parameters=[*acts.parameters, *one_order], guards=guards)


_tle = function("time_le", "PP", "B")


def sooner(p: Term, q: Term) -> Term:
    """Whether the time of ``p`` is strictly smaller than that of ``q``, in the one order of all locations."""
    return z3.And(_tle(p, q), z3.Not(_tle(q, p)))


# Claims.


def vacant_work(c: PropagationState, q: Term) -> Term:
    """Whether nothing that is pending could result in ``q``."""
    return c.scope.all("P", lambda u: z3.Implies(c.work(u) != 0, z3.Not(le(u, q))))


def _reached(c: PropagationState, q: Term) -> Term:
    return c.scope.some("P", lambda p: z3.And(c.pts(p) > 0, le(p, q)))


def _expects(c: PropagationState, q: Term) -> Term:
    return expects(c.scope, c.imp, q)


def _by_the_frontier(known: Premises, c: PropagationState, q: Term) -> Proof:
    few = has_frontier(c.scope, c.imp)
    return Proof([few], last=[*known.order, few, known.if_])


def _in_frontier(c: PropagationState, q: Term) -> Term:
    return c.scope.some("P", lambda y: z3.And(tle(y, q), frontier(c.scope, c.imp)(y) == 1))


def _path_begins(known: Premises, c: PropagationState, x: Term, q: Term) -> Proof:
    few = has_frontier(c.scope, c.pts)
    return Proof([few], last=[*known.order, few, known.invariants["imp + work adds up"], known.if_])


def _passed_on(c: PropagationState, f: Term, x: Term, s: Term, q: Term) -> Term:
    first = z3.And(tle(f, x), frontier(c.scope, c.imp)(f) == 1)
    return z3.And(first, leaves(x, s), le(STEP(x, s), q), vacant_work(c, q))


def _arrives(c: PropagationState, f: Term, x: Term, s: Term, _: Term) -> Term:
    return z3.And(c.imp(STEP(f, s)) > 0, tle(STEP(f, s), STEP(x, s)))


def _along_edge(known: Premises, c: PropagationState, x: Term, s: Term, q: Term) -> Proof:
    scope, few = c.scope, has_frontier(c.scope, c.imp)
    arrives = scope.all("P", lambda f: z3.Implies(_passed_on(c, f, x, s, q), _arrives(c, f, x, s, q)))
    least = _in_frontier(c, x)
    return Proof([few, arrives], [ProofStep([*known.order, few, known.if_], least)], [least, arrives, known.if_])


def _least_implied(c: PropagationState, m: Term) -> Term:
    alone = c.scope.all("P", lambda r: z3.Implies(z3.And(c.imp(r) > 0, le(r, m)), r == m))
    return z3.And(c.imp(m) > 0, vacant_work(c, m), alone)


def _implied(known: Premises, c: PropagationState, q: Term) -> Proof:
    few = finite(c.scope, c.imp)
    least = c.scope.all("P", lambda m: z3.Implies(_least_implied(c, m), c.pts(m) > 0))
    positive = known.invariants["imp is positive"]
    return Proof([few, least], last=[*known.order, few, least, positive, known.if_])


def _implied_frontier(c: PropagationState, q: Term) -> Term:
    return z3.And(_reached(c, q), c.scope.all("P", lambda r: z3.Implies(tlt(r, q), z3.Not(_reached(c, r)))))


def _converges(known: Premises, c: PropagationState, q: Term) -> Proof:
    safe = c.scope.all("P", lambda r: z3.Implies(z3.And(_reached(c, r), vacant_work(c, r)), _expects(c, r)))
    implied = c.scope.all("P", lambda r: z3.Implies(z3.And(c.imp(r) > 0, vacant_work(c, r)), _reached(c, r)))
    return Proof([safe, implied], last=[*known.order, safe, implied, known.if_])


#: Safe goes by induction along a path, whose beginning is moved edge by edge.
CLAIMS: tuple[Claim[PropagationState], ...] = (
    Claim(
        "Safe: where a path begins",
        "PP",
        lambda c, x, q: z3.And(c.pts(x) > 0, le(x, q), vacant_work(c, q)),
        lambda c, x, q: _expects(c, x),
        _path_begins,
    ),
    Claim("Safe: what a frontier passes on arrives", "PPSP", _passed_on, _arrives),
    Claim(
        "Safe: along an edge",
        "PSP",
        lambda c, x, s, q: z3.And(_expects(c, x), leaves(x, s), le(STEP(x, s), q), vacant_work(c, q)),
        lambda c, x, s, q: _expects(c, STEP(x, s)),
        _along_edge,
    ),
    Claim(
        "Safe: where a path ends",
        "PP",
        lambda c, x, q: z3.And(_expects(c, x), tle(x, q)),
        lambda c, x, q: _expects(c, q),
    ),
    Claim("Safe: what is expected is so by the frontier", "P", _expects, _in_frontier, _by_the_frontier),
    Claim("what is implied and minimal is there", "P", _least_implied, lambda c, m: c.pts(m) > 0),
    Claim(
        "what is implied comes from what is there",
        "P",
        lambda c, q: z3.And(c.imp(q) > 0, vacant_work(c, q)),
        _reached,
        _implied,
    ),
    Claim(
        "lemma implied_frontier",
        "P",
        vacant_work,
        lambda c, q: (frontier(c.scope, c.imp)(q) == 1) == _implied_frontier(c, q),
        _converges,
    ),
    Claim(
        "what is implied is a set that nothing leaves",
        "PSP",
        lambda c, p, s, q: z3.And(_reached(c, p), z3.Or(tle(p, q), z3.And(leaves(p, s), STEP(p, s) == q))),
        lambda c, p, s, q: _reached(c, q),
    ),
    Claim(
        "what could result in a propagated time is settled",
        "P",
        lambda c, _, q: z3.And(le(q, _X), q != _X),
        lambda c, _, q: vacant_work(c, q),
        action="propagate",
    ),
    Claim(
        "what is smaller than a propagated time is settled",
        "P",
        lambda c, _, q: sooner(q, _X),
        lambda c, _, q: vacant_work(c, q),
        action="propagate, one order",
    ),
)


def propagation(rules: PropagationRules = _RULES, *, without: frozenset[str] = frozenset()) -> System[PropagationState]:
    """Return local propagation, or a mutant of it."""
    return System(
        "propagation",
        _begin,
        _axioms,
        _initial,
        INVARIANTS,
        {
            "change_multiplicity": lambda c: change_multiplicity(c, rules),
            "propagate": lambda c: propagate(c, rules),
            "propagate, one order": lambda c: propagate_in_one_order(c, rules),
        },
        CLAIMS,
        lambda c, m: c.describe(m),
        (Finite(P=3, S=1, L=2), Finite(P=4, S=2, L=3)),
        without,
    )
