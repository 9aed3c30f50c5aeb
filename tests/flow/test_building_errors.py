"""Mistakes in building a flow: each message says what was expected, what came, where, and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from tests.flow.case import days, instants, ints, pairs
from tests.flow.test_running_errors import Build, Echo

import tidegate as tg
from tidegate import spec, time
from tidegate.errors import TidegateError
from tidegate.flow import errors
from tidegate.spec import aggregate

FOURS = aggregate.Window(4, 4)
FOLDING = aggregate.Folding(len, max, max, len)


def both(make: Callable[[Any], Any], order: Any) -> Any:
    """An operator twice on one stream, and the two streams made one again."""
    return spec.comp_op(aggregate.both_op(make(order), make(order)), spec.union_op(order))


#: What is built; the class of the error, also the built-in that it is; and the whole message.
BUILDING: dict[str, tuple[Build, type[Exception], type[Exception], str]] = {
    "an unknown column": (
        lambda f: ints(f).where("k = 'a' AND xx > 100"),
        errors.UnknownColumn,
        LookupError,
        """unknown column xx
  k = 'a' AND xx > 100
              ^^
  columns: t INT, k STRING, x INT
  at: where(…) on s
  at: flow 'bad'
  hint: did you mean x?""",
    ),
    "a zone for dates": (
        lambda f: days(f).window("1 month", zone="Europe/Berlin"),
        errors.BadTime,
        TypeError,
        """expected no zone, as the time column t is DATE, got 'Europe/Berlin'
  at: window(…) on s
  at: flow 'bad'
  hint: only a TIMESTAMP is an instant, of which a zone says the local date; leave zone out""",
    ),
    "a zone that is not there": (
        lambda f: instants(f).window("1 day", zone="Europe/Atlantis"),
        errors.BadArgument,
        TypeError,
        """expected a time zone by name, got 'Europe/Atlantis'
  at: window(…) on s
  at: flow 'bad'
  hint: "UTC", "Europe/Copenhagen\"""",
    ),
    "hours of a zone": (
        lambda f: instants(f).window("12 hours", zone="Europe/Berlin"),
        errors.BadSpan,
        ValueError,
        """expected size of whole days, weeks, months or years, got '12 hours'
  at: window(…) on s
  at: flow 'bad'
  hint: size="1 day\"""",
    ),
    "months that begin on any day": (
        lambda f: instants(f).window("1 month", offset="3 days"),
        errors.BadSpan,
        ValueError,
        """expected offset of whole months, as the size is, got '3 days'
  at: window(…) on s
  at: flow 'bad'
  hint: offset="1 month\"""",
    ),
    "months between which rows are lost": (
        lambda f: instants(f).window("1 month", every="2 months"),
        errors.BadSpan,
        ValueError,
        """expected every of at most the size, 1 month, got 2 months: rows between windows would be lost
  at: window(…) on s
  at: flow 'bad'
  hint: choose the rows with where(…) first, and then windows without gaps""",
    ),
    "months that are revised": (
        lambda f: instants(f).window("1 month", lateness="1 day"),
        errors.NotSupported,
        NotImplementedError,
        """windows by the calendar have no lateness, got '1 day'
  at: window(…) on s
  at: flow 'bad'
  hint: leave lateness out, or take windows of a fixed length, such as size="30 days" without a zone""",
    ),
    "a time before the row's own": (
        lambda f: ints(f).at("t - 3"),
        errors.BadTime,
        TypeError,
        """expected a time at or above t, got t - 3: 3 before it
  at: at(…) on s
  at: flow 'bad'
  hint: a row can only move to a later time; shift the other stream forward instead""",
    ),
    "a time of another type": (
        lambda f: instants(f).at("x"),
        errors.BadTime,
        TypeError,
        """expected a time of type TIMESTAMP for t, got x of type INT
  at: at(…) on s
  at: flow 'bad'
  hint: CAST(x AS TIMESTAMP)""",
    ),
    "a time that does not say which": (
        lambda f: pairs(f).at("w + 1"),
        errors.BadArgument,
        TypeError,
        """expected an expression for each time column that changes, by name, got 'w + 1'
  at: at(…) on s
  at: flow 'bad'
  hint: at(v=…, w=…)""",
    ),
    "no time": (
        lambda f: ints(f).at(),
        errors.BadArgument,
        TypeError,
        """expected an expression for the new time, got none
  at: at(…) on s
  at: flow 'bad'
  hint: for example at("ends")""",
    ),
    "a column that is no time": (
        lambda f: ints(f).at(x="t"),
        errors.BadTime,
        TypeError,
        """expected a time column (t), got x INT
  at: at(…) on s
  at: flow 'bad'
  hint: with_columns(…) changes other columns""",
    ),
    "a column of a graph": (
        lambda f: tg.graph.components(ints(f), "kk", "k"),
        errors.UnknownColumn,
        LookupError,
        """unknown column kk
  columns: t INT, k STRING, x INT
  at: graph.components(…) on s
  at: flow 'bad'
  hint: did you mean k?""",
    ),
    "texts with a collation": (
        lambda f: f.source("s", "t INT, k STRING COLLATE UNICODE_CI", time="t"),
        errors.BadSchema,
        ValueError,
        """expected a type that flows support, got 't INT, k STRING COLLATE UNICODE_CI': texts are compared as they \
are, without a collation
  at: source 's'
  at: flow 'bad'
  hint: cast it before the flow""",
    ),
    "a time of day": (
        lambda f: f.source("s", {"t": "INT", "k": "time(6)"}, time="t"),
        errors.BadSchema,
        ValueError,
        """expected a type that flows support, got 'time(6)': times of day are not supported
  at: source 's'
  at: flow 'bad'
  hint: cast it before the flow""",
    ),
    "a column that a watermark goes by": (
        lambda f: f.source("s", "t INT, k STRING", time="t", watermark=tg.bounded(1, by="kk")),
        errors.UnknownColumn,
        LookupError,
        """unknown column kk
  columns: t INT, k STRING
  at: bounded(…, by='kk')
  at: source 's'
  at: flow 'bad'
  hint: did you mean k?""",
    ),
    "the time of a window as an aggregate": (
        lambda f: ints(f).window(5).aggregate(at="t"),
        errors.BadExpression,
        ValueError,
        """expected an aggregate over many rows, got a value of one row
  t
  ^
  at: window(…).aggregate(…) on s
  at: flow 'bad'
  hint: time columns are part of every result; of a window, window.start and window.end can be read after it""",
    ),
    "an ambiguous column": (
        lambda f: ints(f, "l").join(ints(f, "r", "k STRING, x INT").select("k", "x AS y"), on=(), where="k = 'a'"),
        errors.ColumnClash,
        ValueError,
        """both sides have a column k that is not joined on
  at: join(…) on l
  at: flow 'bad'
  hint: select#1.select('k AS right_k', 'y')""",
    ),
    "an ambiguous column in a condition": (
        lambda f: ints(f, "l").join(ints(f, "r"), on="k", where="x > 1", how="semi"),
        errors.AmbiguousColumn,
        LookupError,
        """column x is on both sides
  x > 1
  ^
  at: join(…) on l
  at: flow 'bad'
  hint: write left.x or right.x""",
    ),
    "an aggregate where a scalar is needed": (
        lambda f: ints(f).select("k", "1 + sum(x) AS total"),
        errors.BadExpression,
        ValueError,
        """expected a value of one row, got the aggregate sum
  1 + sum(x) AS total
      ^^^
  at: select(…) on s
  at: flow 'bad'
  hint: aggregates belong in aggregate(…), window(…).aggregate(…) or accumulate(…)""",
    ),
    "a scalar where an aggregate is needed": (
        lambda f: ints(f).aggregate("x + 1 AS y", by="k"),
        errors.BadExpression,
        ValueError,
        """expected an aggregate over many rows, got a value of one row
  x + 1 AS y
  ^^^^^
  at: aggregate(…) on s
  at: flow 'bad'
  hint: for example sum(x), max(x), count(*); a column to keep belongs in by""",
    ),
    "a column beside an aggregate": (
        lambda f: ints(f).window(5).aggregate("sum(x) + x AS y", by="k"),
        errors.BadExpression,
        ValueError,
        """column x is outside of an aggregate function
  sum(x) + x AS y
           ^
  at: window(…).aggregate(…) on s
  at: flow 'bad'
  hint: wrap it, for example max(x), or group by it: by='x'""",
    ),
    "an unknown column inside of an aggregate": (
        lambda f: ints(f).accumulate("sum(y) AS total", by="k"),
        errors.UnknownColumn,
        LookupError,
        """unknown column y
  sum(y) AS total
      ^
  columns: t INT, k STRING, x INT
  at: accumulate(…) on s
  at: flow 'bad'""",
    ),
    "an aggregate of an aggregate": (
        lambda f: ints(f).aggregate("max(count(*)) AS n"),
        errors.BadExpression,
        ValueError,
        """count is inside of max
  max(count(*)) AS n
      ^^^^^
  at: aggregate(…) on s
  at: flow 'bad'
  hint: aggregate twice: first one, then the other on its result""",
    ),
    "an aggregate function that is misspelt": (
        lambda f: ints(f).aggregate("averge(x) AS y"),
        errors.BadExpression,
        ValueError,
        """expected an aggregate over many rows, got a value of one row
  averge(x) AS y
  ^^^^^^^^^
  at: aggregate(…) on s
  at: flow 'bad'
  hint: did you mean avg?""",
    ),
    "an expression that does not parse": (
        lambda f: ints(f).where("k = 'a' AND x > = 1"),
        errors.BadExpression,
        ValueError,
        """this expression does not parse
  k = 'a' AND x > = 1
                  ^
  at: where(…) on s
  at: flow 'bad'
  hint: an expression is one entry of a SELECT in Spark SQL""",
    ),
    "several expressions in one": (
        lambda f: ints(f).select("k, x"),
        errors.BadExpression,
        ValueError,
        """expected one expression, got several
  k, x
   ^
  at: select(…) on s
  at: flow 'bad'
  hint: pass several as separate arguments: "a", "b\"""",
    ),
    "a query as an expression": (
        lambda f: ints(f).where("x IN (SELECT 1)"),
        errors.BadExpression,
        ValueError,
        """an expression cannot contain a query
  x IN (SELECT 1)
  ^^^^^^^^^^^^^^^
  at: where(…) on s
  at: flow 'bad'
  hint: use join(…) with a stream or a table""",
    ),
    "a function that gives another value each time": (
        lambda f: ints(f).with_columns(now="current_timestamp()"),
        errors.BadExpression,
        ValueError,
        """current_timestamp gives another value each time
  current_timestamp()
  ^^^^^^^^^^^^^^^^^
  at: with_columns(…) on s
  at: flow 'bad'
  hint: answers must depend on rows only: make it a column of the source""",
    ),
    "a window function": (
        lambda f: ints(f).select("sum(x) OVER (ORDER BY t) AS y"),
        errors.BadExpression,
        ValueError,
        """OVER has no meaning on a stream
  sum(x) OVER (ORDER BY t) AS y
         ^^^^
  at: select(…) on s
  at: flow 'bad'
  hint: use accumulate(…) for running values, window(…) or session(…) for spans of time""",
    ),
    "an expression without a name": (
        lambda f: ints(f).select("x + 1"),
        errors.BadExpression,
        ValueError,
        """an expression needs a name
  x + 1
  at: select(…) on s
  at: flow 'bad'
  hint: "x + 1 AS name\"""",
    ),
    "a condition that is none": (
        lambda f: ints(f).where("x + 1"),
        errors.BadArgument,
        TypeError,
        """expected a condition, got x + 1 of type INT
  at: where(…) on s
  at: flow 'bad'
  hint: compare it with something""",
    ),
    "a field that is not there": (
        lambda f: ints(f, columns="p STRUCT<a: INT>").select("p.b"),
        errors.BadExpression,
        ValueError,
        """no field b in STRUCT<a: INT>
  p.b
    ^
  at: select(…) on s
  at: flow 'bad'
  hint: fields: a""",
    ),
    "a time column of the wrong type": (
        lambda f: f.source("s", "t STRING, x INT", time="t"),
        errors.BadTime,
        TypeError,
        """expected a time column of an integer type, DATE or TIMESTAMP, got t STRING
  at: source 's'
  at: flow 'bad'
  hint: derive a column of such a type before the rows come in""",
    ),
    "a time column that is not there": (
        lambda f: f.source("s", "ts TIMESTAMP, x INT", time="tss"),
        errors.UnknownColumn,
        LookupError,
        """unknown column tss
  columns: ts TIMESTAMP, x INT
  at: source 's'
  at: flow 'bad'
  hint: did you mean ts?""",
    ),
    "a time column that is redefined": (
        lambda f: ints(f).with_columns(t="t + 1"),
        errors.ColumnClash,
        ValueError,
        """expected the time column t unchanged, got t + 1 AS t
  at: with_columns(…) on s
  at: flow 'bad'
  hint: a row keeps its time; give the new column another name, or move the row with at(…)""",
    ),
    "a schema that does not parse": (
        lambda f: f.source("s", "t INT x STRING", time="t"),
        errors.BadSchema,
        ValueError,
        """this schema does not parse
  t INT x STRING
        ^
  at: source 's'
  at: flow 'bad'
  hint: write it as "name TYPE, name TYPE, …", for example "ts TIMESTAMP, page STRING\"""",
    ),
    "two columns of one name": (
        lambda f: f.source("s", "t INT, x INT, X STRING", time="t"),
        errors.ColumnClash,
        ValueError,
        """two columns of the result would be called X
  at: source 's'
  at: flow 'bad'
  hint: names that differ only in case are the same; rename one of the columns""",
    ),
    "a window smaller than one unit": (
        lambda f: days(f).window("12 hours"),
        errors.BadSpan,
        ValueError,
        """expected a size in units of 1 day, as the time column is DATE, got '12 hours'
  at: window(…) on s
  at: flow 'bad'
  hint: size="7 days\"""",
    ),
    "a window of nothing": (
        lambda f: instants(f).window("0 seconds"),
        errors.BadSpan,
        ValueError,
        """expected a size of at least 1 microsecond, one unit of TIMESTAMP, got '0 seconds'
  at: window(…) on s
  at: flow 'bad'
  hint: size="10 minutes\"""",
    ),
    "a gap of a calendar month": (
        lambda f: instants(f).session("1 month"),
        errors.BadSpan,
        ValueError,
        """a gap of calendar months has no fixed length, got '1 month'
  at: session(…) on s
  at: flow 'bad'
  hint: take days or weeks; or count them: declare an INT column such as year * 12 + month as the time""",
    ),
    "a span of time on integers": (
        lambda f: ints(f).session("5 minutes"),
        errors.BadSpan,
        ValueError,
        """expected a gap that is an integer, as the time column is INT, got '5 minutes'
  at: session(…) on s
  at: flow 'bad'
  hint: gap=10""",
    ),
    "windows with gaps between them": (
        lambda f: instants(f).window("1 hour", every="1 day"),
        errors.BadSpan,
        ValueError,
        """expected every of at most the size, 1 hour, got 1 day: rows between windows would be lost
  at: window(…) on s
  at: flow 'bad'
  hint: choose the rows with where(…) first, and then windows without gaps""",
    ),
    "windows that do not advance": (
        lambda f: ints(f).window(5, every=0),
        errors.BadSpan,
        ValueError,
        """expected an every of at least 1, one unit of INT, got 0
  at: window(…) on s
  at: flow 'bad'
  hint: every=10""",
    ),
    "a lateness below 0": (
        lambda f: ints(f).window(5, lateness=-1),
        errors.BadSpan,
        ValueError,
        """expected a lateness of at least 0, got -1
  at: window(…) on s
  at: flow 'bad'
  hint: lateness=10""",
    ),
    "windows on several time columns": (
        lambda f: pairs(f).window(5),
        errors.BadArgument,
        TypeError,
        """expected over, as there are several time columns: v, w
  at: window(…) on s
  at: flow 'bad'
  hint: over='v' or over='w'""",
    ),
    "a join of streams with different times": (
        lambda f: ints(f, "l").join(instants(f, "r", "k STRING, y INT"), on="k"),
        errors.TimesDiffer,
        ValueError,
        """expected two streams with the same time columns, got
  l: t INT
  r: t TIMESTAMP
  at: join(…) on l
  at: flow 'bad'
  hint: name and type the time columns alike where the sources are declared: a stream cannot change its time""",
    ),
    "a join on columns of different types": (
        lambda f: ints(f, "l").join(ints(f, "r", "k INT, y INT"), on="k"),
        errors.BadArgument,
        TypeError,
        """expected k of one type on both sides, got STRING on the left and INT on the right
  at: join(…) on l
  at: flow 'bad'
  hint: with_columns(k="CAST(k AS …)") on one side""",
    ),
    "a join that compares equal times": (
        lambda f: ints(f, "l").join(ints(f, "r", "k STRING, y INT"), on="k", where="t BETWEEN right.t AND y"),
        errors.BadArgument,
        TypeError,
        """expected no comparison of left.t with right.t: rows of equal times are joined
  at: join(…) on l
  at: flow 'bad'
  hint: interval_join(other, on, lower=…, upper=…) pairs rows of different times""",
    ),
    "a left join of rows that may come at any time": (
        lambda f: ints(f, "l").interval_join(ints(f, "r", "k STRING, y INT"), on="k", lower=0, how="left"),
        errors.BadArgument,
        TypeError,
        """expected upper in a join of kind left: without it, a match may come at any later time
  at: interval_join(…) on l
  at: flow 'bad'
  hint: give upper, a span""",
    ),
    "bounds the wrong way round": (
        lambda f: instants(f, "l").interval_join(
            instants(f, "r", "k STRING, y INT"), on="k", lower="1 hour", upper="-1 hour"
        ),
        errors.BadSpan,
        ValueError,
        """expected lower of at most upper, got 1 hour and -1 hour: nothing is between them
  at: interval_join(…) on l
  at: flow 'bad'
  hint: lower <= other's time - this row's time <= upper""",
    ),
    "the first match on several time columns": (
        lambda f: pairs(f, "l").interval_join(pairs(f, "r", "k STRING, y INT"), on="k", how="semi"),
        errors.BadArgument,
        TypeError,
        """expected over in a join of kind semi: on several time columns there may be several first matches
  at: interval_join(…) on l
  at: flow 'bad'
  hint: over='v' or over='w'""",
    ),
    "an interval on several time columns": (
        lambda f: pairs(f, "l").interval_join(pairs(f, "r", "k STRING, y INT"), on="k", upper=3),
        errors.BadArgument,
        TypeError,
        """expected over, as there are several time columns: v, w
  at: interval_join(…) on l
  at: flow 'bad'
  hint: over='v' or over='w'""",
    ),
    "a parameter that would hide a side": (
        lambda f: ints(f, "l", "k STRING, xs ARRAY<INT>").interval_join(
            ints(f, "r", "k STRING, y INT"),
            on="k",
            lower=0,
            upper=3,
            how="full",
            where="exists(left.xs, right -> right > left.t)",
        ),
        errors.BadExpression,
        ValueError,
        """expected no parameter called right around a column of left in a join of kind full
  exists(`left`.xs, right -> right > `left`.t)
                                     ^^^^^^
  at: interval_join(…) on l
  at: flow 'bad'
  hint: call the parameter otherwise""",
    ),
    "an interval join with a table": (
        lambda f: ints(f, "l").interval_join(f.table("r", "k STRING, y INT"), on="k"),
        errors.BadTime,
        TypeError,
        """expected a stream, got the table r: it has no time
  at: interval_join(…) on l
  at: flow 'bad'
  hint: join(…) takes one""",
    ),
    "an unknown column of the other side to join on": (
        lambda f: ints(f, "l").join(ints(f, "r", "name STRING, y INT"), on={"k": "nam"}),
        errors.UnknownColumn,
        LookupError,
        """unknown column nam
  columns: t INT, name STRING, y INT
  at: on of the right side, r
  at: join(…) on l
  at: flow 'bad'
  hint: did you mean name?""",
    ),
    "a column to join on that the other side has as well": (
        lambda f: ints(f, "l").join(ints(f, "r", "name STRING, k INT"), on={"k": "name"}),
        errors.ColumnClash,
        ValueError,
        """r has a column k, which is not the one that is joined on
  at: join(…) on l
  at: flow 'bad'
  hint: give it another name: r.select(…)""",
    ),
    "an order with a word too many": (
        lambda f: ints(f).top(1, order="x descending"),
        errors.BadArgument,
        TypeError,
        """expected columns in order, each with ASC or DESC and NULLS FIRST or LAST if wanted, got x descending
  at: top(…) on s
  at: flow 'bad'
  hint: "price DESC", "price DESC NULLS LAST\"""",
    ),
    "an order by a number": (
        lambda f: ints(f).top(1, order="1"),
        errors.BadArgument,
        TypeError,
        """expected columns in order, each with ASC or DESC and NULLS FIRST or LAST if wanted, got 1
  at: top(…) on s
  at: flow 'bad'
  hint: "price DESC", "price DESC NULLS LAST\"""",
    ),
    "a full join with a table": (
        lambda f: ints(f, "l").join(f.table("r", "k STRING"), on="k", how="outer"),
        errors.BadArgument,
        TypeError,
        """a full join with the table r is not possible: its rows without a match have no time
  at: join(…) on l
  at: flow 'bad'
  hint: how="inner", "left", "semi" or "anti\"""",
    ),
    "a table where a stream is needed": (
        lambda f: f.table("r", "k STRING").gate(),
        errors.BadTime,
        TypeError,
        """expected a stream, got the table r: it has no time
  at: gate(…) on r
  at: flow 'bad'
  hint: join a stream with it""",
    ),
    "a union of different columns": (
        lambda f: ints(f, "l").union(ints(f, "r", "x BIGINT, y INT")),
        errors.ColumnClash,
        ValueError,
        """expected two streams with the same columns, got
  r lacks k STRING
  l lacks y INT
  x is INT in l and BIGINT in r
  at: union(…) on l
  at: flow 'bad'
  hint: r.select("CAST(NULL AS STRING) AS k", "CAST(x AS INT) AS x")""",
    ),
    "a time column that is left out": (
        lambda f: pairs(f).drop("k", "W"),
        errors.BadTime,
        TypeError,
        """expected columns other than the time columns v, w, got w, which cannot be left out
  at: drop(…) on s
  at: flow 'bad'
  hint: a row keeps its time, under the name that the source gives it; with_columns(copy="w") makes a copy""",
    ),
    "a column to leave out that is not there": (
        lambda f: ints(f).drop("kk"),
        errors.UnknownColumn,
        LookupError,
        """unknown column kk
  columns: t INT, k STRING, x INT
  at: drop(…) on s
  at: flow 'bad'
  hint: did you mean k?""",
    ),
    "a time column that is renamed": (
        lambda f: ints(f).rename(at="T"),
        errors.BadTime,
        TypeError,
        """expected columns other than the time column t, got t, which cannot be renamed
  at: rename(…) on s
  at: flow 'bad'
  hint: a row keeps its time, under the name that the source gives it; with_columns(copy="t") makes a copy""",
    ),
    "two new names for one column": (
        lambda f: ints(f).rename(a="x", b="X"),
        errors.ColumnClash,
        ValueError,
        """expected one new name for x, got a and b
  at: rename(…) on s
  at: flow 'bad'
  hint: with_columns(b="x") makes a copy""",
    ),
    "a new name that another column has": (
        lambda f: ints(f).rename(k="x"),
        errors.ColumnClash,
        ValueError,
        """two columns of the result would be called k
  at: rename(…) on s
  at: flow 'bad'
  hint: give one another name: with AS here, or before with rename(…) or drop(…)""",
    ),
    "two sinks of one name": (
        lambda f: [f.sink("out", s) for s in [ints(f)] * 2],
        errors.NameTaken,
        ValueError,
        """there already is a sink 'out', of s
  at: sink 'out'
  at: flow 'bad'
  hint: give each sink a name of its own; replace=True replaces it, for a notebook cell that is run again""",
    ),
    "two sources of one name": (
        lambda f: [ints(f), ints(f)],
        errors.NameTaken,
        ValueError,
        """there already is a source 's'
  at: source 's'
  at: flow 'bad'
  hint: take another name; replace=True replaces it, for a notebook cell that is run again""",
    ),
    "a stream of another flow": (
        lambda f: ints(f).union(ints(tg.Flow("other"))),
        errors.BadArgument,
        TypeError,
        """the stream s belongs to another flow, 'other'
  at: union(…) on s
  at: flow 'bad'
  hint: build the whole flow on one Flow""",
    ),
    "a third stream that does not fit": (
        lambda f: ints(f).union(ints(f, "l"), ints(f, "r", "k STRING, x BIGINT")),
        errors.ColumnClash,
        ValueError,
        """expected two streams with the same columns, got
  x is INT in s and BIGINT in r
  at: union(…) on s
  at: flow 'bad'
  hint: r.select("k", "CAST(x AS INT) AS x")""",
    ),
    "revised answers as input": (
        lambda f: ints(f).window(5, lateness=5).aggregate(n="count(*)").where("n > 1"),
        errors.BadTime,
        TypeError,
        """window#1 has lateness: its answers may be revised, so no operator can follow it
  at: where(…) on window#1
  at: flow 'bad'
  hint: send it to a sink, or leave lateness out""",
    ),
    "a join that may lose its last row": (
        lambda f: ints(f).window_join(ints(f, "r"), on=("k", "x"), size=5, lateness=5, how="left anti"),
        errors.BadArgument,
        TypeError,
        """expected no lateness in a join of kind anti: its last revision may be empty, and no row can say so
  at: window_join(…) on s
  at: flow 'bad'
  hint: how="left" has the rows without a match too, and revises them; or leave lateness out""",
    ),
    "early pairs of an outer join": (
        lambda f: ints(f).window_join(ints(f, "r"), on=("k", "x"), size=5, how="left", early=True),
        errors.BadArgument,
        TypeError,
        """expected early=True in an inner join only, got one of kind left: whether a row has no match is known when \
its window is complete
  at: window_join(…) on s
  at: flow 'bad'
  hint: how="inner", or leave early out""",
    ),
    "early pairs by a text": (
        lambda f: ints(f).window_join(ints(f, "r"), on=("k", "x"), size=5, early="no"),
        errors.BadArgument,
        TypeError,
        """expected early=True or early=False, got 'no'
  at: window_join(…) on s
  at: flow 'bad'
  hint: True: a pair comes with its later row""",
    ),
    "early pairs that are revised": (
        lambda f: ints(f).window_join(ints(f, "r"), on=("k", "x"), size=5, lateness=5, early=True),
        errors.BadArgument,
        TypeError,
        """expected early=True or lateness, got both: a revision answers a whole window again
  at: window_join(…) on s
  at: flow 'bad'
  hint: leave one of them out""",
    ),
    "a revised join with a revision of its own": (
        lambda f: ints(f).window_join(ints(f, "r", "k STRING, revision INT"), on="k", size=5, lateness=5),
        errors.ColumnClash,
        ValueError,
        """two columns of the result would be called revision
  at: window_join(…) on s
  at: flow 'bad'
  hint: rename one with select(…)""",
    ),
    "a revised join as input": (
        lambda f: ints(f).window_join(ints(f, "r"), on=("k", "x"), size=5, lateness=5).gate(),
        errors.BadTime,
        TypeError,
        """window_join#1 has lateness: its answers may be revised, so no operator can follow it
  at: gate(…) on window_join#1
  at: flow 'bad'
  hint: send it to a sink, or leave lateness out""",
    ),
    "an operator that gives lists": (
        lambda f: ints(f).process(spec.batch_op(time.Nat()), by="k", schema="n INT"),
        errors.BadArgument,
        TypeError,
        """expected out, as batch_op puts out lists of (time, row)
  at: process(…) on s
  at: flow 'bad'
  hint: out=lambda batch: [{"x": row["x"]} for t, row in batch]""",
    ),
    "an out that is no function": (
        lambda f: ints(f).process(spec.map_op(len), by="k", schema="n INT", out=3),
        errors.BadArgument,
        TypeError,
        """expected a function from what the operator puts out to a dict, or to a list of dicts, in out, got 3 (int)
  at: process(…) on s
  at: flow 'bad'
  hint: out=lambda data: {…}""",
    ),
    "an operator that takes batches": (
        lambda f: ints(f).process(spec.incr_op(), by="k", schema="n INT", out=len),
        errors.BadArgument,
        TypeError,
        """expected an operator on rows, got incr_op: incr_op takes batches
  at: process(…) on s
  at: flow 'bad'
  hint: incr_batch_op(order), which has batch_op before it""",
    ),
    "an operator on two streams": (
        lambda f: ints(f).process(spec.union_op(time.Nat()), by="k", schema="n INT"),
        errors.BadArgument,
        TypeError,
        """expected an operator on one stream, got union_op: it takes two, whose times are Inl and Inr
  at: process(…) on s
  at: flow 'bad'
  hint: use union(…) for union_op and merge_op, join(…) for join_op, window_join(…) for J and composed_J""",
    ),
    "a Join of the paper on Aggregates": (
        lambda f: ints(f).process(aggregate.J(time.Int(), FOURS, FOURS, bool), by="k", schema="n INT"),
        errors.BadArgument,
        TypeError,
        """expected an operator on one stream, got J: it takes two, whose times are Inl and Inr
  at: process(…) on s
  at: flow 'bad'
  hint: use union(…) for union_op and merge_op, join(…) for join_op, window_join(…) for J and composed_J""",
    ),
    "a Join that is composed of Aggregates": (
        lambda f: ints(f).process(aggregate.composed_J(time.Int(), FOURS, FOURS, bool), by="k", schema="n INT"),
        errors.BadArgument,
        TypeError,
        """expected an operator on one stream, got sides_op then merge_op then A_plus: it takes two, \
whose times are Inl and Inr
  at: process(…) on s
  at: flow 'bad'
  hint: use union(…) for union_op and merge_op, join(…) for join_op, window_join(…) for J and composed_J""",
    ),
    "a merge of two streams": (
        lambda f: ints(f).process(aggregate.merge_op(time.Int()), by="k", schema="n INT"),
        errors.BadArgument,
        TypeError,
        """expected an operator on one stream, got merge_op: it takes two, whose times are Inl and Inr
  at: process(…) on s
  at: flow 'bad'
  hint: use union(…) for union_op and merge_op, join(…) for join_op, window_join(…) for J and composed_J""",
    ),
    "an operator for each of two sides": (
        lambda f: ints(f).process(aggregate.sides_op(spec.map_op(len), spec.map_op(len)), by="k", schema="n INT"),
        errors.BadArgument,
        TypeError,
        """expected an operator on one stream, got sides_op: it takes two, whose times are Inl and Inr
  at: process(…) on s
  at: flow 'bad'
  hint: use union(…) for union_op and merge_op, join(…) for join_op, window_join(…) for J and composed_J""",
    ),
    "an operator that makes two streams": (
        lambda f: ints(f).process(aggregate.both_op(spec.map_op(len), spec.map_op(len)), by="k", schema="n INT"),
        errors.BadArgument,
        TypeError,
        """expected an operator whose answers have times of the stream, Int(), got both_op: it makes two streams of \
one, whose times are Inl and Inr
  at: process(…) on s
  at: flow 'bad'
  hint: let an operator follow that makes one stream of the two: merge_op(order), union_op(order), J(order, …)""",
    ),
    "an Aggregate on another order": (
        lambda f: days(f).process(aggregate.A(time.Int(), FOURS, list), by="k", schema="n INT"),
        errors.BadTime,
        TypeError,
        """expected A on the order of the stream's times, EventTime('day'), got Int()
  at: process(…) on s
  at: flow 'bad'
  hint: the order of a stream is stream.schema.order""",
    ),
    "an Aggregate on several time columns": (
        lambda f: pairs(f).process(aggregate.A_plus(time.Int(), FOURS, list), by="k", schema="n INT"),
        errors.BadTime,
        TypeError,
        """expected A_plus on the order of the stream's times, Product(Int(), Int()), got Int()
  at: process(…) on s
  at: flow 'bad'
  hint: operators of tidegate.spec.aggregate need one time column of whole numbers, dates or timestamps; here, use \
aggregate(…) or accumulate(…)""",
    ),
    "A-infinity": (
        lambda f: ints(f).process(
            aggregate.A_infinity(time.Int(), FOLDING, 5, aggregate.no_key), by="k", schema="n INT"
        ),
        errors.NotSupported,
        NotImplementedError,
        """expected an operator that answers because of rows, got A_infinity: state that comes round a loop, as that \
of A-infinity, is answered at the end of every period, without end
  at: process(…) on s
  at: flow 'bad'
  hint: use accumulate(…, every=…)""",
    ),
    "A-infinity that is composed of Aggregates": (
        lambda f: ints(f).process(
            aggregate.composed_infinity(time.Int(), FOLDING, 5, aggregate.no_key, d=2), by="k", schema="n INT"
        ),
        errors.NotSupported,
        NotImplementedError,
        """expected an operator that answers because of rows, got c1_op then map_op then loop_op then map_op \
then flatten_op: state that comes round a loop, as that of A-infinity, is answered at the end of every period, \
without end
  at: process(…) on s
  at: flow 'bad'
  hint: use accumulate(…, every=…)""",
    ),
    "a loop with a schedule": (
        lambda f: ints(f).process(
            aggregate.composed_M(time.Int(), list, using="A", d=2, schedule=[1, 0]), by="k", schema="n INT"
        ),
        errors.NotSupported,
        NotImplementedError,
        """expected a loop without a schedule, got A then c1_op then loop_op then A: what comes round late would be an \
answer at a time that is complete
  at: process(…) on s
  at: flow 'bad'
  hint: leave schedule out""",
    ),
    "windows of keys that are forgotten": (
        lambda f: ints(f).process(aggregate.A(time.Int(), FOURS, list), by="k", schema="n INT", forget=9),
        errors.NotSupported,
        NotImplementedError,
        """expected windows of one unit, as keys are forgotten, got A with windows of 4
  at: process(…) on s
  at: flow 'bad'
  hint: leave forget out, or use window(…).aggregate(…), which keeps a window until it has answered""",
    ),
    "an operator on another order": (
        lambda f: pairs(f).process(
            spec.ihist_op(time.Lexicographic(time.Nat(), time.Nat())), by="k", schema="n INT", out=len
        ),
        errors.BadTime,
        TypeError,
        """expected ihist_op on the order of the stream's times, Product(Int(), Int()), got Lexicographic(Nat(), Nat())
  at: process(…) on s
  at: flow 'bad'
  hint: the order of a stream is stream.schema.order""",
    ),
    "parts of an operator that depend on the linear extension": (
        lambda f: pairs(f).process(
            both(spec.incr_batch_op, time.Product(time.Int(), time.Int())), by="k", schema="n INT"
        ),
        errors.NotSupported,
        NotImplementedError,
        """expected an operator whose answers do not depend on the order of unrelated times, got incr_batch_op
  at: process(…) on s
  at: flow 'bad'
  hint: ihist_op(order) counts what is at or below a time, and accumulate(…) has other aggregates; or write an \
operator that looks only at what is at or below the time that is complete""",
    ),
    "an operator that depends on the linear extension": (
        lambda f: pairs(f).process(
            spec.incr_batch_op(time.Product(time.Nat(), time.Nat())), by="k", schema="n INT", out=len
        ),
        errors.NotSupported,
        NotImplementedError,
        """expected an operator whose answers do not depend on the order of unrelated times, got incr_batch_op
  at: process(…) on s
  at: flow 'bad'
  hint: ihist_op(order) counts what is at or below a time, and accumulate(…) has other aggregates; or write an \
operator that looks only at what is at or below the time that is complete""",
    ),
    "a window where a stream is needed": (
        lambda f: f.sink("out", ints(f).window(5)),
        errors.BadArgument,
        TypeError,
        """expected a stream, got Windowed(s: windows of 5) (Windowed)
  at: sink 'out'
  at: flow 'bad'
  hint: follow window(…) or session(…) with .aggregate(…), .top(…) or .apply(…)""",
    ),
    "a table without columns": (
        lambda f: f.table("r", "k STRING").select(),
        errors.BadArgument,
        TypeError,
        """expected at least one column, got none
  at: select(…) on r
  at: flow 'bad'
  hint: for example select("*")""",
    ),
    "a delay for each of several time columns": (
        lambda f: f.source("s", "v INT, w INT", time=("v", "w"), watermark=tg.bounded(1)),
        errors.BadArgument,
        TypeError,
        """expected one delay for each time column (v, w), got 1
  at: source 's'
  at: flow 'bad'
  hint: bounded(<delay of v>, <delay of w>)""",
    ),
    "an option that is misspelt": (
        lambda f: ints(f).accumulate(n="count(*)", emit="updates"),
        errors.BadArgument,
        TypeError,
        """expected emit to be one of update, complete, got 'updates'
  at: accumulate(…) on s
  at: flow 'bad'
  hint: did you mean update?""",
    ),
    "a rank that is there already": (
        lambda f: ints(f).top(2, by="k", order="x DESC").last(3),
        errors.ColumnClash,
        ValueError,
        """two columns of the result would be called rank
  at: last(…) on top#1
  at: flow 'bad'
  hint: give one of them another name before, with rename(…), or leave it out with drop(…)""",
    ),
    "no order to be the first by": (
        lambda f: ints(f).top(2, by="k"),
        errors.BadArgument,
        TypeError,
        """expected order, by which rows are ranked, got nothing
  at: top(…) on s
  at: flow 'bad'
  hint: "price DESC\"""",
    ),
    "a number of rows that is none": (
        lambda f: ints(f).window(5).last("3", by="k"),
        errors.BadArgument,
        TypeError,
        """expected n, the number of rows, to be an INT of at least 1, got '3'
  at: window(…).last(…) on s
  at: flow 'bad'""",
    ),
    "an unknown column in an order": (
        lambda f: ints(f).top(2, order="x DESC, kk"),
        errors.UnknownColumn,
        LookupError,
        """unknown column kk
  kk
  ^^
  columns: t INT, k STRING, x INT
  at: top(…) on s
  at: flow 'bad'
  hint: did you mean k?""",
    ),
    "an order of what has none": (
        lambda f: ints(f, columns="m MAP<STRING, INT>").top(2, order="m"),
        errors.BadArgument,
        TypeError,
        """expected columns in order that can be sorted, got m of type MAP<STRING, INT>
  at: top(…) on s
  at: flow 'bad'""",
    ),
    "what a product forgets": (
        lambda f: pairs(f).top(2, by="k", order="x", forget=3),
        errors.BadTime,
        TypeError,
        """expected one time column with forget, got v, w
  at: top(…) on s
  at: flow 'bad'
  hint: leave forget out, or take a stream with one time column""",
    ),
    "a silence that is none": (
        lambda f: ints(f).accumulate(n="count(*)", forget=0),
        errors.BadSpan,
        ValueError,
        """expected a forget of at least 1, one unit of INT, got 0
  at: accumulate(…) on s
  at: flow 'bad'
  hint: forget=10""",
    ),
    "two ways to keep a key again": (
        lambda f: ints(f).deduplicate("k", within=3, forget=3),
        errors.BadArgument,
        TypeError,
        """expected within or forget, got both
  at: deduplicate(…) on s
  at: flow 'bad'
  hint: within counts from the last row kept, forget from the last row of the key""",
    ),
    "a class where an operator is needed": (
        lambda f: ints(f).process(Echo, by="k", schema="y INT"),
        errors.BadArgument,
        TypeError,
        """expected an operator with apply(event) and exit(), got <class \
'tests.flow.test_running_errors.Echo'> (ABCMeta)
  at: process(…) on s
  at: flow 'bad'
  hint: pass an operator, not its class or a function; see tidegate.spec""",
    ),
}


