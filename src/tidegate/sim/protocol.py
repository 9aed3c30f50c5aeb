"""The progress protocol of the simulated workers: fast, with the tracker of the engines on each of them."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from tidegate.progress import Graph, Location, Pointstamp, Progress, Reason
from tidegate.progress.pointstamp import CouldResultIn
from tidegate.progress.support import justified
from tidegate.time import Antichain, ZMultiset

__all__ = ["SimulatedProtocol"]


class SimulatedProtocol:
    """The combined tracker of Figure 7, with `Progress` in the place of local propagation.

    The actions are those of `Tracker`, without its guards: operators use capabilities, which are checked when they are
    used, and the simulation performs only what is enabled.
    """

    def __init__(self, graph: Graph, capabilities: Mapping[int, Iterable[Pointstamp]]) -> None:
        self.graph = graph
        self.order = CouldResultIn(graph)
        self.workers = tuple(capabilities)
        self.caps: dict[int, Counter[Pointstamp]] = {w: Counter(held) for w, held in capabilities.items()}
        #: Per worker: changes that it has not sent yet.
        self.temp: dict[int, dict[Pointstamp, int]] = {w: {} for w in self.workers}
        #: Per (sender, receiver): progress updates on their way, oldest first.
        self.updates: dict[tuple[int, int], deque[dict[Pointstamp, int]]] = {
            (v, w): deque() for v in self.workers for w in self.workers
        }
        self.views = {w: Progress(graph, signed=True) for w in self.workers}
        # The updates that a worker has received and not propagated; in the beginning, those of all capabilities.
        everything = [(l, t, n) for held in self.caps.values() for (l, t), n in held.items()]
        self.unpropagated: dict[int, list[tuple[Location, Any, int]]] = {w: list(everything) for w in self.workers}
        self.initialized: set[int] = set()

    def recv_cap(self, w: int, p: Pointstamp) -> None:
        """Let ``w`` receive a capability for ``p`` that was sent to it."""
        self.caps[w][p] += 1

    def perf_op(
        self,
        w: int,
        neg: Mapping[Pointstamp, int],
        data: Iterable[tuple[int, Pointstamp]],
        self_: Mapping[Pointstamp, int],
    ) -> None:
        """Let ``w`` drop the capabilities ``neg``, send those in ``data`` to others and take ``self_`` for itself."""
        temp, caps = self.temp[w], self.caps[w]
        changes = [(p, -n) for p, n in neg.items()] + list(self_.items())
        for p, n in changes:
            caps[p] += n
            if not caps[p]:
                del caps[p]
        for p, n in changes + [(p, 1) for _, p in data]:
            temp[p] = temp.get(p, 0) + n
            if not temp[p]:
                del temp[p]

    def may_send(self, w: int, P: Collection[Pointstamp]) -> bool:
        """Whether ``w`` may send its changes to the pointstamps in ``P`` and keep the others back."""
        rest = ZMultiset({p: n for p, n in self.temp[w].items() if p not in P})
        return len(rest) < len(self.temp[w]) and justified(self.order, ZMultiset(self.caps[w]), rest)

    def send_upd(self, w: int, P: Collection[Pointstamp]) -> None:
        """Let ``w`` send its changes to the pointstamps in ``P`` to all workers, itself included."""
        temp = self.temp[w]
        update = {p: temp.pop(p) for p in list(temp) if p in P}
        for v in self.workers:
            self.updates[w, v].append(update)

    def recv_upd(self, w: int, v: int) -> None:
        """Let the worker ``v`` receive the oldest update from ``w``."""
        update = self.updates[w, v].popleft()
        self.unpropagated[v] += [(l, t, n) for (l, t), n in update.items()]

    def propagate(self, w: int) -> None:
        """Let ``w`` bring its frontiers up to date."""
        received, self.unpropagated[w] = self.unpropagated[w], []
        self.views[w].update(received)
        self.initialized.add(w)

    def frontier(self, w: int, l: Location) -> Antichain[Any]:
        """Return the least times that ``w`` still expects at ``l``."""
        return self.views[w].frontier(l)

    def why(self, w: int, l: Location, t: Any) -> list[Reason]:
        """Return what, as far as ``w`` knows, could still reach ``l`` at ``t`` or below."""
        return self.views[w].why(l, t)
