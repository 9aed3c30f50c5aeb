"""`accumulate(every=…)` is A-infinity for expressions: the two agree on generated streams."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

import tidegate as tg
from tidegate.check.bounded import bounded_streams
from tidegate.spec import DT, WM, produce
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


@given(bounded_streams(Nat(), 3, data=ROWS), st.integers(1, 4), st.sampled_from([None, "A", "A+"]))
def test_accumulate_every_is_a_infinity(events, period, using):
    """A-infinity answers at the end of every period, the flow in its last unit, and only where a row is new.

    It does not matter whether the flow is dedicated or composed of Aggregates.
    """
    flow = tg.Flow("so-far")
    rows = flow.source("s", "t BIGINT, k STRING, x BIGINT", time="t")
    flow.sink("out", rows.accumulate(by="k", every=period, total="sum(x)", n="count(*)"))
    flow = flow.to_aggregates(using=using) if using else flow
    given_rows = [DT(e.t, {"t": e.t, "k": e.d[0], "x": e.d[1]}) if isinstance(e, DT) else WM(e.t) for e in events]
    out = [e for e in flow.reference({"s": given_rows})["out"] if isinstance(e, DT)]
    answered = {(e.t, e.d["k"], e.d["total"], e.d["n"]) for e in out}

    new = {((e.t // period + 1) * period, e.d[0]) for e in events if isinstance(e, DT)}
    specified = [
        e for e in produce(A_infinity(Nat(), SUMS, period, lambda t, row: row[0]), events) if isinstance(e, DT)
    ]
    assert answered == {(e.t - 1, *e.d) for e in specified if (e.t, e.d[0]) in new}
    assert len(out) == len(answered)
