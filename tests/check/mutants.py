"""Deliberately broken versions of the building blocks. Each is named after what is wrong with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from tidegate.check import BLOCKS
from tidegate.spec import (
    DT,
    WM,
    Event,
    Operator,
    batches,
    comp_op,
    flatten_op,
    incr_batch_op,
    join_list,
    join_op,
    map_op,
    produce,
    producible,
    union_op,
)
from tidegate.spec.histogram import S_paths
from tidegate.time import Inl, Inr, Nat, Product, Sum, maximal, minimal

PAIRS = Product(Nat(), Nat())
SIDES = Sum(PAIRS, PAIRS)
NAT = Nat()


@dataclass(frozen=True)
class Machine(Operator[Event, Any]):
    """An operator out of a state and two functions."""

    state: Any
    on: Callable[[Any, Event], tuple[Any, list[Any]]]
    end: Callable[[Any], list[Any]] = lambda _: []

    def apply(self, event: Event):
        state, out = self.on(self.state, event)
        return Machine(state, self.on, self.end), out

    def exit(self):
        return self.end(self.state)


MUTANTS: dict[str, tuple[str, Operator[Event, Any]]] = {}


def mutant(block: str, state: Any = ()):
    """Register a broken version of a building block, given by what it does on an event."""

    def register(on: Callable[..., Any]):
        end = getattr(on, "end", {"batch_op": end_of_batch}.get(block, lambda _: []))
        MUTANTS[on.__name__] = (block, Machine(state, on, end))
        return on

    return register


def ending(end: Callable[[Any], list[Any]]):
    def mark(on: Any) -> Any:
        on.end = end
        return on

    return mark


# batch_op


def end_of_batch(tds):
    return batches(PAIRS, maximal(PAIRS, [t for t, _ in tds]), tds)[0]


def batch(tds, event):
    if isinstance(event, DT):
        return (*tds, (event.t, event.d)), []
    out, rest = batches(PAIRS, [event.t], tds)
    return tuple(rest), [*(b for b in out if b.d), event]


@mutant("batch_op")
def batch_forwards_the_watermark_first(tds, event):
    tds, out = batch(tds, event)
    return tds, out[::-1]


@mutant("batch_op")
def batch_does_not_clear_its_buffer(tds, event):
    after, out = batch(tds, event)
    return (after if isinstance(event, DT) else tds), out


@mutant("batch_op")
def batch_completes_only_what_is_strictly_below(tds, event):
    if isinstance(event, DT):
        return batch(tds, event)
    done = [td for td in tds if PAIRS.lt(td[0], event.t)]
    return tuple(td for td in tds if td not in done), [*([DT(event.t, done)] if done else []), event]


@mutant("batch_op")
def batch_completes_what_is_incomparable_too(tds, event):
    if isinstance(event, DT):
        return batch(tds, event)
    done = [td for td in tds if not PAIRS.lt(event.t, td[0])]
    return tuple(td for td in tds if td not in done), [*([DT(event.t, done)] if done else []), event]


@mutant("batch_op")
@ending(lambda tds: [])
def batch_drops_its_exit(tds, event):
    return batch(tds, event)


@mutant("batch_op")
@ending(lambda tds: batches(PAIRS, minimal(PAIRS, [t for t, _ in tds]), tds)[0])
def batch_ends_with_the_minimal_antichain(tds, event):
    return batch(tds, event)


@mutant("batch_op")
@ending(lambda tds: batches(PAIRS, maximal(PAIRS, [t for t, _ in tds])[:1], tds)[0])
def batch_ends_with_one_maximal_time(tds, event):
    return batch(tds, event)


@mutant("batch_op")
def batch_forwards_no_watermark(tds, event):
    tds, out = batch(tds, event)
    return tds, [e for e in out if isinstance(e, DT)]


@mutant("batch_op")
def batch_keeps_a_set(tds, event):
    if isinstance(event, DT) and (event.t, event.d) in tds:
        return tds, []
    return batch(tds, event)


@mutant("batch_op")
def batch_forgets_what_is_not_complete(tds, event):
    after, out = batch(tds, event)
    return (after if isinstance(event, DT) else ()), out


# incr_op


@mutant("incr_op")
def incr_forgets_earlier_batches(abs, event):
    if isinstance(event, WM):
        return abs, [event]
    return (), [DT(t, list(event.d)) for t in dict.fromkeys(t for t, _ in event.d)]


@mutant("incr_op")
def incr_keeps_duplicates(abs, event):
    if isinstance(event, WM):
        return abs, [event]
    return (*abs, *event.d), [DT(t, [*abs, *event.d]) for t, _ in event.d]


@mutant("incr_op")
def incr_puts_out_the_time_of_the_batch(abs, event):
    if isinstance(event, WM):
        return abs, [event]
    return (*abs, *event.d), [DT(event.t, [*abs, *event.d])]


@mutant("incr_op")
def incr_leaves_the_new_batch_out(abs, event):
    if isinstance(event, WM):
        return abs, [event]
    return (*abs, *event.d), [DT(t, list(abs)) for t in dict.fromkeys(t for t, _ in event.d)]


@mutant("incr_op")
def incr_swallows_watermarks(abs, event):
    if isinstance(event, WM):
        return abs, []
    return (*abs, *event.d), [DT(t, [*abs, *event.d]) for t in dict.fromkeys(t for t, _ in event.d)]


# Histograms


def histogram(f):
    return comp_op(incr_batch_op(PAIRS), map_op(f))


def count(condition, t, xs):
    return Counter(d for u, d in xs if condition(u, t))


MUTANTS["histogram_counts_strictly_below"] = ("ihist_op", histogram(partial(count, PAIRS.lt)))
MUTANTS["histogram_counts_its_own_time_only"] = ("ihist_op", histogram(partial(count, lambda u, t: u == t)))
MUTANTS["histogram_counts_all_that_is_not_above"] = (
    "ihist_op",
    histogram(partial(count, lambda u, t: not PAIRS.lt(t, u))),
)
MUTANTS["histogram_counts_paths"] = ("ihist_op", histogram(partial(S_paths, PAIRS)))


def linear_end(state):
    return linear(state, WM(99))[1][:-1]


def linear(state, event):
    H, buf = state
    if isinstance(event, DT):
        return (H, (*buf, (event.t, event.d))), []
    out = [td for td in buf if td[0] <= event.t]
    Hs = [DT(t, H + Counter(d for u, d in out if u <= t)) for t in dict.fromkeys(t for t, _ in out)]
    return (H + Counter(d for _, d in out), tuple(td for td in buf if td not in out)), [*Hs, event]


@mutant("ihist_linear_op", (Counter(), ()))
@ending(linear_end)
def linear_forgets_the_last_histogram(state, event):
    (_, buf), out = linear(state, event)
    return (Counter(), buf), out


@mutant("ihist_linear_op", (Counter(), ()))
@ending(linear_end)
def linear_counts_the_whole_batch_for_each_time(state, event):
    after, out = linear(state, event)
    return after, [DT(e.t, after[0]) if isinstance(e, DT) else e for e in out]


# union_op and join_op


def union(state, event):
    wms, MA = state
    if isinstance(event, DT):
        return state, [DT(event.t.t, event.d)]
    MA = tuple(maximal(SIDES, [*MA, event.t]))
    wms = (event.t, *wms)
    prds = [w for w in wms if producible(PAIRS, w, MA)]
    return (tuple(w for w in wms if w not in prds), MA), [WM(w.t) for w in prds]


@mutant("union_op", ((), ()))
def union_forwards_watermarks_at_once(state, event):
    state, out = union(state, event)
    return state, [WM(event.t.t)] if isinstance(event, WM) else out


@mutant("union_op", ((), ()))
def union_forgets_watermarks_that_wait(state, event):
    (_, MA), out = union(state, event)
    return ((), MA), out


@mutant("union_op", ((), ()))
def union_keeps_the_minimal_antichain(state, event):
    (wms, MA), out = union(state, event)
    return (wms, tuple(minimal(SIDES, [*state[1], event.t])) if isinstance(event, WM) else MA), out


@mutant("union_op", ((), ()))
def union_takes_the_left_side_only(state, event):
    state, out = union(state, event)
    return state, [] if isinstance(event, DT) and isinstance(event.t, Inr) else out


@mutant("union_op", ((), ()))
def union_asks_the_same_side(state, event):
    wms, MA = state
    if isinstance(event, DT):
        return union(state, event)
    MA = tuple(maximal(SIDES, [*MA, event.t]))
    prds = [w for w in (event.t, *wms) if any(SIDES.le(w, m) for m in MA)]
    return (tuple(w for w in (event.t, *wms) if w not in prds), MA), [WM(w.t) for w in prds]


def joined(a, b):
    return None if a == b else a + b


def join_with(pairs):
    return comp_op(comp_op(incr_batch_op(SIDES), comp_op(map_op(pairs), flatten_op())), union_op(PAIRS))


def across_times(st, xs):
    lefts = [d for v, d in xs if isinstance(v, Inl)]
    rights = [d for v, d in xs if isinstance(v, Inr)]
    return [d for a in lefts for b in rights if (d := joined(a, b)) is not None]


MUTANTS["join_ignores_times"] = ("join_op", join_with(across_times))
MUTANTS["join_waits_for_the_left_side_only"] = (
    "join_op",
    join_with(lambda st, xs: join_list(joined, st, xs) if isinstance(st, Inl) else []),
)
MUTANTS["join_swaps_the_sides"] = ("join_op", join_op(PAIRS, lambda a, b: joined(b, a)))
MUTANTS["join_without_union"] = (
    "join_op",
    comp_op(
        comp_op(incr_batch_op(SIDES), comp_op(map_op(partial(join_list, joined)), flatten_op())),
        Machine((), lambda s, e: (s, [type(e)(e.t.t, e.d) if isinstance(e, DT) else WM(e.t.t)])),
    ),
)

# map_op and flatten_op


@mutant("map_op")
def map_drops_watermarks(state, event):
    return state, [DT(event.t, (event.t, event.d))] if isinstance(event, DT) else []


@mutant("flatten_op")
def flatten_takes_the_first_only(state, event):
    return state, [DT(event.t, event.d[0])] if isinstance(event, DT) else [event]


# Every block, holding everything back until the end: nothing is ever owed, and all that ends is complete.


def hold(buf, event):
    return (*buf, event), []


def release(op, buf):
    return list(produce(op, buf))


for name, block in BLOCKS.items():
    held = Machine((), hold, partial(release, block.build(block.order)))
    MUTANTS[f"{name}_holds_everything_until_the_end"] = (name, held)

MUTANTS["join_gives_each_pair_twice"] = (
    "join_op",
    comp_op(join_op(PAIRS, joined), Machine((), lambda s, e: (s, [e, e] if isinstance(e, DT) else [e]))),
)

assert all(block in BLOCKS for block, _ in MUTANTS.values())
