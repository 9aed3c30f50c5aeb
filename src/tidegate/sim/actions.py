"""Actions and schedules: what can happen next in a simulation, in a form that can be replayed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from tidegate.errors import BadValue

__all__ = ["Action", "Deliver", "Hear", "Proceed", "Propagate", "Receive", "Schedule", "Send", "Work"]


@dataclass(frozen=True, slots=True)
class _OnOperator:
    """An action of an operator on a worker. Its text begins with the name of its class."""

    worker: int
    operator: str

    def __str__(self) -> str:
        return f"{type(self).__name__.lower()} {self.worker} {self.operator}"


class Work(_OnOperator):
    """An operator that is active does some of its work."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Deliver:
    """A row that one worker sent to another arrives (``recv_cap``): the oldest, or one that overtakes some older ones.

    >>> print(Deliver(0, 1), Deliver(0, 1, 2), sep="; ")
    deliver 0>1; deliver 0>1 2
    """

    sender: int
    worker: int
    overtakes: int = 0

    def __str__(self) -> str:
        return f"deliver {self.sender}>{self.worker}" + (f" {self.overtakes}" if self.overtakes else "")


class Receive(_OnOperator):
    """An operator takes in the oldest message that has arrived for it."""

    __slots__ = ()


class Proceed(_OnOperator):
    """An operator receives its new frontiers."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Send:
    """A worker sends its changes to all workers, or some of them, by their position (``send_upd``)."""

    worker: int
    some: tuple[int, ...] | None = None

    def __str__(self) -> str:
        return f"send {self.worker}" if self.some is None else f"send {self.worker} {'+'.join(map(str, self.some))}"


@dataclass(frozen=True, slots=True)
class Hear:
    """A worker receives the oldest progress update from another one (``recv_upd``)."""

    sender: int
    worker: int

    def __str__(self) -> str:
        return f"hear {self.sender}>{self.worker}"


@dataclass(frozen=True, slots=True)
class Propagate:
    """A worker brings its frontiers up to date with the updates that it has received (``propagate``)."""

    worker: int

    def __str__(self) -> str:
        return f"propagate {self.worker}"


_ON_OPERATORS: dict[str, type[Work | Receive | Proceed]] = {"work": Work, "receive": Receive, "proceed": Proceed}

Action: TypeAlias = Work | Deliver | Receive | Proceed | Send | Hear | Propagate


class Schedule:
    """Actions in the order in which they were performed. To keep a schedule, keep its text.

    >>> schedule = Schedule.parse("work 0 a; deliver 0>1; send 0 1+3")
    >>> list(schedule)[1]
    Deliver(sender=0, worker=1, overtakes=0)
    >>> print(schedule)
    work 0 a; deliver 0>1; send 0 1+3
    """

    __slots__ = ("actions",)

    def __init__(self, actions: Iterable[Action] = ()) -> None:
        self.actions = list(actions)

    @classmethod
    def parse(cls, text: str) -> Schedule:
        """Read a schedule that was printed."""
        return cls(_parse(part.strip()) for part in text.replace("\n", ";").split(";") if part.strip())

    def __iter__(self) -> Iterator[Action]:
        return iter(self.actions)

    def __len__(self) -> int:
        return len(self.actions)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schedule) and self.actions == other.actions

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return "; ".join(map(str, self.actions))

    def __repr__(self) -> str:
        return f"Schedule.parse({str(self)!r})"


def _parse(text: str) -> Action:
    match text.split(" "):
        case ["work" | "receive" | "proceed" as what, worker, operator] if worker.isdigit():
            return _ON_OPERATORS[what](int(worker), operator)
        case ["deliver" | "hear" as what, pair] if all(map(str.isdigit, pair.split(">"))) and pair.count(">") == 1:
            sender, receiver = map(int, pair.split(">"))
            return Deliver(sender, receiver) if what == "deliver" else Hear(sender, receiver)
        case ["deliver", pair, overtakes] if overtakes.isdigit():
            oldest = _parse(f"deliver {pair}")
            assert isinstance(oldest, Deliver)
            return replace(oldest, overtakes=int(overtakes))
        case ["send", worker] if worker.isdigit():
            return Send(int(worker))
        case ["send", worker, some] if worker.isdigit() and all(map(str.isdigit, some.split("+"))):
            return Send(int(worker), tuple(map(int, some.split("+"))))
        case ["propagate", worker] if worker.isdigit():
            return Propagate(int(worker))
    raise BadValue(
        f"expected an action, got {text!r}",
        hint="such as 'work 0 a', 'deliver 0>1', 'receive 1 b', 'proceed 1 b', 'send 0', 'hear 0>1', 'propagate 1'",
    )
