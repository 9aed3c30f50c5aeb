"""The models that ``tidegate verify progress`` explores: small, but with everything that the protocols can do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.check.explore import Always, Model, Relates
from tidegate.check.protocols import ClocksModel, ExchangeModel, PropagationModel, TrackerModel
from tidegate.check.statements import CLOCKS, EXCHANGE, PROPAGATION, TRACKER, bounded_times
from tidegate.progress import (
    ClocksConf,
    Enter,
    ExchangeConf,
    Graph,
    Leave,
    PropagationConf,
    TrackerConf,
)
from tidegate.time import Nat, Order, Poset, Product

__all__ = ["MODELS", "NamedModel"]

PAIR = Product(Nat(), Nat())
DIAMOND = Poset([("t0", "t1"), ("t0", "t2"), ("t1", "t3"), ("t2", "t3")])


@dataclass(frozen=True)
class NamedModel:
    """A model to explore, with a name and the properties that must hold; ``large`` ones take more than some seconds."""

    name: str
    model: Callable[[], Model[Any]]
    properties: Sequence[Always[Any] | Relates[Any]]
    large: bool = False


def chain_graph() -> Graph:
    """Build two locations in a row."""
    return Graph(Nat(), {("a", "b"): 0})


def loop_graph() -> Graph:
    """Build a loop that adds one."""
    return Graph(Nat(), {("a", "b"): 0, ("b", "a"): 1})


def parallel_graph() -> Graph:
    """Build a loop with two incomparable summaries along one edge, and a way out."""
    return Graph(PAIR, {("a", "b"): [(0, 1), (1, 0)], ("b", "a"): (0, 1), ("b", "c"): (0, 0)})


def nested_graph() -> Graph:
    """Build a loop inside a scope, and a loop around the scope."""
    orders: dict[str, Order[Any]] = {"in": Nat(), "head": PAIR, "tail": PAIR, "out": Nat()}
    inside: dict[tuple[str, str], Any] = {
        ("in", "head"): Enter,
        ("head", "tail"): (0, 0),
        ("tail", "head"): (0, 1),
        ("tail", "out"): Leave,
    }
    return Graph(orders, {**inside, ("out", "in"): 1})


def clocks_model(order: Any, workers: int, rec: Sequence[Any], universe: Sequence[Any], **bounds: int) -> ClocksModel:
    """Build a model of the clocks protocol."""
    return ClocksModel(ClocksConf.init(order, _workers(workers), rec), universe, **bounds)


def exchange_model(order: Any, caps: Sequence[Sequence[Any]], universe: Sequence[Any], **bounds: int) -> ExchangeModel:
    """Build a model of the exchange protocol; ``caps`` is what each worker holds."""
    held = dict(zip(_workers(len(caps)), caps, strict=True))
    return ExchangeModel(ExchangeConf.init(order, held), universe, **bounds)


def propagation_model(
    graph: Graph, pts: dict[Any, dict[Any, int]], universe: Sequence[Any], changes: int
) -> PropagationModel:
    """Build a model of local propagation."""
    return PropagationModel(PropagationConf.init(graph, pts), universe, changes)


def tracker_model(graph: Graph, caps: Sequence[Sequence[Any]], universe: Sequence[Any], **bounds: int) -> TrackerModel:
    """Build a model of the combined tracker; ``caps`` is what each worker holds."""
    held = dict(zip(_workers(len(caps)), caps, strict=True))
    return TrackerModel(TrackerConf.start(graph, held), universe, **bounds)


def _workers(n: int) -> list[str]:
    return [f"w{i + 1}" for i in range(n)]


_AB = [("a", 0), ("b", 0), ("a", 1), ("b", 1)]
_PAIRS = [(l, t) for l in "ab" for t in ((0, 0), (0, 1), (1, 0))]
_NESTED = [("in", 0), ("in", 1), ("head", (0, 1)), ("tail", (0, 0)), ("out", 0)]

MODELS: list[NamedModel] = [
    NamedModel("clocks: 2 workers, 3 times", lambda: clocks_model(Nat(), 2, [0], [0, 1, 2], operations=3), CLOCKS),
    NamedModel("clocks: 3 workers, 2 times", lambda: clocks_model(Nat(), 3, [0, 0], [0, 1], operations=2), CLOCKS),
    NamedModel(
        "clocks: 2 workers, splits", lambda: clocks_model(Nat(), 2, [0, 0], [0, 1], operations=2, pos=2), CLOCKS
    ),
    NamedModel(
        "clocks: 2 workers, diamond", lambda: clocks_model(DIAMOND, 2, ["t0"], DIAMOND.elements, operations=2), CLOCKS
    ),
    NamedModel(
        "clocks: 2 workers, diamond, splits",
        lambda: clocks_model(DIAMOND, 2, ["t0"], DIAMOND.elements, operations=2, pos=2),
        CLOCKS,
        large=True,
    ),
    NamedModel("exchange: 2 workers", lambda: exchange_model(Nat(), [[0], []], [0, 1], operations=2), EXCHANGE),
    NamedModel(
        "exchange: 3 workers", lambda: exchange_model(Nat(), [[0], [], []], [0, 1], operations=2, own=0), EXCHANGE
    ),
    NamedModel(
        "exchange: 3 operations", lambda: exchange_model(Nat(), [[0], []], [0, 1], operations=3, own=0), EXCHANGE
    ),
    NamedModel(
        "exchange: 2 workers, fork",
        lambda: exchange_model(DIAMOND, [["t0"], []], ["t0", "t1", "t2"], operations=2, own=0),
        EXCHANGE,
    ),
    NamedModel(
        "exchange: 2 workers, diamond",
        lambda: exchange_model(DIAMOND, [["t0"], []], DIAMOND.elements, operations=2, own=0),
        EXCHANGE,
        large=True,
    ),
    NamedModel(
        "exchange: both hold", lambda: exchange_model(Nat(), [[0], [0]], [0, 1], operations=2), EXCHANGE, large=True
    ),
    NamedModel(
        "propagation: loop",
        lambda: propagation_model(loop_graph(), {"a": {0: 1}}, _AB, 4),
        [*PROPAGATION, bounded_times(5)],
    ),
    NamedModel(
        "propagation: parallel summaries",
        lambda: propagation_model(parallel_graph(), {"a": {(0, 0): 1}}, _PAIRS, 2),
        [*PROPAGATION, bounded_times((5, 5))],
    ),
    NamedModel(
        "propagation: parallel summaries, 3 changes",
        lambda: propagation_model(parallel_graph(), {"a": {(0, 0): 1}}, _PAIRS, 3),
        [*PROPAGATION, bounded_times((5, 5))],
        large=True,
    ),
    NamedModel(
        "propagation: nested loops", lambda: propagation_model(nested_graph(), {"in": {0: 1}}, _NESTED, 3), PROPAGATION
    ),
    NamedModel(
        "tracker: chain",
        lambda: tracker_model(chain_graph(), [[("a", 0)], []], [("a", 0), ("b", 0)], operations=2, own=0),
        TRACKER,
    ),
    NamedModel(
        "tracker: loop",
        lambda: tracker_model(loop_graph(), [[("a", 0)], []], [("a", 0), ("b", 0), ("a", 1)], operations=1),
        TRACKER,
    ),
    NamedModel(
        "tracker: chain, 3 workers",
        lambda: tracker_model(chain_graph(), [[("a", 0)], [], []], [("a", 0), ("b", 0)], operations=1, own=0),
        TRACKER,
    ),
    NamedModel(
        "tracker: loop, 2 operations",
        lambda: tracker_model(loop_graph(), [[("a", 0)], []], [("a", 0), ("b", 0), ("a", 1)], operations=2, own=0),
        TRACKER,
        large=True,
    ),
    NamedModel(
        "tracker: chain, both hold",
        lambda: tracker_model(chain_graph(), [[("a", 0)], [("a", 0)]], [("a", 0), ("b", 0)], operations=2, own=0),
        TRACKER,
        large=True,
    ),
    NamedModel(
        "tracker: nested loops",
        lambda: tracker_model(
            nested_graph(), [[("in", 0)], []], [("in", 0), ("tail", (0, 1)), ("out", 0)], operations=1
        ),
        TRACKER,
    ),
]
