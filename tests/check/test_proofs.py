"""Proofs of the progress protocols: all is proved, every mutant is refuted, and nothing unknown is called proved."""

from __future__ import annotations

from pathlib import Path

import pytest
import z3

from tidegate.check.proofs import MUTANTS, SIZES, ProofQuery, Verdict, answer, queries
from tidegate.check.proofs.clocks import clocks
from tidegate.check.proofs.exchange import begin as exchange_begin
from tidegate.check.proofs.exchange_claims import exchange
from tidegate.check.proofs.graph import DST, LOC, SRC, STEP, flow_facts, flow_of, frontier, graph_axioms, leaves, tle
from tidegate.check.proofs.inductive import Premises, individuals
from tidegate.check.proofs.logic import Finite, Unbounded, closed, finite, le, lt, partial_order, sort, upright
from tidegate.check.proofs.propagation import propagation
from tidegate.check.proofs.query import Obligation, ProofStep
from tidegate.check.proofs.tracker import tracker
from tidegate.check.proofs.updates import function

SYSTEMS = [clocks, exchange, propagation, tracker]
M = function("M", "P")


def query(build, **more):
    return ProofQuery("test", "a statement", "as it is", build, (Finite(P=2),), **more)


@pytest.mark.parametrize("protocol", SIZES)
def test_everything_is_proved(protocol):
    """Each invariant holds at the beginning and is kept by each action, and all claims follow, for any size."""
    found = [answer(q) for q in queries(f"{protocol}:") if not q.possible]
    assert len(found) > 4
    assert [str(r) for r in found if r.verdict is not Verdict.PROVED or r.sizes] == []


@pytest.mark.slow
@pytest.mark.parametrize("protocol", [p for p in SIZES if p != "sums"])
def test_no_proof_is_about_nothing(protocol):
    """Invariants, guards and conditions can hold together: each action can happen, each claim has a case."""
    found = [answer(q) for q in queries(f"{protocol}:") if q.possible]
    assert found
    assert [str(r) for r in found if r.verdict is not Verdict.PROVED] == []


class Expanded:
    """Quantifiers written out over a few named individuals, but with all that an unbounded proof is given."""

    def __init__(self, **sizes):
        scope = Finite(**sizes)
        self.elements, self.all, self.some, self.distinct = scope.elements, scope.all, scope.some, scope.distinct

    def closed(self):
        """That what functions give is among the names."""
        ps, edges = self.elements["P"], self.elements["S"]
        places = [LOC(p) for p in ps] + [end(s) for end in (SRC, DST) for s in edges]
        moved = [STEP(p, s) for p in ps for s in edges]
        return [closed(self, "L", place) for place in places] + [closed(self, "P", p) for p in moved]


@pytest.mark.parametrize("protocol", SIZES)
def test_what_each_question_is_given_has_a_model(protocol):
    """Axioms, invariants, guards, lemmas and intermediate conclusions of each question do not exclude each other."""
    scope = Expanded(W=2, P=2, S=1, L=2)
    asked = [q for q in queries(f"{protocol}:") if not q.possible]
    for q in asked:
        ob = q.build(scope)
        solver = z3.Solver()
        solver.add(*ob.given, *ob.cover, *(step.conclusion for step in ob.steps), *scope.distinct(), *scope.closed())
        # Not only where nothing is comparable, and nothing leads anywhere.
        solver.add(scope.some("PP", lt), scope.some("PS", leaves))
        assert solver.check() == z3.sat, q.name


