"""Configurations of the running protocols as models of the proofs' formulas, to see whether these say the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import Any

import z3

from tidegate.check.proofs.logic import Finite, le


class World:
    """Names for workers, pointstamps and the rest, and what functions give for them."""

    def __init__(self, scope: Finite, **named: list[Any]) -> None:
        self.scope = scope
        self.names = {(s, x): scope.elements[s][i] for s, xs in named.items() for i, x in enumerate(xs)}
        self.named = {**named, "I": list(range(scope.sizes.get("I", 0)))}

    def name(self, sort: str, x: Any) -> Any:
        """Return the solver's name for an individual."""
        return z3.IntVal(x) if sort == "I" else self.names[sort, x]

    def facts(self, f: Callable[..., Any], sorts: str, value: Callable[..., Any]) -> list[Any]:
        """Return what a function gives, for all individuals."""
        return [
            f(*(self.name(s, x) for s, x in zip(sorts, xs, strict=True))) == value(*xs)
            for xs in product(*(self.named[s] for s in sorts))
        ]

    def order(self, leq: Callable[[Any, Any], bool]) -> list[Any]:
        """Return which pointstamp is at or below which."""
        return self.facts(le, "PP", leq)

    def given(self, facts: Iterable[Any]) -> Given:
        """Return the model in which the facts hold."""
        solver = z3.Solver()
        solver.add(*self.scope.distinct(), *facts)
        assert solver.check() == z3.sat
        return Given(self, solver.model())


class Given:
    """A model that is known completely, as far as a configuration and a step go."""

    def __init__(self, world: World, model: Any) -> None:
        self.world = world
        self.model = model

    def holds(self, formula: Any) -> bool:
        """Whether a formula without quantifiers is true."""
        value = self.model.eval(formula, model_completion=True)
        assert z3.is_true(value) or z3.is_false(value), value
        return z3.is_true(value)

    def number(self, term: Any) -> int:
        """Return the value of a count."""
        return int(self.model.eval(term, model_completion=True).as_long())

    def broken(self, formulas: Mapping[Any, Any]) -> list[Any]:
        """Return the names of those that are not true."""
        return [name for name, formula in formulas.items() if not self.holds(formula)]

    def table(self, f: Callable[..., Any], sorts: str) -> dict[Any, int]:
        """Return what a function gives, for all individuals, by their own names."""
        world = self.world
        return {
            xs: self.number(f(*(world.name(s, x) for s, x in zip(sorts, xs, strict=True))))
            for xs in product(*(world.named[s] for s in sorts))
        }
