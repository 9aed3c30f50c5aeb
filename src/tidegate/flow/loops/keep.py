"""How a loop makes one fact of several for a key: rules that may be applied in any order, and any number of times.

>>> str(Rule("via", "min_by", "dist"))
'min_by(via, dist) AS via'
"""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.flow import sqltypes

__all__ = ["RULES", "Rule"]

#: Aggregates that are idempotent, commutative and associative (those with two arguments by breaking ties).
RULES = (
    "min", "max", "min_by", "max_by", "bit_or", "bit_and", "bool_or", "bool_and", "any", "some", "every",
    "collect_union",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rule:
    """How one column of a fact is merged: by ``function``, of the column itself and perhaps of another one.

    NULL is passed over by all of them. ``min_by`` and ``max_by`` take the values of one fact: that which is the least
    (the greatest) in ``by``, which is not NULL there, and among several such in the columns that have the same rule, in
    their order, NULL being the least. ``by`` is itself kept, by ``min`` (``max``). ``collect_union`` is the union of
    arrays as sets, sorted, NULL last.
    """

    name: str
    function: str
    by: str = ""

    def __str__(self) -> str:
        name = sqltypes.quoted(self.name)
        arguments = f"{name}, {sqltypes.quoted(self.by)}" if self.by else name
        return f"{self.function}({arguments}) AS {name}"

    def merge(self, rules: tuple[Rule, ...]) -> str:
        """Answer Spark SQL for the merged value, whatever the order of facts; ``rules`` are those of all columns.

        >>> dist, via = Rule("dist", "min"), Rule("via", "min_by", "dist")
        >>> via.merge((dist, via))
        'min(CASE WHEN dist IS NOT NULL THEN struct(dist, via) END).via'
        >>> Rule("tags", "collect_union").merge(())
        'array_sort(array_distinct(flatten(collect_list(tags))))'
        """
        name = sqltypes.quoted(self.name)
        if self.function == "collect_union":
            return f"array_sort(array_distinct(flatten(collect_list({name}))))"
        if not self.by:
            return f"{self.function}({name})"
        together = [r.name for r in rules if (r.function, r.by) == (self.function, self.by)]
        by, fields = sqltypes.quoted(self.by), ", ".join(map(sqltypes.quoted, [self.by, *together]))
        return f"{self.function[:3]}(CASE WHEN {by} IS NOT NULL THEN struct({fields}) END).{name}"
