"""``tidegate demo histograms``: the first paper's example runs on Spark, and says what the paper says."""

from __future__ import annotations

import io
from collections import Counter
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

import tidegate
from tidegate.demos import histograms
from tidegate.demos.operators import ORDER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_code_that_is_shown_is_the_code_that_runs() -> None:
    """The flow on the screen has the plan of the flow behind it."""
    names: dict[str, Any] = {"tg": tidegate, "order": ORDER}
    exec(histograms.CODE, names)
    assert str(names["flow"].plan) == str(histograms.histograms_flow().plan)


@pytest.mark.spark
def test_the_story_of_the_histograms(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark gives what `ihist_op` gives, t4 only when the input has ended; all of it is shown, in 80 columns."""
    found = histograms.on_spark(spark)
    before, still_open, after = found
    assert after == histograms.specified()
    assert before == {t: counts for t, counts in after.items() if t != "t4"}
    assert after["t5"] == Counter(a=3, b=1, c=1)
    assert still_open == "t4"
    monkeypatch.setattr(histograms, "on_spark", lambda _: found)
    for width in (80, 120):
        file = io.StringIO()
        histograms.show(Console(file=file, width=width), session=nullcontext(spark))
        lines = file.getvalue().split("\n")
        assert max(map(len, lines)) <= width
        assert all(line == line.rstrip() for line in lines)
        assert file.getvalue().count("t5 {a, a, a, b, c}") == 2
        assert file.getvalue().count("t4 {a, c, d}") == 1
        assert "gives the same histograms" in " ".join(file.getvalue().split())
