"""Time: orders, which may be partial, antichains, frontiers, signed multisets and summaries.

>>> order = Product(Nat(), Nat())
>>> maximal(order, [(1, 2), (2, 1), (1, 1)])
[(1, 2), (2, 1)]
"""

from tidegate.time.antichain import Antichain, complete_times, frontier_times
from tidegate.time.frontier import Frontier
from tidegate.time.order import BOTTOM, TOP, Bound, NoSuchTime, NotATime, Order, maximal, minimal
from tidegate.time.poset import CyclicOrder, Poset
from tidegate.time.product import Lexicographic, Product
from tidegate.time.sum import Inl, Inr, Sum
from tidegate.time.summary import Summaries
from tidegate.time.total import EventTime, Int, Nat
from tidegate.time.zmultiset import ZMultiset

__all__ = [
    "BOTTOM",
    "TOP",
    "Antichain",
    "Bound",
    "CyclicOrder",
    "EventTime",
    "Frontier",
    "Inl",
    "Inr",
    "Int",
    "Lexicographic",
    "Nat",
    "NoSuchTime",
    "NotATime",
    "Order",
    "Poset",
    "Product",
    "Sum",
    "Summaries",
    "ZMultiset",
    "complete_times",
    "frontier_times",
    "maximal",
    "minimal",
]
