"""Property checks: generated orders and streams, and the four properties of an operator."""

from tidegate.extras import require

require("check", "tidegate.check")

from tidegate.check.blocks import BLOCKS, Block
from tidegate.check.operators import Finding, OperatorFails, Report, check_operator
from tidegate.check.orders import antichains, orders, posets, summaries, times, total_orders
from tidegate.check.streams import Inputs, batched, broken_streams, buffers, lassos, plain, streams, two_sided

__all__ = [
    "BLOCKS",
    "Block",
    "Finding",
    "Inputs",
    "OperatorFails",
    "Report",
    "antichains",
    "batched",
    "broken_streams",
    "buffers",
    "check_operator",
    "lassos",
    "orders",
    "plain",
    "posets",
    "streams",
    "summaries",
    "times",
    "total_orders",
    "two_sided",
]
