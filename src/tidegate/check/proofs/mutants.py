"""Mutants: each guard that the proofs need is left out or weakened, and the proof must fail with a counterexample.

A counterexample is a configuration in which all invariants hold, a step that the guard would have forbidden, and the
statement that the step breaks. Where a guard is not needed for what the paper states, all proofs hold without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import z3

from tidegate.check.proofs.clocks import ClocksRules, clocks
from tidegate.check.proofs.exchange import ExchangeRules, ExchangeState
from tidegate.check.proofs.exchange_claims import exchange
from tidegate.check.proofs.graph import tlt
from tidegate.check.proofs.inductive import System
from tidegate.check.proofs.logic import Counts, Term, at_or_below, below, justified, supp
from tidegate.check.proofs.propagation import PropagationRules, propagation
from tidegate.check.proofs.query import ProofQuery, Result, Verdict, answer
from tidegate.check.proofs.tracker import TrackerRules, tracker

__all__ = ["MUTANTS", "ProofMutant"]


@dataclass(frozen=True)
class ProofMutant:
    """A protocol with one guard less: the action that it changes, and the statement whose proof fails.

    If none fails, ``harmless`` says why.
    """

    name: str
    system: Callable[[], System[Any]]
    action: str
    breaks: str = ""
    harmless: str = ""

    def queries(self) -> Iterator[ProofQuery]:
        """Return what has to be asked: the statement that should fail, or all that have to do with the action."""
        for query in self.system().queries(only=self.action):
            if not query.possible and (not self.breaks or query.statement == self.breaks):
                yield query

    def results(self) -> list[Result]:
        """Ask the solver, for a counterexample first where there should be one."""
        return [answer(query, suspicious=bool(self.breaks)) for query in self.queries()]

    def as_expected(self, results: list[Result]) -> bool:
        """Whether the statement is refuted, or, for a harmless mutant, whether everything is proved."""
        wanted = Verdict.REFUTED if self.breaks else Verdict.PROVED
        return bool(results) and all(r.verdict is wanted for r in results)


def _clocks(guard: str = "", **rules: bool) -> Callable[[], System[Any]]:
    return lambda: clocks(ClocksRules(**rules), without=frozenset({guard}))


def _exchange(guard: str = "", **rules: Any) -> Callable[[], System[Any]]:
    return lambda: exchange(ExchangeRules(**rules), without=frozenset({guard}))


def _propagation(guard: str = "", **rules: Any) -> Callable[[], System[Any]]:
    return lambda: propagation(PropagationRules(**rules), without=frozenset({guard}))


def _tracker(guard: str = "", **rules: bool) -> Callable[[], System[Any]]:
    return lambda: tracker(TrackerRules(**rules), without=frozenset({guard}))


def _as_many_as_held(c: ExchangeState, w: Term, M: Counts) -> Term:
    C = c.held(w)
    return c.scope.all(
        "P", lambda p: z3.Implies(M(p) > 0, z3.Or(supp(c.scope, M, p), below(c.scope, C, p), M(p) <= C(p)))
    )


#: The guards of the four protocols. Of `recv_upd`, ``msg w w' ≠ []`` has no mutant: without it there is no update.
MUTANTS: list[ProofMutant] = [
    ProofMutant("clocks, perf_op: no Δneg <= rec", _clocks("Δneg <= rec"), "perf_op", "rec is positive"),
    ProofMutant("clocks, perf_op: no upright Δ", _clocks("upright Δ"), "perf_op", "what is to come is upright"),
    ProofMutant(
        "clocks, send_upd: no upright rest", _clocks("upright (temp w - γ)"), "send_upd", "what is to come is upright"
    ),
    ProofMutant(
        "clocks, send_upd: γ may be empty",
        _clocks("γ ≠ {}"),
        "send_upd",
        harmless="an empty update changes no view",
    ),
    ProofMutant("clocks, send_upd: not to the sender", _clocks(sender_too=False), "send_upd", "rec = glob + info"),
    ProofMutant("clocks, recv_upd: newest first", _clocks(newest=True), "recv_upd", "what is to come is upright"),
    ProofMutant(
        "exchange, perf_op: may have no effect",
        _exchange("Δdata ≠ {} or Δself - Δneg ≠ {}"),
        "perf_op",
        harmless="an operation without effect is a stutter step",
    ),
    ProofMutant(
        "exchange, perf_op: no Δneg <= caps", _exchange("Δneg <= caps w"), "perf_op", "caps and data are positive"
    ),
    ProofMutant(
        "exchange, perf_op: sends anything",
        _exchange("Δdata strictly above caps w"),
        "perf_op",
        "Safe for ever",
    ),
    ProofMutant(
        "exchange, perf_op: sends at a capability",
        _exchange(sends=at_or_below),
        "perf_op",
        "what is to come is justified",
    ),
    ProofMutant("exchange, perf_op: takes anything", _exchange("Δself at or above caps w"), "perf_op", "Safe for ever"),
    ProofMutant(
        "exchange, send_upd: no justified rest",
        _exchange("justified (caps w) (temp w - γ)"),
        "send_upd",
        "what is to come is justified",
    ),
    ProofMutant(
        "exchange, send_upd: <= in justified",
        _exchange(rest=_as_many_as_held),
        "send_upd",
        "what is to come is justified",
    ),
    ProofMutant(
        "exchange, send_upd: justified by rec",
        _exchange(rest=lambda c, _, M: justified(c.scope, c.rec, M)),
        "send_upd",
        "what is to come is justified",
    ),
    ProofMutant(
        "exchange, send_upd: γ may be empty",
        _exchange("γ ≠ {}"),
        "send_upd",
        harmless="an empty update changes no view",
    ),
    ProofMutant("exchange, recv_cap: not sent", _exchange("(w, p) ∈ data"), "recv_cap", "Safe for ever"),
    ProofMutant("exchange, recv_upd: newest first", _exchange(newest=True), "recv_upd", "what is to come is justified"),
    ProofMutant(
        "propagation, change_multiplicity: n may be 0",
        _propagation("n ≠ 0"),
        "change_multiplicity",
        harmless="a change by nothing leaves pts and its frontier as they are",
    ),
    ProofMutant(
        "propagation, change_multiplicity: any time",
        _propagation("some t' <= t in the frontier of imp l"),
        "change_multiplicity",
        "nothing enters from outside of what is expected",
    ),
    ProofMutant(
        "propagation, change_multiplicity: no filter",
        _propagation(filter_pts=False),
        "change_multiplicity",
        "imp + work adds up",
    ),
    ProofMutant(
        "propagation, propagate: not pending",
        _propagation("t ∈ work l"),
        "propagate",
        harmless="what is not pending has count 0, and adding 0 to imp changes no frontier",
    ),
    ProofMutant(
        "propagation, propagate: any time",
        _propagation("no smaller time in any worklist"),
        "propagate",
        "what could result in a propagated time is settled",
    ),
    ProofMutant(
        "propagation, propagate: any time, one order",
        _propagation("no smaller time in any worklist"),
        "propagate, one order",
        "what is smaller than a propagated time is settled",
    ),
    ProofMutant(
        "propagation, propagate: least of its location",
        _propagation(before=tlt),
        "propagate",
        "what could result in a propagated time is settled",
    ),
    ProofMutant("propagation, propagate: no filter", _propagation(filter_imp=False), "propagate", "imp + work adds up"),
    ProofMutant("tracker, recv_upd: no init", _tracker("init w'"), "recv_upd", "updates can be received"),
    ProofMutant(
        "tracker, propagate: one step", _tracker(to_the_end=False), "propagate", "what is believed is expected"
    ),
]
