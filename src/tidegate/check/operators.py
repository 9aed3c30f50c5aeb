"""The four properties of an operator, checked on generated streams: sound, complete, monotone and productive kept.

>>> from tidegate.spec import batch_op
>>> from tidegate.time import Nat
>>> report = check_operator(batch_op(Nat()), Nat(), examples=50)
>>> report.ok
True
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from tidegate.check.streams import Inputs, plain
from tidegate.errors import TidegateError
from tidegate.spec import DT, Event, Lasso, Operator, fproduce, is_monotone, produce
from tidegate.spec.draw import draw_stream
from tidegate.spec.statements.observation import breaks_productivity, data
from tidegate.time import Order

__all__ = ["Completeness", "Finding", "OperatorFails", "Report", "Soundness", "check_operator"]

#: Whether an output is right, given the whole input.
Soundness: TypeAlias = Callable[[list[Event], DT[Any, Any]], bool]
#: Whether no output is missing, given the whole input.
Completeness: TypeAlias = Callable[[list[Event], list[Event]], bool]
Reason: TypeAlias = str | None


class OperatorFails(TidegateError, AssertionError):
    """An operator does not have one of the properties."""


@dataclass(frozen=True)
class Finding:
    """What was found about one property: nothing against it, or the smallest stream that breaks it."""

    name: str
    claim: str
    checked: bool = True
    because: str = ""
    stream: list[Event] | Lasso[Event] | None = None
    outputs: list[Any] | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing was found against it."""
        return not self.because

    def __str__(self) -> str:
        if not self.checked:
            return f"–  {self.name}: not checked; {self.claim}"
        if self.ok:
            return f"✓  {self.name}: {self.claim}"
        assert self.stream is not None
        lines = [f"✗  {self.name}: {self.because}", "   smallest stream:", _indent(draw_stream(self.stream, width=96))]
        if self.outputs is not None:
            lines += ["   what came out:", _indent(draw_stream(self.outputs, width=96))]
        return "\n".join(lines)


def _indent(text: str) -> str:
    return "\n".join("   " + line for line in text.splitlines())


@dataclass(frozen=True)
class Report:
    """What `check_operator` found."""

    operator: str
    order: Order[Any]
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing was found against any property."""
        return all(finding.ok for finding in self.findings)

    def __getitem__(self, name: str) -> Finding:
        return next(finding for finding in self.findings if finding.name == name)

    def __str__(self) -> str:
        return "\n".join([f"{self.operator} over {self.order!r}", *map(str, self.findings)])

    def raise_if_broken(self) -> None:
        """Raise `OperatorFails` with the whole report unless all is well."""
        if not self.ok:
            raise OperatorFails(str(self), hint="run the smallest stream through produce(…) and look at what comes out")


def check_operator(
    op: Operator[Event, Any],
    order: Order[Any],
    *,
    soundness: Soundness | None = None,
    completeness: Completeness | None = None,
    output_order: Order[Any] | None = None,
    inputs: Inputs | None = None,
    examples: int = 300,
    seed: int = 0,
    stop_early: bool = False,
) -> Report:
    """Check the four properties of an operator of time-aware streams.

    ``soundness(events, output)`` returns whether an output is right, ``completeness(events, outputs)`` whether nothing
    is missing. Both see monotone input that has ended; completeness also sees some rounds of input that goes on for
    ever with watermarks that cover all data. If they are not given, only the two others are checked:

    - monotone streams stay monotone, and
    - productive streams stay productive. A stream that ends is productive by definition, so this is checked on
      beginnings of streams that leave nothing owed, and on endless ones.

    ``output_order`` is the order of the output's times if it is another. ``inputs`` says what streams to draw; see
    `tidegate.check.plain`, `batched` and `two_sided`. With ``stop_early``, properties after the first that is broken
    are not checked. The same arguments always give the same result.
    """
    given = inputs or plain()
    # An operator may change itself instead of returning another one: it must not remember the stream before.
    out_order = order if output_order is None else output_order
    checks: list[tuple[str, str, st.SearchStrategy[Any], Callable[[Any], tuple[Reason, list[Any] | None]] | None]] = [
        (
            "soundness",
            "every output is right",
            given.monotone(order),
            soundness and (lambda events: _unsound(deepcopy(op), events, soundness)),
        ),
        (
            "completeness",
            "nothing is missing in the output",
            st.one_of(given.monotone(order), given.lassos(order)),
            completeness and (lambda events: _incomplete(deepcopy(op), events, completeness)),
        ),
        (
            "monotonicity",
            "monotone streams stay so",
            given.monotone(order),
            lambda e: _not_monotone(deepcopy(op), e, out_order),
        ),
        (
            "productivity",
            "productive streams stay so",
            st.one_of(given.covered(order), given.lassos(order)),
            lambda e: _not_productive(deepcopy(op), e, out_order),
        ),
    ]
    findings: list[Finding] = []
    for name, claim, streams, broken in checks:
        if stop_early and not all(finding.ok for finding in findings):
            findings.append(Finding(name, f"what is broken above may break that {claim}", checked=False))
        elif broken is None:
            findings.append(Finding(name, f"give {name}=… to check that {claim}", checked=False))
        else:
            findings.append(_search(name, claim, streams, broken, examples, seed))
    return Report(_name(op), order, tuple(findings))


def _name(op: Operator[Any, Any]) -> str:
    return type(op).__name__.lstrip("_")


def _search(
    name: str,
    claim: str,
    streams: st.SearchStrategy[Any],
    broken: Callable[[Any], tuple[Reason, list[Any] | None]],
    examples: int,
    seed: int,
) -> Finding:
    def judge(events: Any) -> tuple[Reason, list[Any] | None]:
        try:
            return broken(events)
        except TidegateError as error:
            return f"it raised {type(error).__name__}: {error}", None
        except AssertionError as error:
            return str(error) or "an assertion failed", None
        except Exception as error:
            return f"it raised {type(error).__name__}: {error}", None

    quiet = settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    try:
        smallest = find(streams, lambda events: judge(events)[0] is not None, settings=quiet, random=Random(seed))
    except NoSuchExample:
        return Finding(name, claim)
    because, outputs = judge(smallest)
    return Finding(name, claim, because=because or "", stream=smallest, outputs=outputs)


def _unsound(op: Operator[Event, Any], events: list[Event], sound: Soundness) -> tuple[Reason, list[Any] | None]:
    outputs = list(produce(op, events))
    wrong = [out for out in data(outputs) if not sound(events, out)]
    return (f"this output is not right: {wrong[0]!r}" if wrong else None), outputs


def _incomplete(
    op: Operator[Event, Any], events: list[Event] | Lasso[Event], complete: Completeness
) -> tuple[Reason, list[Any] | None]:
    # Only watermarks come again and again, so after some rounds there is nothing left to wait for.
    listed = events.unroll(3) if isinstance(events, Lasso) else events
    outputs = fproduce(op, listed)[1] if isinstance(events, Lasso) else list(produce(op, listed))
    return (None if complete(listed, outputs) else "something is missing in the output"), outputs


def _not_monotone(op: Operator[Event, Any], events: list[Event], order: Order[Any]) -> tuple[Reason, list[Any] | None]:
    outputs = list(produce(op, events))
    return (None if is_monotone(order, outputs) else "data comes out after a watermark that covers it"), outputs


def _not_productive(
    op: Operator[Event, Any], events: list[Event] | Lasso[Event], order: Order[Any]
) -> tuple[Reason, list[Any] | None]:
    broken = breaks_productivity(op, events, order)
    return (None, None) if broken is None else (broken[0], broken[1]["outputs"])
