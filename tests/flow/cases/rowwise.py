"""Cases of `where`, `select`, `with_columns`, `drop`, `rename`, `explode` and `map_batches`."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from tests.flow.case import Case, at, day, days, instants, ints, pairs


def doubled(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Each row twice, with x doubled."""
    both = pa.concat_tables([pa.Table.from_batches([batch])] * 2)
    return both.set_column(both.column_names.index("x"), "x", pc.multiply(both["x"], pa.scalar(2, pa.int32())))


def none_of(batch: pa.RecordBatch) -> pa.RecordBatch:
    """No row at all, of other columns."""
    return batch.select(["t"]).slice(0, 0).append_column("y", pa.array([], pa.string()))


ROWS: list[tuple[Any, ...]] = [(1, "a", 1), (1, "b", None), (2, None, 3), (2, "a", 3), (2, "a", 3)]

CASES = [
    Case(
        "where keeps rows of which the condition is true, not null",
        lambda f: ints(f).where("x > 1"),
        {"s": ROWS},
        ROWS[2:],
    ),
    Case("where on no rows", lambda f: ints(f).where("x > 1"), {"s": []}, []),
    Case(
        "where on the time, a date",
        lambda f: days(f).where("t > DATE'2026-01-01'"),
        {"s": [(day(0), "a", 1), (day(1), "b", 2)]},
        [(day(1), "b", 2)],
    ),
    Case(
        "where on the time, a timestamp",
        lambda f: instants(f).where("hour(t) = 1"),
        {"s": [(at(59), "a", 1), (at(60), "b", 2), (at(119.5), "c", 3)]},
        [(at(60), "b", 2), (at(119.5), "c", 3)],
    ),
    Case(
        "where on a product",
        lambda f: pairs(f).where("v + w = 2"),
        {"s": [(0, 2, "a", 1), (1, 1, "b", 1), (1, 2, "c", 1)]},
        [(0, 2, "a", 1), (1, 1, "b", 1)],
    ),
    Case(
        "where on a column that is called as a keyword, before two minuses",
        lambda f: f.source("s", "t INT, x INT, time INT, k STRING", time="t").where("x > time - -3 AND k = 'p'"),
        {"s": [(0, 5, 4, "p"), (1, 9, 1, "p"), (2, 9, 1, "q")]},
        [(1, 9, 1, "p")],
    ),
    Case(
        "select of values that are negated more than once",
        lambda f: ints(f).select("x - - -1 AS a", "- -x AS b", "abs(- - x) AS c", "~ ~x AS d -- not twice"),
        {"s": [(1, "a", 5)]},
        [(1, 4, 5, 5, 5)],
    ),
    Case(
        "select puts the time first",
        lambda f: ints(f).select("x + 1 AS y", "t", "k"),
        {"s": ROWS[:2]},
        [(1, 2, "a"), (1, None, "b")],
    ),
    Case("select keeps the time, named or not", lambda f: pairs(f).select("k"), {"s": [(1, 2, "a", 3)]}, [(1, 2, "a")]),
    Case(
        "select of everything and more",
        lambda f: ints(f).select("*", "-x AS y"),
        {"s": [(1, "a", 2)]},
        [(1, "a", 2, -2)],
    ),
    Case("select of nothing leaves the time", lambda f: ints(f).select(), {"s": ROWS[:2]}, [(1,), (1,)]),
    Case("division of integers is a double", lambda f: ints(f).select("x / 2 AS y"), {"s": [(1, "a", 3)]}, [(1, 1.5)]),
    Case(
        "div and % cut towards zero",
        lambda f: ints(f).select("x DIV 2 AS q", "x % 2 AS r"),
        {"s": [(1, "a", -7)]},
        [(1, -3, -1)],
    ),
    Case(
        "a cast to an integer cuts off the fraction",
        lambda f: ints(f).select("CAST(x / 4 AS INT) AS y"),
        {"s": [(1, "a", 7), (1, "a", -7)]},
        [(1, 1), (1, -1)],
    ),
    Case(
        "null-safe comparison and coalesce",
        lambda f: ints(f).select("k <=> NULL AS none", "coalesce(k, '?') AS k2"),
        {"s": [(1, "a", 0), (1, None, 0)]},
        [(1, False, "a"), (1, True, "?")],
    ),
    Case(
        "text, cases and conditions",
        lambda f: ints(f).select(
            "upper(k) || '!' AS loud", "CASE WHEN x > 1 THEN 'big' ELSE 'small' END AS size", "if(x > 1, x, 0) AS y"
        ),
        {"s": [(1, "a", 2), (1, "b", 1)]},
        [(1, "A!", "big", 2), (1, "B!", "small", 0)],
    ),
    Case(
        "decimals keep their value",
        lambda f: ints(f, columns="price DECIMAL(10,2)").select("price", "CAST(price AS INT) AS whole"),
        {"s": [(1, Decimal("12.99"))]},
        [(1, Decimal("12.99"), 12)],
    ),
    Case(
        "with_columns adds and replaces",
        lambda f: ints(f).with_columns(x="x * 10", y="x"),
        {"s": [(1, "a", 2)]},
        [(1, "a", 20, 2)],
    ),
    Case("drop leaves columns out", lambda f: pairs(f).drop("K"), {"s": [(1, 2, "a", 3)]}, [(1, 2, 3)]),
    Case("drop of all leaves the time", lambda f: ints(f).drop("k", "x", "x"), {"s": ROWS[:2]}, [(1,), (1,)]),
    Case("drop of nothing", lambda f: ints(f).drop(), {"s": ROWS[:2]}, ROWS[:2]),
    Case(
        "rename exchanges names, in place",
        lambda f: ints(f).rename(k="X", x="k").where("x IS NULL OR k > 1").select("x", "k"),
        {"s": ROWS},
        [(2, None, 3), (2, "a", 3), (2, "a", 3)],
    ),
    Case(
        "names are found whatever their case",
        lambda f: ints(f).where("X > 1").select("K", "T"),
        {"s": ROWS},
        [(2, None), (2, "a"), (2, "a")],
    ),
    Case(
        "fields of structs",
        lambda f: ints(f, columns="p STRUCT<a: INT, b: STRING>").select("p.a", "p.b AS name"),
        {"s": [(1, {"a": 1, "b": "x"}), (2, {"a": None, "b": "y"})]},
        [(1, 1, "x"), (2, None, "y")],
    ),
    Case(
        "explode makes a row of each element, none of an empty or null array",
        lambda f: ints(f, columns="k STRING, xs ARRAY<INT>").explode("xs"),
        {"s": [(1, "a", [1, 2, 2]), (1, "b", []), (2, "c", None), (2, "d", [None])]},
        [(1, "a", 1), (1, "a", 2), (1, "a", 2), (2, "d", None)],
    ),
    Case(
        "explode of a computed array",
        lambda f: instants(f).select("split(k, ',') AS part").explode("part"),
        {"s": [(at(0), "a,b", 1)]},
        [(at(0), "a"), (at(0), "b")],
    ),
    Case(
        "map_batches multiplies rows",
        lambda f: ints(f).map_batches(doubled, "k STRING, x INT"),
        {"s": [(1, "a", 2)]},
        [(1, "a", 4)] * 2,
    ),
    Case(
        "map_batches drops rows and changes columns",
        lambda f: ints(f).map_batches(none_of, "y STRING"),
        {"s": ROWS},
        [],
    ),
    Case(
        "map_batches on a product",
        lambda f: pairs(f).map_batches(doubled, "v INT, w INT, k STRING, x INT"),
        {"s": [(1, 0, "a", 2), (0, 1, "b", 3)]},
        [(1, 0, "a", 4)] * 2 + [(0, 1, "b", 6)] * 2,
    ),
]
