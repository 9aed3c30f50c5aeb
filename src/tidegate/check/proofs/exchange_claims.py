"""What follows from the invariants of the exchange protocol: Safe, Mono and lemma glob, and the protocol as a whole."""

from __future__ import annotations

import z3

from tidegate.check.proofs.clocks import (
    RECEIVER,
    SENDER,
    elsewhere,
    mono_of_receiver,
    others_keep,
    recv_upd,
    then_vacant_rec,
    then_vacant_view,
    vacant_rec,
    vacant_view,
)
from tidegate.check.proofs.exchange import (
    INVARIANTS,
    ExchangeRules,
    ExchangeState,
    axioms,
    begin,
    initial,
    none_below,
    perf_op,
    recv_cap,
    send_upd,
    updates_justified,
)
from tidegate.check.proofs.inductive import Claim, Premises, Proof, System
from tidegate.check.proofs.logic import (
    Finite,
    Term,
    at_or_below,
    finite,
    justified,
    justified_at,
    le,
    lt,
    supp_strong,
    vacant,
    z_and,
)
from tidegate.check.proofs.query import ProofStep
from tidegate.check.proofs.updates import rows

__all__ = ["CLAIMS", "exchange"]

_RULES = ExchangeRules()


def _info_justified(c: ExchangeState, v: Term) -> Term:
    return justified(c.scope, c.rec, c.unheard(v), supp_strong)


def _least(c: ExchangeState, v: Term, m: Term) -> Term:
    return z3.And(c.rec(m) != 0, none_below(c.scope, c.rec, m))


def _least_believed(known: Premises, c: ExchangeState, v: Term, m: Term) -> Proof:
    why, adds_up = _info_justified(c, v), known.invariants["rec = glob + info"]
    at = justified_at(c.scope, c.rec, c.unheard(v), m, supp_strong)
    # What is unheard is a sum of justified multisets.
    return Proof([why], [ProofStep([why], at)], [*known.order, adds_up, at, known.if_])


def _believed(known: Premises, c: ExchangeState, v: Term, p: Term) -> Proof:
    few = finite(c.scope, c.rec)
    least = c.scope.all("P", lambda m: z3.Implies(_least(c, v, m), at_or_below(c.scope, c.view(v), m)))
    return Proof([few, least], last=[*known.order, few, least, known.if_])


def _safe(known: Premises, c: ExchangeState, v: Term, p: Term) -> Proof:
    believed = z3.Implies(nothing := _believes_nothing(c, v, p), vacant(c.scope, c.rec, p))
    return Proof([believed], [ProofStep([known.if_], nothing)], [nothing, believed])


def _believes_nothing(c: ExchangeState, v: Term, p: Term) -> Term:
    return c.scope.all("P", lambda q: z3.Implies(le(q, p), c.glob(v, q) <= 0))


def _vacant_from(c: ExchangeState, w: Term, v: Term, p: Term) -> Term:
    return vacant(c.scope, c.to_come(w, v), p)


def _nothing_comes(known: Premises, c: ExchangeState, w: Term, v: Term, p: Term) -> Proof:
    scope = c.scope
    comes = INVARIANTS[4].row(c, w, v, c.first(w, v))
    queue, adds_up = known.invariants["queues have a beginning and an end"], known.invariants["rec = glob + info"]
    rec, why, others = vacant(scope, c.rec, p), _info_justified(c, v), c.others(w, v)
    believed = z3.Implies(known.if_, rec)
    others_tell = justified(scope, c.rec, others, supp_strong)
    own = justified(scope, c.held(w), c.to_come(w, v), supp_strong)
    tells = justified(scope, c.rec, c.to_come(w, v), supp_strong)
    return Proof(
        # What exists is believed. What is unheard, from all or from the others, is a sum of justified multisets.
        [comes, believed, why, others_tell],
        [
            ProofStep([known.if_, believed], rec),
            ProofStep([comes, queue], own),
            ProofStep([*known.order, own], tells),
            ProofStep([*known.order, adds_up, rec, why, known.if_], gone := vacant(scope, c.unheard(v), p)),
        ],
        [*known.order, gone, rec, tells, others_tell],
    )


def _queue_begins(known: Premises, c: ExchangeState, w: Term, v: Term, p: Term) -> Proof:
    nothing, rec, begin = _believes_nothing(c, v, p), vacant(c.scope, c.rec, p), c.first(w, v)
    believed, unheard = z3.Implies(nothing, rec), z3.Implies(nothing, _vacant_from(c, w, v, p))
    positive = known.invariants["caps and data are positive"]
    return Proof(
        # Both claims before this one.
        [believed, unheard],
        [
            ProofStep([known.if_], nothing),
            ProofStep([known.if_], inside := c.in_queue(w, v, begin)),
            ProofStep([nothing, believed], rec),
            ProofStep([nothing, unheard], coming := _vacant_from(c, w, v, p)),
            ProofStep([*known.order, positive, rec], held := vacant(c.scope, c.held(w), p)),
        ],
        [inside, coming, held],
    )


def _least_changed(c: ExchangeState, w: Term, v: Term, k: Term, m: Term) -> Term:
    return z3.And(_heard(c, w, v, k, m), none_below(c.scope, c.update(w, v, k), m))


