"""The clocks protocol of Figure 3, for any number of workers and any partial order of pointstamps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import z3

from tidegate.check.proofs.inductive import Action, Claim, Invariant, Premises, Proof, System, shown
from tidegate.check.proofs.logic import (
    Counts,
    Finite,
    ProofScope,
    Term,
    beta_upright,
    closed,
    finite,
    holds_somewhere,
    nonnegative,
    partial_order,
    sort,
    supp,
    supp_strong,
    upright,
    vacant,
)
from tidegate.check.proofs.query import ProofStep
from tidegate.check.proofs.updates import UpdatesState, counted, function, rows, unknown_updates

__all__ = [
    "CLAIMS",
    "INVARIANTS",
    "RECEIVER",
    "SENDER",
    "ClocksRules",
    "clocks",
    "elsewhere",
    "mono_of_receiver",
    "others_keep",
    "recv_upd",
    "then_vacant_rec",
    "then_vacant_view",
    "vacant_rec",
    "vacant_view",
]


S = TypeVar("S", bound=UpdatesState)

#: The worker that acts, and the one that receives.
SENDER, RECEIVER = z3.Const("w", sort("W")), z3.Const("v", sort("W"))


@dataclass(frozen=True)
class ClocksRules:
    """How the protocol acts; a mutant has other rules."""

    sender_too: bool = True
    newest: bool = False


_RULES = ClocksRules()

#: The paper's invariants 1 and 2, and those from which its invariant 3 and Mono follow. `supp` is the stronger variant,
#: which for finite multisets says the same of the whole.
INVARIANTS = (
    Invariant("queues have a beginning and an end", "WW", lambda c, w, v: _queue(c, w, v)),
    Invariant(
        "queues end with what is unsent", "WWP", lambda c, w, v, p: c.tail(w, v, c.last(w, v), p) == c.temp(w, p)
    ),
    Invariant("rec is positive", "P", lambda c, p: c.rec(p) >= 0),
    Invariant("rec = glob + info", "WP", lambda c, v, p: c.rec(p) == c.glob(v, p) + c.info(v, p)),
    Invariant("what is to come is upright", "WWIP", lambda c, w, v, k, p: _upright(c, w, v, k, p)),
    Invariant("updates are beta upright", "WWIP", lambda c, w, v, k, p: _beta(c, w, v, k, p)),
)


def _queue(c: UpdatesState, w: Term, v: Term) -> Term:
    return z3.And(c.first(w, v) >= 0, c.first(w, v) <= c.last(w, v))


def _upright(c: UpdatesState, w: Term, v: Term, k: Term, p: Term) -> Term:
    M = c.coming(w, v, k)
    return z3.Implies(z3.And(c.first(w, v) <= k, k <= c.last(w, v), M(p) > 0), supp_strong(c.scope, M, p))


def _beta(c: UpdatesState, w: Term, v: Term, k: Term, p: Term) -> Term:
    M, N = c.update(w, v, k), c.coming(w, v, k + 1)
    return z3.Implies(z3.And(c.in_queue(w, v, k), M(p) > 0), z3.Or(supp(c.scope, M, p), supp(c.scope, N, p)))


def _begin(scope: ProofScope) -> UpdatesState:
    return UpdatesState(scope, **unknown_updates()).with_sums()


def _axioms(c: UpdatesState) -> list[Term]:
    return [*partial_order(c.scope), *c.bounded()]


def _initial(c: UpdatesState) -> list[Term]:
    empty = c.scope.all("WP", lambda w, p: z3.And(c.temp(w, p) == 0, c.glob(w, p) == c.rec(p)))
    queues = c.scope.all("WW", lambda w, v: z3.And(c.first(w, v) == 0, c.last(w, v) == 0))
    nothing = c.scope.all("WWP", lambda w, v, p: c.tail(w, v, c.last(w, v), p) == 0)
    sums = [] if isinstance(c.scope, Finite) else [c.scope.all("WP", lambda v, p: c.info(v, p) == 0)]
    return [nonnegative(c.scope, c.rec), empty, queues, nothing, *sums]


def both(scope: ProofScope, M: Counts) -> Term:
    """Return that ``M`` is upright: in both variants of `supp`, which for a finite ``M`` is the same."""
    return z3.And(upright(scope, M), upright(scope, M, supp_strong))


def perf_op(c: UpdatesState) -> Action[UpdatesState]:
    """Let a worker take away some pointstamps and add others."""
    w, neg, pos = SENDER, function("neg", "P"), function("pos", "P")

    def delta(p: Term) -> Term:
        return pos(p) - neg(p)

    return Action(
        [closed(c.scope, "W", w), nonnegative(c.scope, neg), nonnegative(c.scope, pos)],
        {
            "Δneg <= rec": c.scope.all("P", lambda p: neg(p) <= c.rec(p)),
            "upright Δ": both(c.scope, delta),
        },
        replace(c.work(w, delta), rec=lambda p: c.rec(p) + delta(p)),
        lambda m: (
            f"perf_op {shown(c.scope, m, w)}: take away {counted(c.scope, m, neg)}, add {counted(c.scope, m, pos)}"
        ),
    )


def send_upd(c: UpdatesState, *, sender_too: bool = True) -> Action[UpdatesState]:
    """Let a worker send its changes at some pointstamps, if what it keeps back is upright."""
    w, chosen = SENDER, function("chosen", "P", "B")

    def gamma(p: Term) -> Term:
        return z3.If(chosen(p), c.temp(w, p), 0)

    def rest(p: Term) -> Term:
        return z3.If(chosen(p), 0, c.temp(w, p))

    return Action(
        [closed(c.scope, "W", w)],
        {"γ ≠ {}": holds_somewhere(c.scope, gamma), "upright (temp w - γ)": both(c.scope, rest)},
        c.send(w, gamma, sender_too=sender_too),
        lambda m: f"send_upd {shown(c.scope, m, w)}: send {counted(c.scope, m, gamma)}",
    )


def recv_upd(c: S, *, newest: bool = False) -> Action[S]:
    """Let a worker receive the oldest update from another."""
    w, v = SENDER, RECEIVER
    head = c.update(w, v, c.last(w, v) - 1 if newest else c.first(w, v))
    return Action(
        [closed(c.scope, "W", w), closed(c.scope, "W", v)],
        {"msg w w' ≠ []": c.first(w, v) < c.last(w, v)},
        c.receive(w, v, newest=newest),
        lambda m: f"recv_upd {shown(c.scope, m, w)} → {shown(c.scope, m, v)}: hear {counted(c.scope, m, head)}",
    )


def _info_upright(c: UpdatesState, v: Term) -> Term:
    return upright(c.scope, c.unheard(v), supp_strong)


def _safe(_: Premises, c: UpdatesState, v: Term, __: Term) -> Proof:
    return Proof([_info_upright(c, v)])


def _mono(known: Premises, c: UpdatesState, _: UpdatesState, p: Term) -> Proof:
    w, v, scope = SENDER, RECEIVER, c.scope
    begin = c.first(w, v)
    head, then, others = c.update(w, v, begin), c.coming(w, v, begin + 1), c.others(w, v)
    comes, beta_here = (inv.row(c, w, v, begin) for inv in INVARIANTS[4:])
    comes_then = INVARIANTS[4].row(c, w, v, begin + 1)
    adds_up, nonempty = known.invariants["rec = glob + info"], known.guards["msg w w' ≠ []"]
    tells, others_tell = upright(scope, c.to_come(w, v), supp_strong), upright(scope, others, supp_strong)
    behind, beta = upright(scope, then, supp_strong), beta_upright(scope, head, then)
    rec, few = vacant(scope, c.rec, p), finite(scope, head)
    safe = z3.Implies(known.if_, rec)
    return Proof(
        # If the view is vacant, nothing exists (Safe). What the others have to tell is a sum of upright multisets.
        [comes, beta_here, comes_then, safe, others_tell, few],
        [
            ProofStep([known.if_, safe], rec),
            ProofStep([comes, nonempty], tells),
            ProofStep([comes_then, nonempty], behind),
            ProofStep([beta_here, nonempty], beta),
            # All that is unheard adds up to nothing up to p.
            ProofStep([adds_up, rec, known.if_], gone := vacant(scope, c.unheard(v), p)),
            # It is the sum of what w has to tell and what the others have. Both are upright, so neither has anything
            # there.
            ProofStep([*known.order, gone, tells, others_tell], nothing := vacant(scope, c.to_come(w, v), p)),
            # The update and what comes after it cancel out there, so neither has anything either.
            ProofStep([*known.order, nothing, behind, beta, few], none := vacant(scope, head, p)),
        ],
        [known.if_, none],
    )


def vacant_view(c: UpdatesState, *xs: Term) -> Term:
    """Whether the view of a worker is vacant up to a pointstamp."""
    v, p = xs[-2:]
    return vacant(c.scope, c.view(v), p)


def elsewhere(c: UpdatesState, _: UpdatesState, v: Term, p: Term) -> Term:
    """Whether the view of a worker that does not receive is vacant up to a pointstamp."""
    return z3.And(v != RECEIVER, vacant_view(c, v, p))


def vacant_rec(c: UpdatesState, *xs: Term) -> Term:
    """Whether nothing exists up to a pointstamp."""
    return vacant(c.scope, c.rec, xs[-1])


def then_vacant_view(_: UpdatesState, then: UpdatesState, v: Term, p: Term) -> Term:
    """Whether the view of a worker is vacant afterwards."""
    return vacant(then.scope, then.view(v), p)


def then_vacant_rec(_: UpdatesState, then: UpdatesState, p: Term) -> Term:
    """Whether nothing exists afterwards."""
    return vacant(then.scope, then.rec, p)


def others_keep(action: str) -> Claim[Any]:
    """Return that an action changes only what its own worker has yet to send, and that sums change by just that."""
    return Claim(
        "nothing else changes in info",
        "WWP",
        lambda _, __, a, b, p: a != SENDER,
        lambda c, then, a, b, p: then.to_come(a, b)(p) == c.to_come(a, b)(p),
        action=action,
    )


def mono_of_receiver(proof: Any) -> Claim[Any]:
    """Return Mono for the worker that receives an update, which has a proof of its own."""
    return Claim(
        "Mono of the receiver",
        "P",
        lambda c, _, p: vacant_view(c, RECEIVER, p),
        lambda _, then, p: vacant_view(then, RECEIVER, p),
        proof,
        action="recv_upd",
    )


#: What users rely on. ``info`` is upright (invariant 3) because a sum of upright multisets is.
CLAIMS: tuple[Claim[UpdatesState], ...] = (
    Claim("Safe", "WP", vacant_view, vacant_rec, _safe),
    *(others_keep(a) for a in ("perf_op", "send_upd", "recv_upd")),
    *(Claim("Safe for ever", "P", vacant_rec, then_vacant_rec, action=a) for a in ("perf_op", "send_upd", "recv_upd")),
    *(Claim("Mono", "WP", vacant_view, then_vacant_view, action=a) for a in ("perf_op", "send_upd")),
    Claim("Mono", "WP", elsewhere, then_vacant_view, action="recv_upd"),
    mono_of_receiver(_mono),
)


def clocks(rules: ClocksRules = _RULES, *, without: frozenset[str] = frozenset()) -> System[UpdatesState]:
    """Return the protocol, or a mutant of it."""
    return System(
        "clocks",
        _begin,
        _axioms,
        _initial,
        INVARIANTS,
        {
            "perf_op": perf_op,
            "send_upd": lambda c: send_upd(c, sender_too=rules.sender_too),
            "recv_upd": lambda c: recv_upd(c, newest=rules.newest),
        },
        CLAIMS,
        lambda c, m: c.describe(m),
        (Finite(W=2, P=2, I=4), Finite(W=2, P=3, I=4)),
        without,
        rows,
    )
