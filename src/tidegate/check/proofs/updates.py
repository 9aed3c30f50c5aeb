"""What the proofs of clocks and exchange share: updates in queues, and what a worker has not received yet.

A queue of updates is written as sums: ``tail(w, v, k)`` is the sum of the updates from ``w`` to ``v`` from position
``k`` on, and of what ``w`` has not sent. The queue has the positions from ``first(w, v)`` to before ``last(w, v)``. Any
list of signed multisets can be written so, an update is the difference of two neighbours, and the solver never has to
add up a list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import z3

from tidegate.check.proofs.inductive import shown
from tidegate.check.proofs.logic import Counts, Finite, ProofScope, Term, le, sort

__all__ = ["UpdatesState", "counted", "function", "order_in_words", "rows", "total", "unknown_updates"]


def function(name: str, sorts: str, result: str = "Z") -> Callable[..., Term]:
    """Return an unknown function of individuals of some sorts, to integers, truth values or individuals."""
    results = {"Z": z3.IntSort(), "B": z3.BoolSort()}
    f: Callable[..., Term] = z3.Function(
        name, *(sort(s) for s in sorts), results[result] if result in results else sort(result)
    )
    return f


def unknown_updates() -> dict[str, Any]:
    """Return the fields of an `UpdatesState` of which nothing is known."""
    sorts = {"rec": "P", "temp": "WP", "glob": "WP", "tail": "WWIP", "first": "WW", "last": "WW", "info": "WP"}
    return {name: function(name, of) for name, of in sorts.items()}


def total(scope: Finite, term: Callable[[Term], Term]) -> Term:
    """Return the sum over all workers, written out."""
    return z3.Sum([term(w) for w in scope.elements["W"]])


@dataclass(frozen=True)
class UpdatesState:
    """A configuration: functions from workers, positions and pointstamps to terms."""

    scope: ProofScope = field(repr=False)
    #: The pointstamps that exist.
    rec: Counts
    #: What a worker has not sent yet: ``temp(w, p)``.
    temp: Callable[..., Term]
    #: What a worker believes: ``glob(w, p)``.
    glob: Callable[..., Term]
    tail: Callable[..., Term]
    first: Callable[..., Term]
    last: Callable[..., Term]
    #: What a worker has not heard yet, from all workers: ``info(v, p)``.
    info: Callable[..., Term]

    def view(self, v: Term) -> Counts:
        """Return what ``v`` believes to exist."""
        return lambda p: self.glob(v, p)

    def unsent(self, w: Term) -> Counts:
        """Return what ``w`` has not sent yet."""
        return lambda p: self.temp(w, p)

    def unheard(self, v: Term) -> Counts:
        """Return what ``v`` has not heard yet from anyone."""
        return lambda p: self.info(v, p)

    def update(self, w: Term, v: Term, k: Term) -> Counts:
        """Return the update at position ``k`` of the queue from ``w`` to ``v``."""
        return lambda p: self.tail(w, v, k, p) - self.tail(w, v, k + 1, p)

    def coming(self, w: Term, v: Term, k: Term) -> Counts:
        """Return all that is to come from ``w`` to ``v``, from position ``k`` on: updates, then what is unsent."""
        return lambda p: self.tail(w, v, k, p)

    def to_come(self, w: Term, v: Term) -> Counts:
        """Return all that ``v`` has not heard from ``w``."""
        return self.coming(w, v, self.first(w, v))

    def others(self, w: Term, v: Term) -> Counts:
        """Return what ``v`` has not heard from workers other than ``w``."""
        rest = self.to_come(w, v)
        return lambda p: self.info(v, p) - rest(p)

    def in_queue(self, w: Term, v: Term, k: Term) -> Term:
        """Whether there is an update at position ``k`` of the queue from ``w`` to ``v``."""
        return z3.And(self.first(w, v) <= k, k < self.last(w, v))

    def with_sums(self) -> Self:
        """Return the configuration with its sums written out, where workers can be named."""
        if not isinstance(scope := self.scope, Finite):
            return self
        return replace(self, info=lambda v, p: total(scope, lambda w: self.to_come(w, v)(p)))

    def moved(self, then: Self, w: Term) -> Self:
        """Return ``then`` with its sums: only what ``w`` has yet to send has changed, and each sum changes by that."""
        if isinstance(self.scope, Finite):
            return then.with_sums()
        return replace(then, info=lambda v, p: self.info(v, p) + then.to_come(w, v)(p) - self.to_come(w, v)(p))

    def bounded(self) -> list[Term]:
        """Return that queues are as short as positions can be named, so that another update fits."""
        if not isinstance(scope := self.scope, Finite):
            return []
        most = len(scope.elements["I"]) - 2
        return [scope.all("WW", lambda w, v: self.last(w, v) <= most)]

    # Actions that both protocols have.

    def send(self, w: Term, gamma: Counts, *, sender_too: bool = True) -> Self:
        """Let ``w`` send ``gamma`` to all workers, or to all others."""

        def to(a: Term, b: Term) -> Term:
            return a == w if sender_too else z3.And(a == w, b != w)

        def tail(a: Term, b: Term, k: Term, p: Term) -> Term:
            end = self.last(a, b)
            kept = self.temp(w, p) - gamma(p)
            coming = z3.If(z3.And(to(a, b), k == end + 1), kept, self.tail(a, b, k, p))
            return coming if sender_too else coming - z3.If(z3.And(a == w, b == w), gamma(p), 0)

        then = replace(
            self,
            temp=lambda a, p: self.temp(a, p) - z3.If(a == w, gamma(p), 0),
            tail=tail,
            last=lambda a, b: self.last(a, b) + z3.If(to(a, b), 1, 0),
        )
        return self.moved(then, w)

    def work(self, w: Term, delta: Counts) -> Self:
        """Let ``w`` note a change of its own."""
        then = replace(
            self,
            temp=lambda a, p: self.temp(a, p) + z3.If(a == w, delta(p), 0),
            tail=lambda a, b, k, p: self.tail(a, b, k, p) + z3.If(a == w, delta(p), 0),
        )
        return self.moved(then, w)

    def receive(self, w: Term, v: Term, *, newest: bool = False) -> Self:
        """Let ``v`` receive the oldest update from ``w``, or the newest."""
        head = self.update(w, v, self.last(w, v) - 1 if newest else self.first(w, v))

        def one(a: Term, b: Term) -> Term:
            return z3.If(z3.And(a == w, b == v), 1, 0)

        def tail(a: Term, b: Term, k: Term, p: Term) -> Term:
            return self.tail(a, b, k, p) - z3.If(z3.And(a == w, b == v, k < self.last(w, v)), head(p), 0)

        then = replace(
            self,
            glob=lambda b, p: self.glob(b, p) + z3.If(b == v, head(p), 0),
            tail=tail if newest else self.tail,
            first=self.first if newest else (lambda a, b: self.first(a, b) + one(a, b)),
            last=(lambda a, b: self.last(a, b) - one(a, b)) if newest else self.last,
        )
        return self.moved(then, w)

    # In words.

    def describe(self, model: z3.ModelRef) -> list[str]:
        """Return what a model says of this configuration, a line for each thing that is not empty."""
        workers = self.scope.elements["W"]
        lines = [order_in_words(self.scope, model), f"exist {counted(self.scope, model, self.rec)}"]
        for w in workers:
            believes = counted(self.scope, model, self.view(w))
            lines.append(f"{w} believes {believes}, has not sent {counted(self.scope, model, self.unsent(w))}")
        for w in workers:
            for v in workers:
                begin, end = (model.eval(f(w, v), model_completion=True).as_long() for f in (self.first, self.last))
                updates = (self.update(w, v, z3.IntVal(k)) for k in range(begin, end))
                queue = [counted(self.scope, model, M) for M in updates]
                if queue:
                    lines.append(f"on the way from {w} to {v}: {', then '.join(queue)}")
        return lines


def rows(c: UpdatesState, w: Term, v: Term, k: Term, *_: Term) -> Sequence[tuple[Term, ...]]:
    """Return the positions at which statements about queues are assumed, for a goal at one of them."""
    return [(w, v, k), (w, v, k + 1), (w, v, c.last(w, v))]


def counted(scope: ProofScope, model: z3.ModelRef, M: Counts) -> str:
    """Return a multiset of a model in words."""
    found = {str(p): model.eval(M(p), model_completion=True).as_long() for p in scope.elements["P"]}
    return "{" + ", ".join(f"{p}: {n:+d}" for p, n in found.items() if n) + "}"


def order_in_words(scope: ProofScope, model: z3.ModelRef) -> str:
    """Return which pointstamps are below which in a model."""
    ps = scope.elements["P"]
    pairs = [(a, b) for a in ps for b in ps if a is not b and z3.is_true(model.eval(le(a, b), model_completion=True))]
    names = {str(p): shown(scope, model, p) for p in ps}
    return "order: " + (", ".join(f"{names[str(a)]} < {names[str(b)]}" for a, b in pairs) or "nothing is comparable")
