"""The combined tracker of Figure 7, proved from what was proved of its two parts.

The order of pointstamps is could-result-in, which is a partial order (`graph.paths`), so everything that is proved of
exchange holds here: its configuration changes by its own actions, or not at all. The proof uses four facts about it:
what exists has positive counts; a worker believes that something exists at or below it; the same holds for what an
update changes (lemma glob); and ``glob`` changes by updates only. A worker's propagation takes any number of steps at
once, and each of them keeps its invariants.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache

import z3

from tidegate.check.proofs.clocks import RECEIVER, SENDER
from tidegate.check.proofs.graph import expects, flow_facts, flow_of, frontier, graph_axioms, graph_in_words
from tidegate.check.proofs.inductive import Action, Claim, Invariant, Premises, Proof, System, shown
from tidegate.check.proofs.logic import Counts, Finite, ProofScope, Term, at_or_below, closed, le, nonnegative, sort
from tidegate.check.proofs.propagation import PropagationState, propagated
from tidegate.check.proofs.updates import counted, function

__all__ = ["CLAIMS", "INVARIANTS", "TrackerRules", "TrackerState", "tracker"]

_HEAD = function("head", "P")


@dataclass(frozen=True)
class TrackerState:
    """A configuration: what exists, what workers believe, and the propagation of each."""

    scope: ProofScope = field(repr=False)
    rec: Counts
    #: Per worker and pointstamp, as everything below.
    glob: Callable[..., Term]
    pts: Callable[..., Term]
    imp: Callable[..., Term]
    work: Callable[..., Term]
    flow: Callable[..., Term]
    #: Whether a worker has propagated: ``init(w)``.
    init: Callable[..., Term]

    def of(self, w: Term) -> PropagationState:
        """Return the local propagation of ``w``."""
        pts, imp, work, flow = (lambda p, M=M: M(w, p) for M in (self.pts, self.imp, self.work, self.flow))
        return PropagationState(self.scope, pts, imp, work, flow)

    def view(self, w: Term) -> Counts:
        """Return what ``w`` believes to exist."""
        return lambda p: self.glob(w, p)

    def with_flow(self, flow: Callable[..., Term]) -> TrackerState:
        """Return the configuration with what its frontiers give: written out, where all can be named."""
        if not isinstance(scope := self.scope, Finite):
            return replace(self, flow=flow)
        flows = cache(lambda w: flow_of(scope, frontier(scope, self.of(w).imp)))
        return replace(self, flow=lambda w, p: flows(w)(p))

    def describe(self, model: z3.ModelRef) -> list[str]:
        """Return what a model says of this configuration."""
        lines = [*graph_in_words(self.scope, model), f"exist {counted(self.scope, model, self.rec)}"]
        for w in self.scope.elements["W"]:
            has = "has propagated" if z3.is_true(model.eval(self.init(w), model_completion=True)) else "is new"
            view, prop = counted(self.scope, model, self.view(w)), self.of(w).describe(model)[-1]
            lines.append(f"{w} {has} and believes {view}: {prop}")
        return lines


@dataclass(frozen=True)
class TrackerRules:
    """How the tracker acts; a mutant stops after one step of propagation."""

    to_the_end: bool = True


_RULES = TrackerRules()


def _begin(scope: ProofScope) -> TrackerState:
    names = {name: function(name, "WP") for name in ("glob", "pts", "imp", "work", "flow")}
    state = TrackerState(scope, function("rec", "P"), **names, init=function("init", "W", "B"))
    return state.with_flow(names["flow"])


def _believed(c: TrackerState, M: Counts, v: Term) -> Term:
    return c.scope.all("P", lambda p: z3.Implies(M(p) != 0, at_or_below(c.scope, c.view(v), p)))


def _axioms(c: TrackerState) -> list[Term]:
    scope = c.scope
    known = z3.And(nonnegative(scope, c.rec), scope.all("W", lambda v: _believed(c, c.rec, v)))
    if isinstance(scope, Finite):
        return [*graph_axioms(scope), known]
    sums = scope.all("W", lambda w: z3.And(*flow_facts(scope, frontier(scope, c.of(w).imp), c.of(w).flow)))
    return [*graph_axioms(scope), known, sums]


def _initial(c: TrackerState) -> list[Term]:
    def first(w: Term, p: Term) -> Term:
        return z3.And(c.imp(w, p) == 0, c.work(w, p) == frontier(c.scope, c.of(w).pts)(p), c.pts(w, p) == c.glob(w, p))

    return [c.scope.all("W", lambda w: z3.Not(c.init(w))), c.scope.all("WP", first)]


def _adds_up(c: TrackerState, w: Term, p: Term) -> Term:
    here = c.of(w)
    return here.imp(p) + here.work(p) == frontier(c.scope, here.pts)(p) + here.flow(p)


def _expects(c: TrackerState, w: Term, q: Term) -> Term:
    return expects(c.scope, c.of(w).imp, q)


#: That ``pts`` is ``glob``; the invariants of propagation, for each worker; and what Safe follows from.
INVARIANTS = (
    Invariant("pts = glob", "WP", lambda c, w, p: c.pts(w, p) == c.glob(w, p)),
    Invariant("imp is positive", "WP", lambda c, w, p: c.imp(w, p) >= 0),
    Invariant("imp + work adds up", "WP", _adds_up),
    Invariant("a new worker implies nothing", "WP", lambda c, w, p: z3.Implies(z3.Not(c.init(w)), c.imp(w, p) == 0)),
    Invariant(
        "what is believed is expected",
        "WPP",
        lambda c, w, p, q: z3.Implies(z3.And(c.init(w), c.glob(w, p) > 0, le(p, q)), _expects(c, w, q)),
    ),
)


def exchanges(c: TrackerState) -> Action[TrackerState]:
    """Let the exchange part move in any way that changes no view: an operation, a send, a receipt of a capability."""
    then = replace(c, rec=function("rec_then", "P"))
    known = z3.And(nonnegative(c.scope, then.rec), c.scope.all("W", lambda v: _believed(then, then.rec, v)))
    return Action([known], {}, then, lambda m: f"perf_op: then exist {counted(c.scope, m, then.rec)}")


def recv_upd(c: TrackerState) -> Action[TrackerState]:
    """Let a worker receive an update, and change its pointstamps by it."""
    v, scope = RECEIVER, c.scope

    def pts(a: Term, p: Term) -> Term:
        return c.pts(a, p) + z3.If(a == v, _HEAD(p), 0)

    before, after = frontier(scope, c.of(v).pts), frontier(scope, lambda p: pts(v, p))
    then = replace(
        c,
        glob=lambda a, p: c.glob(a, p) + z3.If(a == v, _HEAD(p), 0),
        pts=pts,
        work=lambda a, p: c.work(a, p) + z3.If(a == v, after(p) - before(p), 0),
    )
    return Action(
        [closed(scope, "W", v), _believed(c, _HEAD, v), scope.all("W", lambda w: _believed(then, c.rec, w))],
        {"init w'": c.init(v)},
        then,
        lambda m: f"recv_upd → {shown(scope, m, v)}: hear {counted(scope, m, _HEAD)}",
    )


def propagate(c: TrackerState, rules: TrackerRules = _RULES) -> Action[TrackerState]:
    """Let a worker propagate until nothing is pending."""
    w, scope = SENDER, c.scope
    here = c.of(w)
    if rules.to_the_end:
        imp, flow = function("imp_then", "P"), function("flow_then", "P")
        # The end of any number of steps, of which each keeps the invariants of propagation.
        done = PropagationState(scope, here.pts, imp, lambda _: z3.IntVal(0), flow).with_flow(flow)
        first = frontier(scope, here.pts)
        given = [scope.all("P", lambda p: z3.And(imp(p) >= 0, imp(p) == first(p) + done.flow(p)))]
        if not isinstance(scope, Finite):
            # Safe of propagation, where nothing is pending.
            safe = scope.all("PP", lambda p, q: z3.Implies(z3.And(here.pts(p) > 0, le(p, q)), expects(scope, imp, q)))
            given += [safe]
    else:
        x = z3.Const("x", sort("P"))
        done = propagated(here, x, function("passed", "P"), function("flow_then", "P"))
        # A step that local propagation allows: of what is pending, something minimal.
        first = scope.all("P", lambda u: z3.Implies(here.work(u) != 0, z3.Not(z3.And(u != x, le(u, x)))))
        given = [closed(scope, "P", x), here.work(x) != 0, first]

    def at_w(old: Callable[..., Term], new: Counts) -> Callable[..., Term]:
        return lambda a, p: z3.If(a == w, new(p), old(a, p))

    then = replace(
        c,
        imp=at_w(c.imp, done.imp),
        work=at_w(c.work, done.work),
        init=lambda a: z3.Or(a == w, c.init(a)),
    ).with_flow(at_w(c.flow, done.flow))
    return Action([closed(scope, "W", w), *given], {}, then, lambda m: f"propagate {shown(scope, m, w)}")


def _safe(known: Premises, c: TrackerState, w: Term, _: Term, __: Term) -> Proof:
    expected = known.invariants["what is believed is expected"]
    # All but what is known of the sums.
    return Proof(last=[*known.order[:-1], expected, known.if_])


CLAIMS: tuple[Claim[TrackerState], ...] = (
    Claim(
        "Safe",
        "WPP",
        lambda c, w, p, q: z3.And(c.init(w), c.rec(p) > 0, le(p, q)),
        lambda c, w, _, q: _expects(c, w, q),
        _safe,
    ),
    Claim(
        "updates can be received",
        "P",
        lambda c, _, p: _HEAD(p) != 0,
        lambda c, _, p: _expects(c, RECEIVER, p),
        action="recv_upd",
    ),
)


def tracker(rules: TrackerRules = _RULES, *, without: frozenset[str] = frozenset()) -> System[TrackerState]:
    """Return the combined tracker, or a mutant of it."""
    return System(
        "tracker",
        _begin,
        _axioms,
        _initial,
        INVARIANTS,
        {"perf_op": exchanges, "recv_upd": recv_upd, "propagate": lambda c: propagate(c, rules)},
        CLAIMS,
        lambda c, m: c.describe(m),
        (Finite(W=1, P=3, S=1, L=2), Finite(W=2, P=3, S=1, L=2)),
        without,
    )
