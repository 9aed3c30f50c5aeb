"""Lists that have to be close: the sums of both are compared before their elements are, and choose no other pairs."""

from __future__ import annotations

from random import Random

import duckdb
import pyarrow as pa
import pytest

from tidegate.flow.agreed.close import close_lists
from tidegate.flow.agreed.compile import compiled, compiled_condition
from tidegate.flow.agreed.parsing import parse_plain
from tidegate.flow.schema import Column
from tidegate.local_engine.backend import LocalBackend

CLOSE = "reduce(zip_with(l.a, r.a, (x, y) -> abs(x - y)), CAST(0 AS DOUBLE), (s, t) -> s + t)"
LISTS = {
    "l.i": "INT",
    "r.i": "INT",
    "l.a": "ARRAY<DOUBLE>",
    "r.a": "ARRAY<DOUBLE>",
    "l.d": "DOUBLE",
    "l.x": "DOUBLE",
    "r.y": "DOUBLE",
}
#: The sums of these are off by more than the lists differ.
CANCELLED = [[1e16, 1.0, -1e16], [1e16, 1.4, -1e16]]


@pytest.mark.parametrize("text", [f"{CLOSE} < 0.5", f"0.5 >= ({CLOSE})", f"({CLOSE} <= 5e-1)", f"{CLOSE} < 1"])
def test_sums_are_compared(text: str) -> None:
    """With the bound on either side, written in any way."""
    assert close_lists(parse_plain(text)) is not None
    assert compiled_condition(text, LISTS, of_pairs=True).lets


@pytest.mark.parametrize(
    "text",
    [
        f"{CLOSE} > 0.5",
        f"{CLOSE} < l.d",
        f"{CLOSE} < 1e301",
        CLOSE.replace("abs(x - y)", "abs(x + y)") + " < 0.5",
        CLOSE.replace("abs(x - y)", "abs(x - x)") + " < 0.5",
        CLOSE.replace("abs(x - y)", "abs(x - 1)") + " < 0.5",
        CLOSE.replace("abs(x - y)", "abs(l.x - r.y)") + " < 0.5",
        CLOSE.replace("s + t", "l.d + t") + " < 0.5",
        CLOSE.replace("abs(x - y)", "(x - y) * (x - y)") + " < 0.5",
        CLOSE.replace("r.a", "l.a") + " < 0.5",
        CLOSE.replace("CAST(0 AS DOUBLE)", "CAST(-1 AS DOUBLE)") + " < 0.5",
    ],
)
def test_near_misses_stay(text: str) -> None:
    """A lower bound or none that is known, other terms, one table, and a sum that begins below 0."""
    assert not compiled_condition(text, LISTS, of_pairs=True).lets


def test_sums_are_computed_once_for_each_row() -> None:
    """The condition itself only compares columns; not so where there are no columns, as in a filter."""
    found = compiled_condition(f"{CLOSE} < 0.5", LISTS, of_pairs=True)
    assert "list_max" not in found.sql
    assert all(('"l"' in sql) + ('"r"' in sql) < 2 for sql, _ in found.lets)
    assert not compiled_condition(f"{CLOSE} < 0.5", LISTS).lets


Lists = list[list[float | None] | None]


Pairs = list[tuple[int | None, int | None]]


def joined(lists: Lists, condition: str | None, how: str = "JOIN", where: str | None = None) -> Pairs:
    """Return the pairs that the local engine chooses."""
    given = pa.table({"i": range(len(lists)), "a": pa.array(lists, pa.list_(pa.float64()))})
    backend = LocalBackend(duckdb.connect())
    left, right = (backend.table(given, (Column("i", "BIGINT"), Column("a", "ARRAY<DOUBLE>"))) for _ in range(2))
    columns = {"i": "l.i", "j": "l.i" if how in ("SEMI JOIN", "ANTI JOIN") else "r.i"}
    found = backend.pairs({"l": left, "r": right}, [condition], [how], where, columns)
    return sorted(((row["i"], row["j"]) for row in found.few()), key=repr)


