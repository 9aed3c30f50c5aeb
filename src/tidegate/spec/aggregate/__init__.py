"""One Aggregate for everything: Map, Filter, Join and unbounded state as compositions of a single windowed operator.

>>> from tidegate.spec import DT, WM, produce
>>> from tidegate.time import Nat
>>> words = [DT(0, "a b"), DT(0, ""), DT(1, "c"), WM(0), WM(1)]
>>> split = lambda t, d: d.split()
>>> dedicated, composed = M(split), composed_M(Nat(), split, using="A", d=2)
>>> sorted(e.d for e in produce(composed, words) if isinstance(e, DT))
['a', 'b', 'c']
"""

from tidegate.spec.aggregate.aggregate import A, A_plus, Aggregate
from tidegate.spec.aggregate.composed import composed_F, composed_J, composed_M
from tidegate.spec.aggregate.dedicated import F, J, M
from tidegate.spec.aggregate.definitions import groups, processed, succ, trig, watermark
from tidegate.spec.aggregate.embed import Embedded, embed_join, embed_map, unit
from tidegate.spec.aggregate.infinity import A_infinity, Folding, composed_infinity
from tidegate.spec.aggregate.loop import Loop, loop_op
from tidegate.spec.aggregate.merge import both_op, merge_op, on_stream, sides_op, stream_of, sum_of
from tidegate.spec.aggregate.ticks import Ticks
from tidegate.spec.aggregate.unfold import unfold, unfold_loop
from tidegate.spec.aggregate.watermarks import NotBounded, c1_op, c2_op, c3_op
from tidegate.spec.aggregate.window import Window, WindowInstance, no_key, whole

__all__ = [
    "A",
    "A_infinity",
    "A_plus",
    "Aggregate",
    "Embedded",
    "F",
    "Folding",
    "J",
    "Loop",
    "M",
    "NotBounded",
    "Ticks",
    "Window",
    "WindowInstance",
    "both_op",
    "c1_op",
    "c2_op",
    "c3_op",
    "composed_F",
    "composed_J",
    "composed_M",
    "composed_infinity",
    "embed_join",
    "embed_map",
    "groups",
    "loop_op",
    "merge_op",
    "no_key",
    "on_stream",
    "processed",
    "sides_op",
    "stream_of",
    "succ",
    "sum_of",
    "trig",
    "unfold",
    "unfold_loop",
    "unit",
    "watermark",
    "whole",
]
