"""The harness of corruptions: what it must find, and that it finds nothing wrong today."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.spark.corruptions import CHECKS, run_all, without

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_a_share_of_all_damages_is_answered_rightly_or_refused(spark: SparkSession, tmp_path: Path) -> None:
    """One trial in twenty; all of them: ``python -m tests.spark.corruptions``."""
    verdicts = run_all(spark, tmp_path, share=0.05)
    assert [str(verdict) for verdict in verdicts if not verdict.good] == []
    assert {verdict.outcome for verdict in verdicts} >= {"right", "refused"}


#: For each check that can be left out, damages that only this check sees.
MISSED = {
    "parts": "after commit checkpoint/state/.*parquet (emptied|deleted)$",
    "files": "after commit windows/_pending/.*parquet (emptied|truncated)$",
    "seals": "stopped checkpoint/commits/3 another number",
}


@pytest.mark.parametrize("check", sorted(CHECKS))
def test_a_check_that_is_left_out_is_found(spark: SparkSession, tmp_path: Path, check: str) -> None:
    """Without it, some damage gives wrong rows, or an error that is not ours."""
    with without(check):
        verdicts = run_all(spark, tmp_path, only=MISSED[check])
    assert any(not verdict.good for verdict in verdicts)
