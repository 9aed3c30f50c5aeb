"""The Aggregate: `A` gives at most one tuple per window instance, `A_plus` any number."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from tidegate.errors import BadValue, WrongType
from tidegate.spec.aggregate.ticks import Tick, Ticks
from tidegate.spec.aggregate.window import Window, WindowInstance
from tidegate.spec.events import DT, WM, Event, check_event
from tidegate.spec.operator import Operator
from tidegate.time import Order

__all__ = ["A", "A_plus", "Aggregate", "check_key"]

#: f_O: the answer of an instance, as a list of data.
Answer: TypeAlias = Callable[[WindowInstance], list[Any]]
Place: TypeAlias = tuple[int, Hashable]


def check_key(key: Any, event: DT[Any, Any]) -> Hashable:
    """Return the key, or raise `WrongType`."""
    try:
        hash(key)
    except TypeError:
        raise WrongType(
            f"expected a key that can be hashed, got {key!r} ({type(key).__name__})",
            hint="turn lists into tuples and dicts into tuples of their items, in the data or in the key function",
        ).at(f"key of {event!r}") from None
    return key  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Aggregate(Operator[Event, Event]):
    """The state of an Aggregate: its watermark ``W``, its instances, and the data that came too late."""

    ticks: Ticks
    window: Window
    f: Answer
    most: Tick
    W: Tick = -math.inf
    instances: dict[Place, tuple[tuple[Any, Any], ...]] = field(default_factory=dict)
    discarded: tuple[DT[Any, Any], ...] = ()

    def apply(self, event: Event) -> tuple[Aggregate, list[Event]]:
        check_event(self.ticks.order, event)
        return self._advance(event) if isinstance(event, WM) else self._add(event)

    def exit(self) -> Iterable[Event]:
        return self._fire(place for place in self.instances if self.end(place) > self.W)

    def end(self, place: Place) -> int:
        """Return the right boundary of an instance, exclusive."""
        return place[0] + self.window.size

    def open_ends(self) -> set[int]:
        """Return the right boundaries of the instances that have not answered yet."""
        return {self.end(place) for place in self.instances if self.end(place) > self.W}

    def _add(self, event: DT[Any, Any]) -> tuple[Aggregate, list[Event]]:
        key = check_key(self.window.key(event.t, event.d), event)
        places: list[Place] = [(l, key) for l in self.window.starts(self.ticks.of(event.t), self.ticks)]
        # Section 2.3, with its inequality the right way round: late data is accepted while W < γ.l + WS + L.
        taken = [place for place in places if self.end(place) + self.window.lateness > self.W]
        if not taken:
            return replace(self, discarded=(*self.discarded, event)), []
        more = {place: (*self.instances.get(place, ()), (event.t, event.d)) for place in taken}
        after = replace(self, instances={**self.instances, **more})
        return after, after._fire(place for place in taken if self.end(place) <= self.W)

    def _advance(self, event: WM[Any]) -> tuple[Aggregate, list[Event]]:
        W = max(self.W, self.ticks.W(event))
        due = (place for place in self.instances if self.W < self.end(place) <= W)
        kept = {p: tuples for p, tuples in self.instances.items() if self.end(p) + self.window.lateness > W}
        return replace(self, W=W, instances=kept), [*self._fire(due), event]

    def _fire(self, places: Iterable[Place]) -> list[Event]:
        outputs: list[Event] = []
        for l, key in sorted(places, key=lambda place: place[0]):
            instance = WindowInstance(self.ticks.time(l), key, self.instances[l, key])
            at = self.ticks.time(l + self.window.size - 1)
            outputs += [DT(at, d) for d in self._answer(instance)]
        return outputs

    def _answer(self, instance: WindowInstance) -> list[Any]:
        answer = self.f(instance)
        if not isinstance(answer, list):
            raise WrongType(
                f"expected a list of data from the function of an Aggregate, got {answer!r} ({type(answer).__name__})",
                hint="return [] for no tuple and [d] for one",
            ).at(f"window instance {instance!r}")
        if len(answer) > self.most:
            raise BadValue(
                f"expected at most one tuple from the function of an A, got {len(answer)}: {answer!r}",
                hint="use A_plus, or embed them into one tuple and unfold it behind: embed_map, embed_join, unfold",
            ).at(f"window instance {instance!r}")
        return answer


def A(order: Order[Any], window: Window, f: Answer) -> Aggregate:
    """Build the Aggregate: ``f`` returns ``[]`` or ``[d]`` for an instance, put out at the instance's last time.

    An instance answers when the watermark passes its end. With ``lateness`` it is kept that much longer. Each late
    tuple that falls into it makes it answer again, and that answer is late for the next operator.

    >>> from tidegate.spec import produce
    >>> from tidegate.time import Nat
    >>> count = A(Nat(), Window(2, 2, lateness=1), lambda γ: [len(γ.tuples)])
    >>> list(produce(count, [DT(0, "a"), DT(1, "b"), WM(1), DT(1, "late"), WM(2), DT(1, "too late")]))
    [DT(1, 2), WM(1), DT(1, 3), WM(2)]
    """
    return Aggregate(Ticks(order), window, f, 1)


def A_plus(order: Order[Any], window: Window, f: Answer) -> Aggregate:
    """Build the Aggregate that may give any number of tuples for an instance, as in section 5.1.

    >>> from tidegate.spec import produce
    >>> from tidegate.time import Nat
    >>> twice = A_plus(Nat(), Window(1, 1), lambda γ: [d for _, d in γ.tuples] * 2)
    >>> list(produce(twice, [DT(0, "a"), WM(0)]))
    [DT(0, 'a'), DT(0, 'a'), WM(0)]
    """
    return Aggregate(Ticks(order), window, f, math.inf)
