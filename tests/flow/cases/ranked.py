"""Cases of `top`, `last` and `latest`: of all rows at or below a time, and of those of windows and sessions."""

from __future__ import annotations

from tests.flow.case import Case, at, day, days, instants, ints, pairs, span

ROWS = [(1, "a", 1), (2, "b", 2), (2, "a", 3), (2, "a", 4), (5, "b", 5), (5, None, 6), (7, "a", 2)]
GRID = [(0, 0, "a", 5), (0, 1, "a", 2), (1, 0, "a", 4), (1, 1, "a", 8), (2, 0, "b", 16), (2, 2, "a", 1)]
FLOATS = "x DOUBLE, y STRING"

CASES = [
    Case(
        "top: the whole list at each time and group that has a row at exactly that time",
        lambda f: ints(f).top(2, by="k", order="x DESC"),
        {"s": ROWS},
        [
            (1, "a", 1, 1),
            (2, "a", 4, 1),
            (2, "a", 3, 2),
            (2, "b", 2, 1),
            (5, "b", 5, 1),
            (5, "b", 2, 2),
            (5, None, 6, 1),
            (7, "a", 4, 1),
            (7, "a", 3, 2),
        ],
    ),
    Case(
        "top: complete: at each time that carries a row, the lists of all groups so far",
        lambda f: ints(f).top(1, by="k", order="x", emit="complete"),
        {"s": ROWS},
        [
            (1, "a", 1, 1),
            (2, "a", 1, 1),
            (2, "b", 2, 1),
            (5, "a", 1, 1),
            (5, "b", 2, 1),
            (5, None, 6, 1),
            (7, "a", 1, 1),
            (7, "b", 2, 1),
            (7, None, 6, 1),
        ],
    ),
    Case(
        "top: without groups",
        lambda f: ints(f).top(2, order="x DESC"),
        {"s": ROWS[:4]},
        [(1, "a", 1, 1), (2, "a", 4, 1), (2, "a", 3, 2)],
    ),
    Case("top: on no rows", lambda f: days(f).top(3, by="k", order="x DESC"), {"s": []}, []),
    Case(
        "top: ties go by time, then by all columns, and equal rows each count",
        lambda f: ints(f).with_columns(was="t").top(3, order="x DESC"),
        {"s": [(2, "b", 1), (1, "c", 1), (2, "a", 1), (1, "c", 1), (3, "z", 0)]},
        [
            (1, "c", 1, 1, 1),
            (1, "c", 1, 1, 2),
            (2, "c", 1, 1, 1),
            (2, "c", 1, 1, 2),
            (2, "a", 1, 2, 3),
            (3, "c", 1, 1, 1),
            (3, "c", 1, 1, 2),
            (3, "a", 1, 2, 3),
        ],
    ),
    Case(
        "top: several entries, NULL as Spark has it, or as it is said",
        lambda f: ints(f).top(9, order="k NULLS LAST, x DESC NULLS FIRST"),
        {"s": [(1, None, 1), (1, "a", 1), (1, "a", None), (1, "b", 0), (1, "a", 2)]},
        [(1, "a", None, 1), (1, "a", 2, 2), (1, "a", 1, 3), (1, "b", 0, 4), (1, None, 1, 5)],
    ),
    Case(
        "top: NULL is the least, and NaN the greatest",
        lambda f: (
            ints(f, columns=FLOATS)
            .top(3, order=["x DESC", "y"])
            .union(ints(f, "r", FLOATS).top(2, order=("x ASC", "y DESC")))
        ),
        {
            "s": [(1, 1.0, "a"), (1, None, "b"), (1, float("nan"), "c"), (1, float("inf"), "d")],
            "r": [(1, 1.0, "a"), (1, None, "b"), (1, float("nan"), "c"), (1, None, "d")],
        },
        [(1, float("nan"), "c", 1), (1, float("inf"), "d", 2), (1, 1.0, "a", 3), (1, None, "d", 1), (1, None, "b", 2)],
    ),
    Case(
        "top: by an expression, which is a column of its own",
        lambda f: ints(f).top(1, by="upper(k) AS name", order="-x"),
        {"s": [(1, "a", 1), (1, "A", 2), (1, "b", 0)]},
        [(1, "A", "A", 2, 1), (1, "B", "b", 0, 1)],
    ),
    Case(
        "top: with every, at the ends of periods that have rows",
        lambda f: ints(f).top(1, by="k", order="x DESC", every=5),
        {"s": ROWS},
        [(4, "a", 4, 1), (4, "b", 2, 1), (9, "a", 4, 1), (9, "b", 5, 1), (9, None, 6, 1)],
    ),
    Case(
        "top: on a product: of the rows at or below",
        lambda f: pairs(f).top(2, by="k", order="x"),
        {"s": GRID},
        [
            (0, 0, "a", 5, 1),
            (0, 1, "a", 2, 1),
            (0, 1, "a", 5, 2),
            (1, 0, "a", 4, 1),
            (1, 0, "a", 5, 2),
            (1, 1, "a", 2, 1),
            (1, 1, "a", 4, 2),
            (2, 0, "b", 16, 1),
            (2, 2, "a", 1, 1),
            (2, 2, "a", 2, 2),
        ],
    ),
    Case(
        "top: complete on a product: groups that have a row at or below",
        lambda f: pairs(f).top(1, by="k", order="x DESC", emit="complete"),
        {"s": [(0, 1, "a", 1), (1, 0, "b", 2), (2, 2, "a", 0)]},
        [(0, 1, "a", 1, 1), (1, 0, "b", 2, 1), (2, 2, "a", 1, 1), (2, 2, "b", 2, 1)],
    ),
    Case(
        "top: with every on one column of a product",
        lambda f: pairs(f).top(1, order="x", every={"v": 2}),
        {"s": GRID},
        [(1, 0, "a", 4, 1), (1, 1, "a", 2, 1), (3, 0, "a", 4, 1), (3, 2, "a", 1, 1)],
    ),
    Case(
        "last: 1 is the latest, by time and then by all columns",
        lambda f: ints(f).with_columns(was="t").last(2, by="k"),
        {"s": ROWS},
        [
            (1, "a", 1, 1, 1),
            (2, "a", 4, 2, 1),
            (2, "a", 3, 2, 2),
            (2, "b", 2, 2, 1),
            (5, "b", 5, 5, 1),
            (5, "b", 2, 2, 2),
            (5, None, 6, 5, 1),
            (7, "a", 2, 7, 1),
            (7, "a", 4, 2, 2),
        ],
    ),
    Case(
        "last: on a product, by the first time column, then by the second",
        lambda f: pairs(f).last(1, by="k"),
        {"s": GRID},
        [
            (0, 0, "a", 5, 1),
            (0, 1, "a", 2, 1),
            (1, 0, "a", 4, 1),
            (1, 1, "a", 8, 1),
            (2, 0, "b", 16, 1),
            (2, 2, "a", 1, 1),
        ],
    ),
    Case(
        "latest: the last row of each group, without a rank",
        lambda f: instants(f).latest("k", emit="complete", every="1 hour"),
        {"s": [(at(1), "a", 1), (at(59), "a", 2), (at(30), "b", 3), (at(61), "b", None)]},
        [
            (at(60 - 1e-6 / 60), "a", 2),
            (at(60 - 1e-6 / 60), "b", 3),
            (at(120 - 1e-6 / 60), "a", 2),
            (at(120 - 1e-6 / 60), "b", None),
        ],
    ),
    Case(
        "latest: of one time, the greatest",
        lambda f: days(f).latest("k"),
        {"s": [(day(1), "a", 1), (day(1), "a", 3), (day(1), "a", None), (day(2), "a", 0), (day(2), "b", 0)]},
        [(day(1), "a", 3), (day(2), "a", 0), (day(2), "b", 0)],
    ),
    Case(
        "windows: the first rows of each window and group",
        lambda f: ints(f).window(4, every=2).top(1, by="k", order="x DESC"),
        {"s": ROWS},
        [
            (1, span(-2, 2), "a", 1, 1),
            (3, span(0, 4), "a", 4, 1),
            (3, span(0, 4), "b", 2, 1),
            (5, span(2, 6), "a", 4, 1),
            (5, span(2, 6), "b", 5, 1),
            (5, span(2, 6), None, 6, 1),
            (7, span(4, 8), "a", 2, 1),
            (7, span(4, 8), "b", 5, 1),
            (7, span(4, 8), None, 6, 1),
            (9, span(6, 10), "a", 2, 1),
        ],
    ),
    Case(
        "windows: the last rows, over one column of a product",
        lambda f: pairs(f).window(2, over="v").last(2),
        {"s": GRID},
        [
            (1, 0, span(0, 2), "a", 4, 1),
            (1, 0, span(0, 2), "a", 5, 2),
            (1, 1, span(0, 2), "a", 8, 1),
            (1, 1, span(0, 2), "a", 2, 2),
            (3, 0, span(2, 4), "b", 16, 1),
            (3, 2, span(2, 4), "a", 1, 1),
        ],
    ),
    Case(
        "windows: the latest row, with lateness",
        lambda f: ints(f).window(5, lateness=10).latest("k"),
        {"s": [(1, "a", 1), (3, "a", 0), (6, "a", 5)]},
        [(4, span(0, 5), "a", 0, 0), (9, span(5, 10), "a", 5, 0)],
    ),
    Case(
        "sessions: the first rows of each session and group",
        lambda f: ints(f).session(3).top(2, by="k", order="x DESC"),
        {"s": [*ROWS, (4, "a", 9)]},
        [
            (6, span(1, 7), "a", 9, 1),
            (6, span(1, 7), "a", 4, 2),
            (4, span(2, 5), "b", 2, 1),
            (7, span(5, 8), "b", 5, 1),
            (7, span(5, 8), None, 6, 1),
            (9, span(7, 10), "a", 2, 1),
        ],
    ),
    Case(
        "forget: the list begins anew",
        lambda f: ints(f).top(2, by="k", order="x DESC", forget=3),
        {"s": [(1, "a", 9), (3, "a", 1), (5, "a", 2), (8, "a", 0), (8, "b", 5), (10, "a", 7)]},
        [
            (1, "a", 9, 1),
            (3, "a", 9, 1),
            (3, "a", 1, 2),
            (5, "a", 9, 1),
            (5, "a", 2, 2),
            (8, "a", 0, 1),
            (8, "b", 5, 1),
            (10, "a", 7, 1),
            (10, "a", 0, 2),
        ],
    ),
    Case(
        "forget: complete leaves out groups that were silent so long",
        lambda f: ints(f).latest("k", emit="complete", forget=3),
        {"s": [(1, "a", 1), (2, "b", 2), (3, "b", 3), (4, "c", 4), (6, None, 6)]},
        [
            (1, "a", 1),
            (2, "a", 1),
            (2, "b", 2),
            (3, "a", 1),
            (3, "b", 3),
            (4, "b", 3),
            (4, "c", 4),
            (6, "c", 4),
            (6, None, 6),
        ],
    ),
    Case(
        "forget: without groups, with every",
        lambda f: ints(f).last(2, every=2, forget=4),
        {"s": [(1, "a", 1), (2, "b", 2), (7, "b", 3), (8, "c", 4)]},
        [(1, "a", 1, 1), (3, "b", 2, 1), (3, "a", 1, 2), (7, "b", 3, 1), (9, "c", 4, 1), (9, "b", 3, 2)],
    ),
]
