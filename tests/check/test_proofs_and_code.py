"""The models of the proofs and the protocols that run: the same guards, the same steps, the same statements."""

from __future__ import annotations

from functools import cache
from random import Random
from types import SimpleNamespace

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.check.concrete import World
from tests.drawing import quick_or_long
from tidegate.check import broken
from tidegate.check.proofs.clocks import clocks
from tidegate.check.proofs.exchange_claims import exchange
from tidegate.check.proofs.logic import Finite, sort
from tidegate.check.proofs.updates import function
from tidegate.progress import ClocksConf, ExchangeConf, Forbidden
from tidegate.time import Poset

WORKERS = ["w1", "w2"]
UNIVERSE = ["a", "b", "c"]
LONGEST = 2
SCOPE = Finite(W=2, P=3, I=LONGEST + 2)
# All shapes of an order on three elements.
SHAPES = [[], [("a", "b")], [("a", "b"), ("a", "c")], [("a", "c"), ("b", "c")], [("a", "b"), ("b", "c")]]


@cache
def formulas(build):
    """All that a proof says, written out once for the small scope."""
    system = build()
    c = system.begin(SCOPE)
    actions = {name: action(c) for name, action in system.actions.items()}
    states = {f"{inv.name}": inv.whole(c) for inv in system.invariants}
    states |= {claim.name: claim.whole(c) for claim in system.claims if not claim.action}
    steps = {
        name: {claim.name: claim.whole(c, act.then) for claim in system.claims if claim.action == name}
        | {inv.name: inv.whole(act.then) for inv in system.invariants}
        for name, act in actions.items()
    }
    return SimpleNamespace(system=system, start=c, actions=actions, states=states, steps=steps)


def suffixes(conf, w, v):
    """The sums of the updates from each position on, and of what is unsent."""
    sums = [conf.temp[w]]
    for M in reversed(conf.msg[w, v]):
        sums.insert(0, sums[0] + M)
    return sums


def described(world, conf):
    """Facts that say of a configuration all that the proofs speak of."""

    def tail(w, v, k, p):
        sums = suffixes(conf, w, v)
        return sums[k][p] if k < len(sums) else 0

    held = isinstance(conf, ExchangeConf)
    return [
        *world.order(conf.order.le),
        *world.facts(function("temp", "WP"), "WP", lambda w, p: conf.temp[w][p]),
        *world.facts(function("glob", "WP"), "WP", lambda w, p: conf.glob[w][p]),
        *world.facts(function("tail", "WWIP"), "WWIP", tail),
        *world.facts(function("first", "WW"), "WW", lambda w, v: 0),
        *world.facts(function("last", "WW"), "WW", lambda w, v: len(conf.msg[w, v])),
        *([] if held else world.facts(function("rec", "P"), "P", lambda p: conf.rec[p])),
        *(world.facts(function("caps", "WP"), "WP", lambda w, p: conf.caps[w][p]) if held else []),
        *(world.facts(function("data", "WP"), "WP", lambda w, p: conf.data[w, p]) if held else []),
    ]


def compare(model, then, conf):
    """Whether the configuration that the proof speaks of after a step is the one that the code made."""
    assert model.table(then.temp, "WP") == {(w, p): conf.temp[w][p] for w in WORKERS for p in UNIVERSE}
    assert model.table(then.glob, "WP") == {(w, p): conf.glob[w][p] for w in WORKERS for p in UNIVERSE}
    assert model.table(then.rec, "P") == {(p,): conf.rec[p] for p in UNIVERSE}
    assert model.table(then.info, "WP") == {(v, p): conf.info(v)[p] for v in WORKERS for p in UNIVERSE}
    if isinstance(conf, ExchangeConf):
        assert model.table(then.caps, "WP") == {(w, p): conf.caps[w][p] for w in WORKERS for p in UNIVERSE}
        assert model.table(then.data, "WP") == {(w, p): conf.data[w, p] for w in WORKERS for p in UNIVERSE}
    first, last, tail = model.table(then.first, "WW"), model.table(then.last, "WW"), model.table(then.tail, "WWIP")
    for w in WORKERS:
        for v in WORKERS:
            begin, end = first[w, v], last[w, v]
            assert end - begin == len(conf.msg[w, v])
            for k, M in enumerate(suffixes(conf, w, v)):
                assert {p: tail[w, v, begin + k, p] for p in UNIVERSE} == {p: M[p] for p in UNIVERSE}


def attempt(action, *arguments):
    """The next configuration, or None if a guard forbids the step."""
    try:
        return action(*arguments)
    except Forbidden:
        return None


def bag(random, least=0, most=2):
    return random.choices(UNIVERSE, k=random.randint(least, most))


def counts(world, name, bag):
    return world.facts(function(name, "P"), "P", bag.count)


def is_(constant, world, x, letter="W"):
    return [z3.Const(constant, sort(letter)) == world.name(letter, x)]


def above(random, conf, have, most=2):
    """Some pointstamps strictly above one of those that there are, or, sometimes, any."""
    allowed = [p for p in UNIVERSE if any(conf.order.lt(q, p) for q in have)]
    return random.choices(allowed, k=random.randrange(most + 1)) if allowed and random.random() < 0.8 else bag(random)


