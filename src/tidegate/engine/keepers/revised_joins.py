"""Joins in windows with lateness: rows of both sides in each of their windows, as `revised` keeps them.

Each step with late rows gives one more full answer for each window and key that they fall into. A key with a NULL
matches nothing. In outer joins it is answered for like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidegate.engine.calls import call
from tidegate.engine.keepers.keeper import Answer, FrontierMove, HeldState
from tidegate.engine.keepers.revised import Revised
from tidegate.engine.lowering import lower_operator
from tidegate.engine.relation import Relation, as_they_are, united
from tidegate.engine.units import from_units
from tidegate.flow import plan
from tidegate.flow.sqltypes import quoted

__all__ = ["RevisedJoins"]

#: The sides of which every row is in the answer, for the kinds of join that have such sides.
_WHOLE = {"left": (0,), "right": (1,), "full": (0, 1)}
#: The step in which a row came. All rows that came before the first answer of their window have step -1.
_CAME = "coalesce(__came, -1L)"


class RevisedJoins(Revised[plan.WindowJoin]):
    """Rows of both inputs."""

    def answer(self, held: HeldState, moved: FrontierMove) -> Answer:
        """Return the answers for windows that became complete, and new answers for windows and keys with late rows."""
        before = self.ended(moved.old)
        sides = [held.read(port).where(self.ended(moved.new)) for port in (0, 1)]
        if not held.late:
            # There are only first answers: no window that was answered before has new rows.
            left, right = (side.where(f"NOT ({before})").without("__came") for side in sides)
            return held.answers(lower_operator(self.operator, left, right))
        fresh = f"coalesce(__came = {held.attempt.number}L, false) OR NOT ({before})"
        keyed = [side.with_columns(self._keys | {"__fresh": fresh}) for side in sides]
        changed = self._changed(keyed)
        left, right = (self._with_equal_keys(side, changed) for side in keyed)
        own = [side.without(*self._keys, "__fresh", "__came") for side in (left, right)]
        return held.answers(self._revised(lower_operator(self.operator, *own), self._numbers(changed, [left, right])))

    @property
    def _keys(self) -> dict[str, str]:
        """SQL for the columns that identify a window and key. Rows with equal values are answered together."""
        columns = ["__start", *map(quoted, self.others), *map(quoted, self.operator.on)]
        return {f"__k{i}": sql for i, sql in enumerate(columns)}

    def _changed(self, sides: Sequence[Relation]) -> Relation:
        """Return the windows and keys to answer for, with the steps in which their rows came, as ``__steps``."""
        columns = as_they_are([*self._keys, "__fresh"]) | {"__at": _CAME}
        calls = {"__fresh": call("max", "__fresh"), "__steps": call("collect_set", "__at")}
        found = united([side.select(columns) for side in sides]).group(as_they_are(list(self._keys)), calls)
        return found.where("__fresh").without("__fresh")

    def _with_equal_keys(self, rows: Relation, changed: Relation) -> Relation:
        same = " AND ".join(f"`left`.{key} <=> `right`.{key}" for key in self._keys)
        return rows.join(changed, same, "semi", {name: f"`left`.{quoted(name)}" for name in rows.names})

    def _numbers(self, changed: Relation, sides: Sequence[Relation]) -> Relation:
        """Return the ``__revision`` of each window and key that has an answer, with its columns ``__n…``.

        A window and key that had an answer always has one later: rows are only added, and kinds of join in which an
        added row can remove an answer are refused.
        """
        first = self._with_answers(sides).group(as_they_are(list(self._keys)), {"__first": call("min", "__at")})
        same = " AND ".join(f"`left`.{key} <=> `right`.{key}" for key in self._keys)
        columns = {f"__n{i}": f"`left`.{key}" for i, key in enumerate(self._keys)}
        columns |= {"__steps": "`left`.__steps", "__first": "`right`.__first"}
        numbered = changed.join(first, same, "inner", columns)
        type_ = self.operator.schema[self.frame.over].type or ""
        last = {"__n0": from_units(f"__n0 + {self.frame.size - 1}L", type_)}
        return numbered.with_columns(last | {"__revision": "size(filter(__steps, s -> s >= __first)) - 1"})

    def _with_answers(self, sides: Sequence[Relation]) -> Relation:
        """Return the windows and keys that have answers; ``__at`` has the steps from which on they had one."""
        operator, keys = self.operator, as_they_are(list(self._keys))
        if whole := _WHOLE.get(operator.how):
            return united([sides[port].select(keys | {"__at": _CAME}) for port in whole])
        left, right = (
            side.with_columns({name: _CAME}) for side, name in zip(sides, ("__mine", "__other"), strict=True)
        )
        both = replace(operator, how="inner", left_columns=(*keys, "__mine"), right_columns=("__other",))
        pairs = lower_operator(both, left.without("__came", "__fresh"), right.without("__came", "__fresh"))
        return pairs.select(keys | {"__at": "greatest(__mine, __other)"})

    def _revised(self, rows: Relation, numbers: Relation) -> Relation:
        """Return the answers with their revision."""
        names = [self.frame.over, *self.others, *self.operator.on]
        same = " AND ".join(f"`left`.{quoted(name)} <=> `right`.__n{i}" for i, name in enumerate(names))
        columns = {name: f"`left`.{quoted(name)}" for name in rows.names} | {"revision": "`right`.__revision"}
        return rows.join(numbers, same, "inner", columns)