def round_a_loop(back):
    """A loop of two locations over the natural numbers, which adds ``back`` on the way back: all its pointstamps.

    A model of it is infinite, and exists: pairs of a location and a number. A cycle has no finite one.
    """
    everything, time = Unbounded(), function("time", "P", "Z")
    a, b = (z3.Const(x, sort("L")) for x in "ab")
    there, again = (z3.Const(x, sort("S")) for x in ("there", "again"))

    def moves(s, source, target, add):
        def along(p):
            then = STEP(p, s)
            return z3.Implies(LOC(p) == source, z3.And(LOC(then) == target, time(then) == time(p) + add))

        return [SRC(s) == source, DST(s) == target, everything.all("P", along)]

    def same_place(p, q):
        return LOC(p) == LOC(q)

    def leads(p, q):
        return time(p) + z3.If(z3.And(LOC(p) == b, LOC(q) == a), back, 0) <= time(q)

    return [
        a != b,
        there != again,
        everything.all("L", lambda l: z3.Or(l == a, l == b)),
        everything.all("S", lambda s: z3.Or(s == there, s == again)),
        everything.all("P", lambda p: time(p) >= 0),
        everything.all("PP", lambda p, q: z3.Implies(z3.And(same_place(p, q), time(p) == time(q)), p == q)),
        everything.all("PP", lambda p, q: tle(p, q) == z3.And(same_place(p, q), time(p) <= time(q))),
        everything.all("PP", lambda p, q: le(p, q) == leads(p, q)),
        *moves(there, a, b, 0),
        *moves(again, b, a, back),
    ]


def unproved(given, axioms):
    """Those of the axioms that do not follow."""
    found = []
    for axiom in axioms:
        solver = z3.Solver()
        solver.set("rlimit", 1_000_000)
        solver.add(*given, z3.Not(axiom))
        if solver.check() != z3.unsat:
            found.append(axiom)
    return found


def test_what_is_assumed_of_graphs_holds_of_a_loop():
    """The axioms of graphs are true of all pointstamps of a loop that adds one, so proofs are about cycles, too.

    If nothing is added on the way round, it is no partial order: both ends could result in each other.
    """
    axioms, false = graph_axioms(Unbounded()), z3.BoolVal(False)
    assert unproved(round_a_loop(1), [*axioms, false]) == [false]
    [antisymmetric] = unproved(round_a_loop(0), axioms)
    # The last ones are: reflexive, antisymmetric, transitive, and that times and edges are part of it.
    assert antisymmetric.eq(axioms[-4])


def test_a_step_of_propagation_can_pass_something_on():
    """Guards and invariants leave room for a step whose change of a frontier goes along an edge."""
    system = propagation()
    scope = system.scopes[0]
    c = system.begin(scope)
    for name in ("propagate", "propagate, one order"):
        act = system.actions[name](c)
        solver = z3.Solver()
        solver.add(*system.axioms(c), *system.assumed(c), *act.enabled(frozenset()), *scope.distinct())
        solver.add(scope.some("P", lambda p, act=act: act.then.flow(p) != c.flow(p)))
        assert solver.check() == z3.sat, name


@pytest.mark.parametrize("build", [clocks, exchange])
def test_sums_after_a_step_are_those_of_their_parts(build):
    """Where a proof says how a sum over all workers changes in a step, the sum written out changes so."""
    system, scope = build(), Expanded(W=3, P=2, S=1, L=2)

    def total(part):
        return z3.Sum([part(w) for w in scope.elements["W"]])

    def sums(state):
        """What stands for sums, and the sums."""
        found = [scope.all("WP", lambda v, p: state.info(v, p) == total(lambda w: state.to_come(w, v)(p)))]
        if build is exchange:
            found.append(scope.all("P", lambda p: state.rec(p) == total(lambda w: state.caps(w, p) + state.data(w, p))))
        return found

    c, send, sent = system.begin(scope), function("send", "WP"), function("sent", "P")
    for name, action in system.actions.items():
        act = action(c)
        solver = z3.Solver()
        given = [*sums(c), scope.all("P", lambda p: sent(p) == total(lambda w: send(w, p)))]
        workers = [closed(scope, "W", z3.Const(x, sort("W"))) for x in "wv"]
        solver.add(*given, *workers, *act.enabled(frozenset()), *scope.distinct())
        assert solver.check() == z3.sat, name
        solver.add(z3.Not(z3.And(*sums(act.then))))
        assert solver.check() == z3.unsat, name