def compared(lists: Lists, condition: str, how: str = "JOIN") -> Pairs:
    """Return the pairs that the condition as it is written chooses."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE rows (i INT, a DOUBLE[])")
    connection.executemany("INSERT INTO rows VALUES (?, ?)", list(enumerate(lists)))
    other = "l.i" if how in ("SEMI JOIN", "ANTI JOIN") else "r.i"
    text = f"SELECT l.i, {other} FROM rows l {how} rows r ON {compiled(condition, LISTS).sql}"
    return sorted(connection.execute(text).fetchall(), key=repr)


def test_the_same_pairs_are_chosen() -> None:
    """Lists of several lengths, also empty and none, with NULL, NaN, infinities, large and small numbers in them."""
    rng = Random(11)
    special: list[float | None] = [None, float("nan"), float("inf"), float("-inf"), -0.0, 1e308, -1e308, 5e-324]
    lists: Lists = [None, [], *CANCELLED, [1e308, 1e308], [1e308, 1e308]]
    for _ in range(12):
        length, scale = rng.choice([1, 2, 3, 40]), rng.choice([1.0, 1e-9, 1e9, 1e15])
        base = [rng.uniform(-scale, scale) for _ in range(length)]
        for _ in range(8):
            noise = rng.choice([0.0, 1e-12, 0.01, 1.0])
            found: list[float | None] = [x + rng.uniform(-noise, noise) for x in base]
            if rng.random() < 0.2:
                found[rng.randrange(length)] = rng.choice(special)
            lists.append(found)
    for bound in ("0", "1e-9", "0.05", "0.5", "30.0"):
        for sign in ("<", "<="):
            text = f"{CLOSE} {sign} {bound}"
            chosen = joined(lists, text)
            assert chosen == compared(lists, text)
            assert chosen or (bound, sign) == ("0", "<")
            assert len(chosen) < len(lists) ** 2 / 4


#: Close, far, of other lengths; with NULL, NaN, infinity, and no list at all.
SOME: Lists = [[1.0, 2.0], [1.1, 2.1], [3.0, 0.0], [1.0], [], None, [1.0, None], [1.0, float("nan")], [float("inf")]]


@pytest.mark.parametrize("how", ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN"])
def test_every_kind_of_join_chooses_the_same(how: str) -> None:
    """Rows that have no match are left as they are; also with two such conditions, of which the second is wider."""
    assert joined(SOME, f"{CLOSE} < 0.5", how) == compared(SOME, f"{CLOSE} < 0.5", how)
    both = f"{CLOSE} < 0.5 AND l.i <> r.i AND {CLOSE} <= 7"
    assert joined(SOME, both, how) == compared(SOME, both, how)


def test_a_filter_of_pairs_is_as_fast() -> None:
    """A condition after the join also reads columns of sums."""
    assert joined(SOME, None, where=f"{CLOSE} < 0.5") == compared(SOME, f"{CLOSE} < 0.5")


def test_a_table_in_other_letters_is_compared_all_the_same() -> None:
    """Nothing is hoisted if it is not clear of which table it is; the pairs are the same."""
    assert joined(SOME, f"{CLOSE} < 0.5".replace("l.a", "L.a")) == compared(SOME, f"{CLOSE} < 0.5")


@pytest.mark.parametrize("part", ["_EPSILON", "_WIDER"])
def test_sums_that_are_taken_for_exact_are_found(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    """The comparison above would find it if sums were taken as they are, or if the bound were made smaller."""
    monkeypatch.setattr(f"tidegate.flow.agreed.close.{part}", "0.0::DOUBLE" if part == "_EPSILON" else 0.5)
    # The translation of another text, as those of before are remembered.
    text = f"{CLOSE} < 0.4000{'1' if part == '_EPSILON' else '2'}"
    lists: Lists = [*CANCELLED, [0.0], [0.3]]
    assert set(joined(lists, text)) < set(compared(lists, text))