def _least_unchanged(known: Premises, c: ExchangeState, w: Term, v: Term, k: Term, m: Term) -> Proof:
    scope, head, then = c.scope, c.update(w, v, k), c.coming(w, v, k + 1)
    comes, update = INVARIANTS[4].row(c, w, v, k + 1), INVARIANTS[5].row(c, w, v, k)
    behind = justified_at(scope, c.held(w), then, m, supp_strong)
    with_it = updates_justified(c, w, v, k, m)
    below_it = scope.all("P", lambda r: z3.Implies(lt(r, m), z3.And(head(r) == 0, then(r) == 0, c.caps(w, r) == 0)))
    return Proof(
        [comes, update],
        [
            ProofStep([comes, known.if_], behind),
            ProofStep([update], with_it),
            ProofStep([known.if_], below_it),
        ],
        [*known.order, known.if_, behind, with_it, below_it],
    )


def _next_is_vacant(known: Premises, c: ExchangeState, w: Term, v: Term, k: Term, p: Term) -> Proof:
    scope, head = c.scope, c.update(w, v, k)
    least = scope.all("P", lambda m: z3.Implies(_least_changed(c, w, v, k, m), head(m) == 0))
    lower = scope.all("P", lambda m: z3.Implies(le(m, p), _heard(c, w, v, k, m)))
    here = scope.all("P", lambda m: z3.Implies(z3.And(le(m, p), none_below(scope, head, m)), head(m) == 0))
    few = finite(scope, head)
    return Proof(
        [least, few],
        [
            ProofStep([*known.order[:3], known.if_], lower),
            ProofStep([least, lower], here),
            ProofStep([*known.order[:3], few, here], none := vacant(scope, head, p)),
        ],
        [known.if_, none],
    )


def _heard(c: ExchangeState, w: Term, v: Term, k: Term, p: Term) -> Term:
    return z_and(
        [c.in_queue(w, v, k), vacant(c.scope, c.held(w), p), vacant(c.scope, c.coming(w, v, k), p)],
    )


def _both_vacant(c: ExchangeState, w: Term, v: Term, k: Term, p: Term) -> Term:
    return z3.And(vacant(c.scope, c.update(w, v, k), p), vacant(c.scope, c.coming(w, v, k + 1), p))


def _mono(known: Premises, c: ExchangeState, _: ExchangeState, p: Term) -> Proof:
    w, v, begin = SENDER, RECEIVER, c.first(SENDER, RECEIVER)
    safe = z3.Implies(vacant_view(c, v, p), vacant_rec(c, p))
    unheard = z3.Implies(_believes_nothing(c, v, p), _vacant_from(c, w, v, p))
    along = z3.Implies(_heard(c, w, v, begin, p), _both_vacant(c, w, v, begin, p))
    nonempty = known.guards["msg w w' ≠ []"]
    positive = known.invariants["caps and data are positive"]
    return Proof(
        # Safe, and both parts of lemma glob for the first update.
        [safe, unheard, along],
        [
            ProofStep([known.if_, unheard], nothing := _vacant_from(c, w, v, p)),
            ProofStep([*known.order, positive, known.if_, safe], held := vacant(c.scope, c.held(w), p)),
            ProofStep([nonempty, nothing, held, along], none := vacant(c.scope, c.update(w, v, begin), p)),
        ],
        [known.if_, none],
    )


_ACTIONS = ("recv_cap", "perf_op", "send_upd", "recv_upd")

#: What users rely on, and lemma glob, by induction along a queue. ``info`` is justified by all that exists (invariant
#: 3), because a sum of justified multisets is justified by the sum.
CLAIMS: tuple[Claim[ExchangeState], ...] = (
    Claim(
        "what exists and is minimal is believed",
        "WP",
        _least,
        lambda c, v, m: at_or_below(c.scope, c.view(v), m),
        _least_believed,
    ),
    Claim("what exists is believed at or below", "WP", _believes_nothing, vacant_rec, _believed),
    Claim("Safe", "WP", vacant_view, vacant_rec, _safe),
    *(others_keep(a) for a in _ACTIONS),
    *(Claim("Safe for ever", "P", vacant_rec, then_vacant_rec, action=a) for a in _ACTIONS),
    Claim(
        "lemma glob: all that is unheard",
        "WWP",
        lambda c, w, v, p: _believes_nothing(c, v, p),
        _vacant_from,
        _nothing_comes,
    ),
    Claim(
        "lemma glob: where a queue begins",
        "WWP",
        lambda c, w, v, p: z3.And(c.in_queue(w, v, c.first(w, v)), _believes_nothing(c, v, p)),
        lambda c, w, v, p: _heard(c, w, v, c.first(w, v), p),
        _queue_begins,
    ),
    Claim(
        "lemma glob: where an update is minimal",
        "WWIP",
        _least_changed,
        lambda c, w, v, k, m: c.update(w, v, k)(m) == 0,
        _least_unchanged,
    ),
    Claim("lemma glob: along a queue", "WWIP", _heard, _both_vacant, _next_is_vacant),
    *(Claim("Mono", "WP", vacant_view, then_vacant_view, action=a) for a in _ACTIONS[:3]),
    Claim("Mono", "WP", elsewhere, then_vacant_view, action="recv_upd"),
    mono_of_receiver(_mono),
)


def exchange(rules: ExchangeRules = _RULES, *, without: frozenset[str] = frozenset()) -> System[ExchangeState]:
    """Return the protocol, or a mutant of it."""
    return System(
        "exchange",
        begin,
        axioms,
        initial,
        INVARIANTS,
        {
            "recv_cap": recv_cap,
            "perf_op": lambda c: perf_op(c, rules),
            "send_upd": lambda c: send_upd(c, rules),
            "recv_upd": lambda c: recv_upd(c, newest=rules.newest),
        },
        CLAIMS,
        lambda c, m: c.describe(m),
        (Finite(W=2, P=2, I=4), Finite(W=2, P=3, I=4)),
        without,
        rows,
    )
