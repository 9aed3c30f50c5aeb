"""The executable specification: events, operators as state machines, and the properties that make them correct.

>>> from tidegate.time import Nat
>>> stream = [DT(0, "a"), DT(1, "b"), WM(0), DT(2, "a"), WM(2)]
>>> list(produce(ihist_op(Nat()), stream))[-2:]
[DT(2, Counter({'a': 2, 'b': 1})), WM(2)]
"""

from tidegate.spec.basic import bulk_op, comp_op, count_op, flatten_op, map_op, skip_op
from tidegate.spec.batching import batch_op, batches, incr_batch_op, incr_op
from tidegate.spec.collections import (
    DTs,
    S_lcoll,
    WMs,
    acc_batches,
    batch_ts,
    coll,
    incompletes,
    lcoll,
    ltake_DT,
    map_filter,
    set_t,
    ts,
    ws,
    ws2,
)
from tidegate.spec.equivalence import eq_op
from tidegate.spec.events import DT, WM, Event, NotAnEvent
from tidegate.spec.histogram import S_coll, S_paths, ihist_linear_op, ihist_op, ihist_paths_op
from tidegate.spec.join import join_list, join_op, producible, union_op
from tidegate.spec.operator import Ended, Operator, Produced, Undecided, fproduce, produce, produce1
from tidegate.spec.properties import (
    Monitor,
    NotMonotone,
    is_monotone,
    is_productive,
    is_strictly_monotone,
    monitored,
    owed,
)
from tidegate.spec.streams import Lasso

__all__ = [
    "DT",
    "WM",
    "DTs",
    "Ended",
    "Event",
    "Lasso",
    "Monitor",
    "NotAnEvent",
    "NotMonotone",
    "Operator",
    "Produced",
    "S_coll",
    "S_lcoll",
    "S_paths",
    "Undecided",
    "WMs",
    "acc_batches",
    "batch_op",
    "batch_ts",
    "batches",
    "bulk_op",
    "coll",
    "comp_op",
    "count_op",
    "eq_op",
    "flatten_op",
    "fproduce",
    "ihist_linear_op",
    "ihist_op",
    "ihist_paths_op",
    "incompletes",
    "incr_batch_op",
    "incr_op",
    "is_monotone",
    "is_productive",
    "is_strictly_monotone",
    "join_list",
    "join_op",
    "lcoll",
    "ltake_DT",
    "map_filter",
    "map_op",
    "monitored",
    "owed",
    "produce",
    "produce1",
    "producible",
    "set_t",
    "skip_op",
    "ts",
    "union_op",
    "ws",
    "ws2",
]
