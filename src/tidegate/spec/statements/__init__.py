"""The papers' statements, each a function that returns nothing or a counterexample.

>>> from tidegate.spec import DT, WM
>>> from tidegate.time import Nat
>>> s22(Nat(), [DT(1, "a"), WM(1), DT(2, "a")], [])
>>> print(s16.without_assumptions(Nat(), [WM(2), DT(5, [(1, "x")])], [], []))
(16) incr_op keeps monotone streams so fails: the output is not monotone
  order = Nat()
  events = [WM(2), DT(5, [(1, 'x')])]
  W = []
  abs = []
  outputs = [WM(2), DT(1, [(1, 'x')])]
"""

from tidegate.spec.statements.batch import s10, s11, s12, s13
from tidegate.spec.statements.core import comp_op_keeps_monotone, comp_op_keeps_productive, s5, s6, s7
from tidegate.spec.statements.histogram import (
    ihist_op_keeps_monotone,
    ihist_op_keeps_productive,
    ihist_paths_op_counts_paths,
    s22,
    s23,
    s24,
    s26,
    s27,
)
from tidegate.spec.statements.incr import s14, s15, s16, s17
from tidegate.spec.statements.incr_batch import s18, s19, s20, s21
from tidegate.spec.statements.join import (
    flatten_op_keeps_monotone,
    flatten_op_keeps_productive,
    join_op_gives_each_pair_once,
    map_op_keeps_monotone,
    map_op_keeps_productive,
    s28,
    s29,
    s30,
    s31,
    union_op_complete,
    union_op_keeps_monotone,
    union_op_keeps_productive,
    union_op_sound,
)
from tidegate.spec.statements.slides import slides1, slides2, slides3, slides4
from tidegate.spec.statements.statement import Counterexample, Statement

__all__ = [
    "Counterexample",
    "Statement",
    "comp_op_keeps_monotone",
    "comp_op_keeps_productive",
    "flatten_op_keeps_monotone",
    "flatten_op_keeps_productive",
    "ihist_op_keeps_monotone",
    "ihist_op_keeps_productive",
    "ihist_paths_op_counts_paths",
    "join_op_gives_each_pair_once",
    "map_op_keeps_monotone",
    "map_op_keeps_productive",
    "s5",
    "s6",
    "s7",
    "s10",
    "s11",
    "s12",
    "s13",
    "s14",
    "s15",
    "s16",
    "s17",
    "s18",
    "s19",
    "s20",
    "s21",
    "s22",
    "s23",
    "s24",
    "s26",
    "s27",
    "s28",
    "s29",
    "s30",
    "s31",
    "slides1",
    "slides2",
    "slides3",
    "slides4",
    "union_op_complete",
    "union_op_keeps_monotone",
    "union_op_keeps_productive",
    "union_op_sound",
]