def drawn_step(random, world, conf):
    """An action with its arguments: its name, what the code makes of it, and the facts about its parameters.

    Mostly what can be done is drawn, and sometimes anything: a guard has to refuse it.
    """
    held = isinstance(conf, ExchangeConf)
    sane = random.random() < 0.8
    queues, unsent = [pair for pair, _ in conf.msg.items()], [w for w in WORKERS if len(conf.temp[w])]
    coming = list(conf.data) if held else []
    possible = ["perf_op", *["send_upd"] * 2 * bool(unsent), *["recv_upd"] * bool(queues), *["recv_cap"] * bool(coming)]
    name = random.choice(possible if sane else ["perf_op", "send_upd", "recv_upd", *["recv_cap"] * held])
    w, v = random.choice(queues) if sane and name == "recv_upd" else random.choices(WORKERS, k=2)
    if name == "perf_op":
        have = conf.caps[w] if held else conf.rec
        neg = random.sample(list(have), min(len(have), random.randrange(3))) if sane else bag(random)
        facts = [*is_("w", world, w), *counts(world, "neg", neg)]
        if not held:
            pos = above(random, conf, neg)
            return name, attempt(conf.perf_op, w, neg, pos), [*facts, *counts(world, "pos", pos)]
        own = random.choices(list(have), k=random.randrange(2)) if sane and len(have) else bag(random)
        if sane and random.random() < 0.5:
            # Move what is held to later, so that what was added is justified by little.
            neg, own = [p for p, n in have.items() for _ in range(n)], above(random, conf, have, most=1)
            facts = [*is_("w", world, w), *counts(world, "neg", neg)]
        data = [(random.choice(WORKERS), p) for p in above(random, conf, have)]
        facts += counts(world, "own", own)
        facts += world.facts(function("send", "WP"), "WP", lambda v, p: data.count((v, p)))
        return name, attempt(conf.perf_op, w, neg, data, own), facts
    if name == "send_upd":
        w = random.choice(unsent) if sane else w
        some = list(conf.temp[w]) if sane else UNIVERSE
        chosen = set(random.sample(some, random.randrange(len(some) + 1)))
        facts = world.facts(function("chosen", "P", "B"), "P", lambda p: p in chosen)
        return name, attempt(conf.send_upd, w, chosen), [*is_("w", world, w), *facts]
    if name == "recv_cap":
        w, p = random.choice(coming) if sane else (w, random.choice(UNIVERSE))
        return name, attempt(conf.recv_cap, w, p), [*is_("w", world, w), *is_("p", world, p, "P")]
    return name, attempt(conf.recv_upd, w, v), [*is_("w", world, w), *is_("v", world, v)]


def walk(random, build, conf, steps=10):
    """Try drawn steps, and compare each with the proof's action; return which of them were taken."""
    asked = formulas(build)
    world = World(SCOPE, W=WORKERS, P=UNIVERSE)
    taken = []
    for _ in range(steps):
        name, then, parameters = drawn_step(random, world, conf)
        model = world.given([*described(world, conf), *parameters])
        act = asked.actions[name]
        assert all(map(model.holds, act.parameters))
        forbidden = model.broken(act.guards)
        assert (then is None) == bool(forbidden), (name, forbidden, conf)
        if then is None or max((len(queue) for _, queue in then.msg.items()), default=0) > LONGEST:
            continue
        compare(model, act.then, then)
        assert model.broken(asked.states) == []
        assert model.broken(asked.steps[name]) == []
        conf = then
        taken.append(name)
    return taken


def drawn_order(random):
    return Poset(random.choice(SHAPES), elements=UNIVERSE)


def clocks_of(random, conf=ClocksConf):
    return conf.init(drawn_order(random), WORKERS, bag(random, least=1))


def exchange_of(random, conf=ExchangeConf):
    return conf.init(drawn_order(random), {w: bag(random, least=1) for w in WORKERS})


@pytest.mark.parametrize(("build", "start"), [(clocks, clocks_of), (exchange, exchange_of)])
def test_the_proofs_speak_of_the_protocols_that_run(build, start):
    """On drawn steps, guards allow the same, steps lead to the same, and every statement of the proof holds."""

    @given(st.randoms(use_true_random=False))
    @settings(max_examples=quick_or_long(6, 12))  # of ten steps each
    def check(random):
        walk(random, build, start(random))

    check()


def test_drawn_steps_are_of_every_kind():
    """Most of the steps that are compared change something, and each action is among them."""
    random = Random(0)
    for build, start, kinds in ((clocks, clocks_of, 3), (exchange, exchange_of, 4)):
        taken = [name for _ in range(8) for name in walk(random, build, start(random))]
        assert len(taken) > 20
        assert len(set(taken)) == kinds


@pytest.mark.slow
@pytest.mark.parametrize(
    ("build", "start", "conf"),
    [
        (clocks, clocks_of, broken.DropsWhatIsNotThere),
        (clocks, clocks_of, broken.AddsWithoutSupport),
        (clocks, clocks_of, broken.KeepsBackAnything),
        (clocks, clocks_of, broken.SendsNothing),
        (clocks, clocks_of, broken.TellsOthersOnly),
        (clocks, clocks_of, broken.ReceivesNewestFirst),
        (exchange, exchange_of, broken.OperatesWithoutEffect),
        (exchange, exchange_of, broken.DropsWhatItDoesNotHold),
        (exchange, exchange_of, broken.SendsAnything),
        (exchange, exchange_of, broken.SendsWhatItHolds),
        (exchange, exchange_of, broken.TakesAnything),
        (exchange, exchange_of, broken.KeepsBackWithoutReason),
        (exchange, exchange_of, broken.KeepsBackAsManyAsHeld),
        (exchange, exchange_of, broken.KeepsBackUnlessSupportedByOthers),
        (exchange, exchange_of, broken.ReceivesWhatWasNotSent),
        (exchange, exchange_of, broken.ExchangesNewestFirst),
    ],
)
def test_a_protocol_that_differs_from_its_proof_is_noticed(build, start, conf):
    """Code with one guard less, or with another effect, is told from the model of the proof."""
    random = Random(1)

    def runs():
        for _ in range(200):
            walk(random, build, start(random, conf), steps=20)

    with pytest.raises(AssertionError):
        runs()