@pytest.mark.parametrize("name", ["propagate", "propagate, one order"])
def test_the_flow_after_a_step_is_that_of_the_frontiers(name):
    """Where a proof says how a sum over all edges changes when something is propagated, it does."""
    scope, written_out = Expanded(P=3, S=2, L=2), Finite(P=3, S=2, L=2)
    c = propagation().begin(scope)
    act, passed = propagation().actions[name](c), function("passed", "P")
    before, after = frontier(scope, c.imp), frontier(scope, act.then.imp)
    old, new = flow_of(written_out, before), flow_of(written_out, after)
    change = flow_of(written_out, lambda p: after(p) - before(p))
    given = [
        scope.all("P", lambda p: z3.And(c.flow(p) == old(p), passed(p) == change(p))),
        closed(scope, "P", z3.Const("x", sort("P"))),
        *scope.closed(),
        *act.enabled(frozenset()),
    ]
    assert valid(scope, given, scope.all("P", lambda p: act.then.flow(p) == new(p)))
    assert not valid(scope, given, z3.BoolVal(False))


@pytest.mark.parametrize("mutant", MUTANTS, ids=[m.name for m in MUTANTS])
def test_each_mutant_is_refuted(mutant):
    """Without its guard a statement has a counterexample, with the step in words; or all is proved without it."""
    results = mutant.results()
    assert mutant.as_expected(results), [str(r) for r in results]
    assert bool(mutant.breaks) != bool(mutant.harmless)
    for result in results:
        steps = [line for line in result.counterexample if line.startswith("step:   ")]
        assert len(steps) == bool(mutant.breaks)


def test_every_guard_has_a_mutant():
    """Each guard of each action is left out or weakened by some mutant, but one without which nothing could be done."""
    guards = {
        (system().protocol, name, guard)
        for system in SYSTEMS
        for name, action in system().actions.items()
        for guard in action(system().begin(Unbounded())).guards
    }
    left_out = {
        (system.protocol, m.action, guard) for m in MUTANTS for system in [m.system()] for guard in system.without
    }
    # The guards of both kinds of propagation are the same but for what comes first.
    same = {("propagation", "propagate, one order", "t ∈ work l")}
    nothing_to_hear = {("clocks", "recv_upd", "msg w w' ≠ []"), ("exchange", "recv_upd", "msg w w' ≠ []")}
    assert guards - left_out == same | nothing_to_hear


@pytest.mark.parametrize("build", SYSTEMS)
def test_what_proofs_cite_holds_on_small_sizes(build):
    """Lemmas about sums and earlier claims, which a proof of a claim is given, follow where sums are written out."""
    system = build()
    scope = system.scopes[0]
    for claim in system.claims:
        c = system.begin(scope)
        xs, named = individuals(scope, claim.sorts)
        act = system.actions[claim.action](c) if claim.action else None
        states = (c, act.then) if act else (c,)
        order, condition = system.axioms(c), claim.if_(*states, *xs)
        invariants = {inv.name: inv.whole(c) for inv in system.invariants}
        proof = claim.proof(Premises(order, invariants, act.guards if act else {}, condition), *states, *xs)
        given = [*order, *invariants.values(), *named, condition, *(act.enabled(frozenset()) if act else ())]
        solver = z3.Solver()
        solver.add(*given, *scope.distinct(), z3.Not(z3.And(*proof.given)))
        assert not proof.given or solver.check() == z3.unsat, claim.name


def valid(scope, given, goal):
    solver = z3.Solver()
    solver.add(*given, *scope.distinct(), z3.Not(goal))
    return solver.check() == z3.unsat


def test_what_is_known_of_sums_is_true_of_them():
    """The facts that stand for a sum in an unbounded proof follow where the sum is written out."""
    scope = Finite(P=3, S=2, L=2)
    unit = frontier(scope, M)
    facts = flow_facts(scope, unit, flow_of(scope, unit))
    assert valid(scope, graph_axioms(scope), z3.And(*facts))
    small = Finite(W=3, P=1, I=3)
    c = exchange_begin(small)
    positive = small.all("WP", lambda w, p: z3.And(c.caps(w, p) >= 0, c.data(w, p) >= 0))
    parts = small.all("WP", lambda w, p: z3.And(c.caps(w, p) <= c.rec(p), c.data(w, p) <= c.rec(p), c.rec(p) >= 0))
    assert valid(small, [positive], parts)
    assert not valid(small, [], parts)


