"""`accumulate(every=…)` is A-infinity for expressions: the two agree on generated streams."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.spark.engine import by_spark

import tidegate as tg
from tidegate.check.bounded import bounded_streams
from tidegate.spec import DT, WM, Event, produce
from tidegate.spec.aggregate import A_infinity, Folding
from tidegate.time import Nat

ROWS = st.tuples(st.sampled_from("ab"), st.integers(0, 9))
#: The state of a key: the sum, and how many were added.
SUMS = Folding(
    f_c=lambda row: (row[0], row[1], 1),
    f_a=lambda state, row: (state[0], state[1] + row[1], state[2] + 1),
    f_m=lambda s, r: (s[0], s[1] + r[1], s[2] + r[2]),
    f_o=lambda state: state,
)


def so_far(period: int, using: str | None) -> tg.Flow:
    """The flow: sums of each key so far, at the end of each period; dedicated, or composed of Aggregates."""
    flow = tg.Flow("so-far")
    rows = flow.source("s", "t BIGINT, k STRING, x BIGINT", time="t")
    flow.sink("out", rows.accumulate(by="k", every=period, total="sum(x)", n="count(*)"))
    return flow.to_aggregates(using=using) if using else flow


def specified(events: list[Event], period: int) -> set[tuple[int, str, int, int]]:
    """What A-infinity answers: at the end of every period, where a flow answers in the last unit of those with rows."""
    new = {((e.t // period + 1) * period, e.d[0]) for e in events if isinstance(e, DT)}
    answers = produce(A_infinity(Nat(), SUMS, period, lambda t, row: row[0]), events)
    return {(e.t - 1, *e.d) for e in answers if isinstance(e, DT) and (e.t, e.d[0]) in new}


@given(bounded_streams(Nat(), 3, data=ROWS), st.integers(1, 4), st.sampled_from([None, "A", "A+"]))
def test_accumulate_every_is_a_infinity(events, period, using):
    """A-infinity answers at the end of every period, the flow in its last unit, and only where a row is new.

    It does not matter whether the flow is dedicated or composed of Aggregates.
    """
    given_rows = [DT(e.t, {"t": e.t, "k": e.d[0], "x": e.d[1]}) if isinstance(e, DT) else WM(e.t) for e in events]
    out = [e for e in so_far(period, using).reference({"s": given_rows})["out"] if isinstance(e, DT)]
    answered = {(e.t, e.d["k"], e.d["total"], e.d["n"]) for e in out}
    assert answered == specified(events, period)
    assert len(out) == len(answered)


@pytest.mark.spark
@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.tuples(st.integers(0, 9), ROWS), max_size=12), st.integers(1, 4))
def test_on_spark_it_is_a_infinity_too(spark, timed, period):
    """On bounded Spark all of time is complete, as it is behind a last watermark; in every form."""
    events = [*(DT(t, row) for t, row in timed), WM(20)]
    for using in (None, "A", "A+"):
        out = by_spark(spark, so_far(period, using), {"s": [(t, *row) for t, row in timed]})
        assert Counter(out) == Counter(specified(events, period))
