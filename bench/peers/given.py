"""What engines are asked, on which rows, and whether what they answer is what a plain query gives."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb

import tidegate as tg

__all__ = ["QUESTIONS", "check", "generate"]

ROWS = """
    SELECT TIMESTAMP '2026-01-01' + to_microseconds(3600 * i) AS ts, 'key-' || (hash(i) % 1000) AS key,
        (hash(i + 7) % 1000)::INT AS amount
    FROM range({rows}) AS t(i)
"""
TEXTS = "SELECT strftime(ts, '%Y-%m-%dT%H:%M:%S.%f') AS ts, key, amount FROM rows"
MINUTE = "strftime(time_bucket(INTERVAL 1 minute, {ts}), '%Y-%m-%dT%H:%M:%S') AS minute"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a file: two numbers of a key in a minute, and a plain query for them."""

    numbers: tuple[str, str]
    expected: str


QUESTIONS = {
    "count": Question(
        ("n", "total"),
        f"SELECT {MINUTE.format(ts='ts')}, key, count(*) AS n, sum(amount) AS total FROM rows GROUP BY ALL",
    ),
    "join": Question(
        ("low", "high"),
        f"""
            SELECT {MINUTE.format(ts="l.ts")}, key, l.amount AS low, r.amount AS high FROM rows AS l JOIN rows AS r
            USING (key) WHERE l.amount < 200 AND r.amount >= 800
            AND time_bucket(INTERVAL 1 minute, l.ts) = time_bucket(INTERVAL 1 minute, r.ts)
        """,
    ),
}


def generate(place: Path, rows: int) -> duckdb.DuckDBPyConnection:
    """Write the rows as Parquet, CSV and JSON; return where the answers are, in a table for each question."""
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE rows AS {ROWS.format(rows=rows)}")
    for name, question in QUESTIONS.items():
        counted = f"SELECT *, count(*)::BIGINT AS times FROM ({question.expected}) GROUP BY ALL"
        connection.execute(f'CREATE TABLE "{name}" AS {counted}')
    connection.execute(f"COPY rows TO '{place}/rows.parquet'")
    connection.execute(f"COPY ({TEXTS}) TO '{place}/rows.csv' (HEADER)")
    connection.execute(f"COPY ({TEXTS}) TO '{place}/rows.json'")
    connection.execute("DROP TABLE rows")
    return connection


def check(engine: str, question: str, output: Path, connection: duckdb.DuckDBPyConnection) -> None:
    """Raise unless the answers of an engine are those of the plain query, each as often."""
    first, second = QUESTIONS[question].numbers
    picked = f"minute, key, {first}::BIGINT AS {first}, {second}::BIGINT AS {second}"
    times = "count(*)"
    if engine == "tidegate":
        connection.register("written", tg.read(tg.local(), output / "0").to_arrow_table())
        minute = MINUTE.format(ts="ts AT TIME ZONE 'UTC'")
        found = f"SELECT *, {minute} FROM written"
    elif engine == "bytewax":
        columns = ", ".join(f"'{name}': 'VARCHAR'" for name in ("minute", "key", first, second))
        found = f"SELECT * FROM read_csv('{output}', header = false, columns = {{{columns}}})"
    else:
        # A row that was replaced by another is there with a difference of -1.
        found, times = f"SELECT * FROM read_csv('{output}', all_varchar = true)", "sum(diff::INT)"
    answers = f"SELECT {picked}, {times}::BIGINT AS times FROM ({found}) GROUP BY ALL HAVING {times} > 0"
    same = f'SELECT * FROM "{question}" INTERSECT SELECT * FROM ({answers})'
    queries = (f'"{question}"', f"({same})", f"({answers})")
    wanted, right, got = (connection.execute(f"SELECT sum(times) FROM {q}").fetchall()[0][0] for q in queries)
    if not wanted == right == got:
        raise RuntimeError(f"{engine}, {question}: expected {wanted} answers, got {got}, of which {right} are right")
