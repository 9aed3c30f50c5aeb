"""Every case of every operator, on every engine."""

from __future__ import annotations

import pytest
from tests.flow.case import Case, Steps, run_case
from tests.flow.cases import (
    accumulate,
    aggregate,
    apart,
    calendar,
    edges,
    held,
    iterate,
    joined,
    moved,
    names,
    ordered,
    process,
    ranked,
    rowwise,
    window,
)
from tests.flow.short_run import LOOPS_ON_SPARK, ON_STREAMS

import tidegate.testing as tt

TABLES = {
    module.__name__.rsplit(".", 1)[-1]: module.CASES
    for module in (
        *(
            rowwise,
            moved,
            aggregate,
            held,
            window,
            calendar,
            accumulate,
            ranked,
            joined,
            apart,
            process,
            iterate,
            ordered,
        ),
        names,
        edges,
    )
}
CASES = [pytest.param(case, id=f"{table}: {case.name}") for table, cases in TABLES.items() for case in cases]


@pytest.mark.parametrize("case", CASES)
def test_case(case: Case, way: tuple[str, tt.Engine, Steps]) -> None:
    """The flow gives the expected rows, whatever the engine."""
    name, engine, steps = way
    if name in case.except_on:
        pytest.skip(case.except_on[name])
    run_case(case, engine, steps)


def test_each_table_has_cases_in_the_short_run() -> None:
    """The names that are listed for it are those of cases, and some are of each table."""
    known = {param.id for param in CASES}
    assert known >= ON_STREAMS | LOOPS_ON_SPARK
    assert {name.partition(":")[0] for name in ON_STREAMS} == set(TABLES)