def test_finiteness_holds_where_all_is_finite():
    """What is assumed of finite multisets is true of every one over three pointstamps, in every order."""
    scope = Finite(P=3)
    assert valid(scope, partial_order(scope), finite(scope, M))


def test_a_false_statement_is_refuted_with_a_model():
    """What does not follow has a counterexample over named individuals, and the answer says of how many."""
    found = answer(query(lambda s: Obligation(partial_order(s), upright(s, M), show=lambda m: ["here"])))
    assert (found.verdict, found.counterexample) == (Verdict.REFUTED, ("here",))
    assert str(found) == "test: a statement, as it is: refuted (with 2 pointstamps)\n  here"


def test_a_true_statement_is_proved():
    """What follows is proved, whatever is looked for first."""
    true = query(lambda s: Obligation(partial_order(s), s.all("P", lambda p: le(p, p))))
    assert answer(true).verdict is answer(true, suspicious=True).verdict is Verdict.PROVED


def test_what_is_true_on_small_sizes_only_is_not_called_proved():
    """That there are at most two pointstamps has no counterexample with two of them; the answer is not a proof."""
    few = query(lambda s: Obligation([], s.all("PPP", lambda a, b, c: z3.Or(a == b, b == c, a == c))))
    assert answer(few).verdict is Verdict.UNKNOWN


def test_what_takes_too_long_is_unknown():
    """A solver that is stopped says neither proved nor refuted, and neither does one that finds no example."""
    [hard] = queries("exchange: what is to come is justified, kept by perf_op")
    assert answer(hard, steps=1000).verdict is Verdict.UNKNOWN
    nothing = query(lambda s: Obligation([z3.BoolVal(False)], z3.BoolVal(True)), possible=True)
    assert answer(nothing).verdict is Verdict.UNKNOWN


def test_a_case_that_is_left_out_is_noticed():
    """A proof by cases is one only if there are no others."""
    n = z3.Int("n")

    def by_cases(*cases):
        return query(lambda _: Obligation([n >= 1, n <= 3], n > 0, cases=[n == i for i in cases]))

    assert answer(by_cases(1, 2)).verdict is Verdict.UNKNOWN
    assert answer(by_cases(1, 2, 3)).verdict is Verdict.PROVED


def test_a_step_may_use_only_what_is_known():
    """An intermediate conclusion that is drawn from nothing is a mistake, not a proof."""
    wish = z3.Bool("wish")
    with pytest.raises(ValueError, match="to use what is given or shown, got wish"):
        answer(query(lambda s: Obligation([], wish, steps=[ProofStep([wish], wish)])))


def test_answers_are_the_same_every_time():
    """Two runs give the same counterexample: the solver has fixed seeds, and is stopped by its own steps."""
    mutant = next(m for m in MUTANTS if m.name == "clocks, send_upd: no upright rest")
    assert [r.counterexample for r in mutant.results()] == [r.counterexample for r in mutant.results()]


def test_smaller_times_first_is_not_needed_for_safety():
    """Without that guard, everything else about propagating is proved: it serves the end of propagation."""
    guard = frozenset({"no smaller time in any worklist"})
    found = {q.statement: answer(q).verdict for q in propagation(without=guard).queries(only="propagate")}
    settled = "what could result in a propagated time is settled"
    assert found.pop(settled) is Verdict.REFUTED
    assert set(found.values()) == {Verdict.PROVED}


def test_mutants_are_documented():
    """The table of mutants in the documentation is that of the code."""
    page = (Path(__file__).parents[2] / "docs" / "progress.md").read_text(encoding="utf-8")
    for mutant in MUTANTS:
        assert f"| {mutant.name} | {mutant.breaks or f'nothing: {mutant.harmless}'} |\n" in page


def test_the_documentation_counts_the_questions():
    """The page says how many questions are proofs for any size, and how many are examples of stated sizes."""
    page = (Path(__file__).parents[2] / "docs" / "progress.md").read_text(encoding="utf-8")
    examples = sum(query.possible for query in queries())
    assert f"These are {len(list(queries())) - examples} questions to the solver" in page
    assert f"Another {examples} questions ask whether what is assumed *can happen*" in page
