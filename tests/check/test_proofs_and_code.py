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
from tidegate.check import broken
from tidegate.check.proofs.clocks import clocks
from tidegate.check.proofs.exchange_claims import exchange
from tidegate.check.proofs.logic import Finite, sort
from tidegate.check.proofs.updates import function
from tidegate.progress import ClocksConf, ExchangeConf, Forbidden
from tidegate.time import Poset

WORKERS = ["w1", "w2"]
UNIVERSE = ["a", "b", "c"]
LONGEST = 3
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


def bag(random, most=2):
    return random.choices(UNIVERSE, k=random.randrange(most + 1))


def counts(world, name, bag):
    return world.facts(function(name, "P"), "P", bag.count)


def is_(constant, world, x, letter="W"):
    return [z3.Const(constant, sort(letter)) == world.name(letter, x)]


def drawn_step(random, world, conf):
    """An action with its arguments: its name, what the code makes of it, and the facts about its parameters."""
    held = isinstance(conf, ExchangeConf)
    queues = [pair for pair, _ in conf.msg.items()]
    name = random.choice(["perf_op", "perf_op", "send_upd", "recv_upd", *(["recv_cap"] if held else [])])
    # Mostly what can be done, sometimes anything: a guard has to refuse it.
    w, v = random.choice(queues) if queues and random.random() < 0.8 else random.choices(WORKERS, k=2)
    if name == "send_upd":
        w = max(WORKERS, key=lambda w: (len(conf.temp[w]), random.random()))
    acting = is_("w", world, w)
    if name == "perf_op":
        have = conf.caps[w] if held else conf.rec
        neg = random.sample(list(have), min(len(have), random.randrange(3))) if random.random() < 0.8 else bag(random)
    if name == "perf_op" and held:
        own, data = bag(random), [(random.choice(WORKERS), p) for p in bag(random)]
        facts = [*counts(world, "neg", neg), *counts(world, "own", own)]
        facts += world.facts(function("send", "WP"), "WP", lambda v, p: data.count((v, p)))
        return name, attempt(conf.perf_op, w, neg, data, own), [*acting, *facts]
    if name == "perf_op":
        pos = bag(random)
        facts = [*counts(world, "neg", neg), *counts(world, "pos", pos)]
        return name, attempt(conf.perf_op, w, neg, pos), [*acting, *facts]
    if name == "send_upd":
        chosen = set(random.sample(UNIVERSE, random.randrange(4)))
        facts = world.facts(function("chosen", "P", "B"), "P", lambda p: p in chosen)
        return name, attempt(conf.send_upd, w, chosen), [*acting, *facts]
    if name == "recv_cap":
        coming = [entry for entry, _ in conf.data.items()]
        w, p = random.choice(coming) if coming and random.random() < 0.8 else (w, random.choice(UNIVERSE))
        return name, attempt(conf.recv_cap, w, p), [*is_("w", world, w), *is_("p", world, p, "P")]
    return name, attempt(conf.recv_upd, w, v), [*acting, *is_("v", world, v)]


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
    return conf.init(drawn_order(random), WORKERS, bag(random))


def exchange_of(random, conf=ExchangeConf):
    return conf.init(drawn_order(random), {w: bag(random) for w in WORKERS})


@pytest.mark.parametrize(("build", "start"), [(clocks, clocks_of), (exchange, exchange_of)])
def test_the_proofs_speak_of_the_protocols_that_run(build, start):
    """On drawn steps, guards allow the same, steps lead to the same, and every statement of the proof holds."""

    @given(st.randoms(use_true_random=False))
    @settings(max_examples=15)
    def check(random):
        walk(random, build, start(random))

    check()


def test_drawn_steps_are_of_every_kind():
    """Most of the steps that are compared change something, and each action is among them."""
    random = Random(0)
    for build, start, kinds in ((clocks, clocks_of, 3), (exchange, exchange_of, 4)):
        taken = [name for _ in range(8) for name in walk(random, build, start(random))]
        assert len(taken) > 25
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
    with pytest.raises(AssertionError):
        for _ in range(200):
            walk(random, build, start(random, conf), steps=20)
