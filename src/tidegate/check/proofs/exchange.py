"""The exchange protocol of Figure 4, for any number of workers and any partial order of pointstamps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import z3

from tidegate.check.proofs.clocks import (
    RECEIVER,
    SENDER,
    elsewhere,
    recv_upd,
    then_vacant_rec,
    then_vacant_view,
    vacant_rec,
    vacant_view,
)
from tidegate.check.proofs.inductive import Action, Claim, Invariant, Premises, Proof, System, shown
from tidegate.check.proofs.logic import (
    Counts,
    Finite,
    Scope,
    Term,
    at_or_below,
    below,
    closed,
    finite,
    holds_somewhere,
    justified,
    justified_at,
    justified_with,
    le,
    lt,
    nonnegative,
    partial_order,
    sort,
    supp,
    supp_strong,
    vacant,
    z_and,
)
from tidegate.check.proofs.query import Step
from tidegate.check.proofs.updates import UpdatesState, counted, function, rows, total

__all__ = ["CLAIMS", "INVARIANTS", "ExchangeRules", "ExchangeState", "exchange"]


@dataclass(frozen=True)
class ExchangeState(UpdatesState):
    """A configuration with capabilities, held and on their way; ``rec`` is the sum of both."""

    #: What a worker holds: ``caps(w, p)``.
    caps: Callable[..., Term]
    #: What is on its way to a worker: ``data(w, p)``.
    data: Callable[..., Term]

    def held(self, w: Term) -> Counts:
        """Return the capabilities of ``w``."""
        return lambda p: self.caps(w, p)

    def with_sums(self) -> Self:
        """Return the configuration with its sums written out, where workers can be named."""
        then = super().with_sums()
        if not isinstance(scope := self.scope, Finite):
            return then
        return replace(then, rec=lambda p: total(scope, lambda w: self.caps(w, p) + self.data(w, p)))

    def describe(self, model: z3.ModelRef) -> list[str]:
        """Return what a model says of this configuration, with what each worker holds."""
        order, exist, *lines = super().describe(model)
        for w in self.scope.elements["W"]:
            held, coming = counted(self.scope, model, self.held(w)), lambda p, w=w: self.data(w, p)
            exist += f"; {w} holds {held}, and {counted(self.scope, model, coming)} is on its way to it"
        return [order, exist, *lines]


@dataclass(frozen=True)
class ExchangeRules:
    """How the protocol acts; a mutant has other rules."""

    newest: bool = False
    #: What sending needs of the sender's capabilities ``C`` and a pointstamp.
    sends: Callable[[Scope, Counts, Term], Term] = below
    #: What justifies keeping back ``M``, given the configuration and the worker.
    rest: Callable[[ExchangeState, Term, Counts], Term] = lambda c, w, M: both(c.scope, c.held(w), M)


def both(scope: Scope, C: Counts, M: Counts) -> Term:
    """Return that ``M`` is justified by ``C``: in both variants of `supp`, which for a finite ``M`` is the same."""
    return z3.And(justified(scope, C, M), justified(scope, C, M, supp_strong))


def _begin(scope: Scope) -> ExchangeState:
    return ExchangeState(
        scope,
        rec=function("rec", "P"),
        temp=function("temp", "WP"),
        glob=function("glob", "WP"),
        tail=function("tail", "WWIP"),
        first=function("first", "WW"),
        last=function("last", "WW"),
        info=function("info", "WP"),
        caps=function("caps", "WP"),
        data=function("data", "WP"),
    ).with_sums()


def _axioms(c: ExchangeState) -> list[Term]:
    if isinstance(c.scope, Finite):
        return [*partial_order(c.scope), *c.bounded()]
    # A sum of what is not negative is at least each part; that nothing is negative is an invariant.
    parts = c.scope.all("WP", lambda w, p: z3.And(c.caps(w, p) <= c.rec(p), c.data(w, p) <= c.rec(p), c.rec(p) >= 0))
    return [*partial_order(c.scope), parts]


def _initial(c: ExchangeState) -> list[Term]:
    empty = c.scope.all(
        "WP",
        lambda w, p: z3.And(c.caps(w, p) >= 0, c.data(w, p) == 0, c.temp(w, p) == 0, c.glob(w, p) == c.rec(p)),
    )
    queues = c.scope.all("WW", lambda w, v: z3.And(c.first(w, v) == 0, c.last(w, v) == 0))
    nothing = c.scope.all("WWP", lambda w, v, p: c.tail(w, v, c.last(w, v), p) == 0)
    sums = [] if isinstance(c.scope, Finite) else [c.scope.all("WP", lambda v, p: c.info(v, p) == 0)]
    return [empty, queues, nothing, *sums]


def _justified(c: ExchangeState, w: Term, v: Term, k: Term, p: Term) -> Term:
    inside = z3.And(c.first(w, v) <= k, k <= c.last(w, v))
    return z3.Implies(inside, justified_at(c.scope, c.held(w), c.coming(w, v, k), p, supp_strong))


def _justified_with(c: ExchangeState, w: Term, v: Term, k: Term, p: Term) -> Term:
    M, N, C = c.update(w, v, k), c.coming(w, v, k + 1), c.held(w)
    why = z3.Or(supp(c.scope, M, p), supp(c.scope, N, p), below(c.scope, C, p), M(p) + N(p) < C(p))
    return z3.Implies(z3.And(c.in_queue(w, v, k), M(p) > 0), why)


#: The seed's invariants 1 and 2, and those from which its invariant 3, Mono and lemma glob follow. Updates are justified by
#: what their sender holds, which is more than to be justified by all that exists.
INVARIANTS = (
    Invariant(
        "queues have a beginning and an end",
        "WW",
        lambda c, w, v: z3.And(c.first(w, v) >= 0, c.first(w, v) <= c.last(w, v)),
    ),
    Invariant("queues end with what is unsent", "WWP", lambda c, w, v, p: c.tail(w, v, c.last(w, v), p) == c.temp(w, p)),
    Invariant("caps and data are positive", "WP", lambda c, w, p: z3.And(c.caps(w, p) >= 0, c.data(w, p) >= 0)),
    Invariant("rec = glob + info", "WP", lambda c, v, p: c.rec(p) == c.glob(v, p) + c.info(v, p)),
    Invariant("what is to come is justified", "WWIP", _justified),
    Invariant("updates are justified", "WWIP", _justified_with),
)


def recv_cap(c: ExchangeState) -> Action[ExchangeState]:
    """Let a worker receive a capability that was sent to it."""
    w, p = SENDER, z3.Const("p", sort("P"))

    def one(a: Term, q: Term) -> Term:
        return z3.If(z3.And(a == w, q == p), 1, 0)

    then = replace(
        c, caps=lambda a, q: c.caps(a, q) + one(a, q), data=lambda a, q: c.data(a, q) - one(a, q)
    ).with_sums()
    return Action(
        [closed(c.scope, "W", w), closed(c.scope, "P", p)],
        {"(w, p) ∈ data": c.data(w, p) > 0},
        then,
        lambda m: f"recv_cap {shown(c.scope, m, w)} {shown(c.scope, m, p)}",
    )


def perf_op(c: ExchangeState, rules: ExchangeRules = ExchangeRules()) -> Action[ExchangeState]:
    """Let a worker drop capabilities, send some and take some."""
    w, scope = SENDER, c.scope
    neg, own, send = function("neg", "P"), function("own", "P"), function("send", "WP")
    given = [closed(scope, "W", w), nonnegative(scope, neg), nonnegative(scope, own)]
    given.append(scope.all("WP", lambda v, p: send(v, p) >= 0))
    if isinstance(scope, Finite):

        def sent(p: Term) -> Term:
            return total(scope, lambda v: send(v, p))
    else:
        # A sum of what is not negative is not negative, and if it is positive, so is some part.
        sent = function("sent", "P")
        some = scope.all("P", lambda p: z3.Implies(sent(p) > 0, scope.some("W", lambda v: send(v, p) > 0)))
        given += [nonnegative(scope, sent), some]

    def net(p: Term) -> Term:
        return own(p) - neg(p)

    then = replace(
        c.work(w, lambda p: sent(p) + net(p)),
        caps=lambda a, p: c.caps(a, p) + z3.If(a == w, net(p), 0),
        data=lambda a, p: c.data(a, p) + send(a, p),
        rec=lambda p: c.rec(p) + sent(p) + net(p),
    )
    held = c.held(w)

    def cases(p: Term) -> Sequence[Term]:
        none = scope.all("P", lambda r: z3.Implies(lt(r, p), held(r) == 0))
        return [none, scope.some("P", lambda m: z3.And(lt(m, p), held(m) > 0, _none_below(scope, held, m)))]

    def show(m: z3.ModelRef) -> str:
        sends = [f"{counted(scope, m, lambda p, v=v: send(v, p))} to {v}" for v in scope.elements["W"]]
        drops, takes = counted(scope, m, neg), counted(scope, m, own)
        return f"perf_op {shown(scope, m, w)}: drop {drops}, send {' and '.join(sends)}, take {takes}"

    return Action(
        given,
        {
            "Δdata ≠ {} or Δself - Δneg ≠ {}": z3.Or(
                scope.some("WP", lambda v, p: send(v, p) != 0), holds_somewhere(scope, net)
            ),
            "Δneg <= caps w": scope.all("P", lambda p: neg(p) <= held(p)),
            "Δdata strictly above caps w": scope.all(
                "WP", lambda v, p: z3.Implies(send(v, p) > 0, rules.sends(scope, held, p))
            ),
            "Δself at or above caps w": scope.all(
                "P", lambda p: z3.Implies(own(p) > 0, at_or_below(scope, held, p))
            ),
        },
        then.with_sums(),
        show,
        cases,
        [finite(scope, held)],
    )


def _none_below(scope: Scope, C: Counts, m: Term) -> Term:
    return scope.all("P", lambda r: z3.Implies(lt(r, m), C(r) == 0))


def send_upd(c: ExchangeState, rules: ExchangeRules = ExchangeRules()) -> Action[ExchangeState]:
    """Let a worker send its changes at some pointstamps, if what it keeps back is justified by what it holds."""
    w, chosen = SENDER, function("chosen", "P", "B")

    def gamma(p: Term) -> Term:
        return z3.If(chosen(p), c.temp(w, p), 0)

    def rest(p: Term) -> Term:
        return z3.If(chosen(p), 0, c.temp(w, p))

    return Action(
        [closed(c.scope, "W", w)],
        {"γ ≠ {}": holds_somewhere(c.scope, gamma), "justified (caps w) (temp w - γ)": rules.rest(c, w, rest)},
        c.send(w, gamma),
        lambda m: f"send_upd {shown(c.scope, m, w)}: send {counted(c.scope, m, gamma)}",
    )


def _info_justified(c: ExchangeState, v: Term) -> Term:
    return justified(c.scope, c.rec, c.unheard(v), supp_strong)


def _least(c: ExchangeState, v: Term, m: Term) -> Term:
    return z3.And(c.rec(m) != 0, _none_below(c.scope, c.rec, m))


def _least_believed(known: Premises, c: ExchangeState, v: Term, m: Term) -> Proof:
    why, adds_up = _info_justified(c, v), known.invariants["rec = glob + info"]
    at = justified_at(c.scope, c.rec, c.unheard(v), m, supp_strong)
    # What is unheard is a sum of justified multisets.
    return Proof([why], [Step([why], at)], [*known.order, adds_up, at, known.if_])


def _believed(known: Premises, c: ExchangeState, v: Term, p: Term) -> Proof:
    few = finite(c.scope, c.rec)
    least = c.scope.all("P", lambda m: z3.Implies(_least(c, v, m), at_or_below(c.scope, c.view(v), m)))
    return Proof([few, least], last=[*known.order, few, least, known.if_])


def _safe(known: Premises, c: ExchangeState, v: Term, p: Term) -> Proof:
    believed = z3.Implies(nothing := _believes_nothing(c, v, p), vacant(c.scope, c.rec, p))
    return Proof([believed], [Step([known.if_], nothing)], [nothing, believed])


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
            Step([known.if_, believed], rec),
            Step([comes, queue], own),
            Step([*known.order, own], tells),
            Step([*known.order, adds_up, rec, why, known.if_], gone := vacant(scope, c.unheard(v), p)),
        ],
        [*known.order, gone, rec, tells, others_tell],
    )


def _least_changed(c: ExchangeState, w: Term, v: Term, k: Term, m: Term) -> Term:
    return z3.And(_heard(c, w, v, k, m), _none_below(c.scope, c.update(w, v, k), m))


def _least_unchanged(known: Premises, c: ExchangeState, w: Term, v: Term, k: Term, m: Term) -> Proof:
    scope, head, then = c.scope, c.update(w, v, k), c.coming(w, v, k + 1)
    comes, update = INVARIANTS[4].row(c, w, v, k + 1), INVARIANTS[5].row(c, w, v, k)
    behind = justified_at(scope, c.held(w), then, m, supp_strong)
    with_it = _justified_with(c, w, v, k, m)
    below_it = scope.all(
        "P", lambda r: z3.Implies(lt(r, m), z3.And(head(r) == 0, then(r) == 0, c.caps(w, r) == 0))
    )
    return Proof(
        [comes, update],
        [
            Step([comes, known.if_], behind),
            Step([update], with_it),
            Step([known.if_], below_it),
        ],
        [*known.order, known.if_, behind, with_it, below_it],
    )


def _next_is_vacant(known: Premises, c: ExchangeState, w: Term, v: Term, k: Term, p: Term) -> Proof:
    scope, head = c.scope, c.update(w, v, k)
    least = scope.all("P", lambda m: z3.Implies(_least_changed(c, w, v, k, m), head(m) == 0))
    lower = scope.all("P", lambda m: z3.Implies(le(m, p), _heard(c, w, v, k, m)))
    here = scope.all("P", lambda m: z3.Implies(z3.And(le(m, p), _none_below(scope, head, m)), head(m) == 0))
    few = finite(scope, head)
    return Proof(
        [least, few],
        [
            Step([*known.order[:3], known.if_], lower),
            Step([least, lower], here),
            Step([*known.order[:3], few, here], none := vacant(scope, head, p)),
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
            Step([known.if_, unheard], nothing := _vacant_from(c, w, v, p)),
            Step([*known.order, positive, known.if_, safe], held := vacant(c.scope, c.held(w), p)),
            Step([nonempty, nothing, held, along], none := vacant(c.scope, c.update(w, v, begin), p)),
        ],
        [known.if_, none],
    )


_ACTIONS = ("recv_cap", "perf_op", "send_upd", "recv_upd")

#: What users rely on, and lemma glob, by induction along a queue. ``info`` is justified by all that exists (invariant 3)
#: because a sum of justified multisets is justified by the sum.
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
    *(Claim("Safe for ever", "P", vacant_rec, then_vacant_rec, action=a) for a in _ACTIONS),
    Claim(
        "lemma glob: all that is unheard",
        "WWP",
        lambda c, w, v, p: _believes_nothing(c, v, p),
        _vacant_from,
        _nothing_comes,
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
    Claim(
        "Mono of the receiver",
        "P",
        lambda c, _, p: vacant_view(c, RECEIVER, p),
        lambda _, then, p: vacant_view(then, RECEIVER, p),
        _mono,
        action="recv_upd",
    ),
)


def exchange(
    rules: ExchangeRules = ExchangeRules(), *, without: frozenset[str] = frozenset()
) -> System[ExchangeState]:
    """Return the protocol, or a mutant of it."""
    return System(
        "exchange",
        _begin,
        _axioms,
        _initial,
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