@pytest.mark.parametrize("mistake", BUILDING)
def test_a_mistake_in_building(mistake: str) -> None:
    """The message is shown whole when the flow is built; the error is of its kind, and a fitting built-in."""
    build, kind, builtin, message = BUILDING[mistake]
    with pytest.raises(kind) as caught:
        build(tg.Flow("bad"))
    assert str(caught.value) == message
    assert isinstance(caught.value, builtin)
    assert isinstance(caught.value, TidegateError)


def test_a_window_is_not_a_stream() -> None:
    """Forgetting what a window is for is met with what may follow."""
    with pytest.raises(AttributeError, match=r"window\(…\) has no 'where': follow it with .aggregate"):
        ints(tg.Flow("bad")).window(5).where("x > 1")  # type: ignore[attr-defined]


@pytest.mark.parametrize(("name", "said"), [("filter", "where(condition)"), ("withColumnRenamed", 'rename(new="old")')])
def test_what_dataframes_have_is_told_under_its_name_here(name: str, said: str) -> None:
    """Whoever types what PySpark has is told what to take; any other name is just not there."""
    stream = ints(tg.Flow("bad"))
    with pytest.raises(AttributeError, match=re.escape(f"a stream has no {name!r}: use {said}")):
        getattr(stream, name)
    with pytest.raises(AttributeError, match=r"a stream has no 'wherever'$"):
        stream.wherever  # type: ignore[attr-defined]  # noqa: B018
