"""Windows by the calendar: the table of a zone against the definition, time zone data that changes, and mistakes."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import tidegate as tg
from tests.flow.case import assert_same_rows
from tests.local_engine.steps import Cut, engine_in, run_locally
from tidegate.engine import zones
from tidegate.engine.lowering import calendars as lowered
from tidegate.engine.storage.errors import FlowChanged
from tidegate.flow.calendars import DAY, FIRST_YEAR, Calendar, calendar_of, zone_table
from tidegate.flow.spans import units
from tidegate.reference.calendars import _begins
from tidegate.spec import DT

ZONES = ["Europe/Berlin", "America/Sao_Paulo", "Pacific/Apia", "Asia/Beirut", "Africa/Casablanca", "Asia/Kolkata"]


@pytest.mark.parametrize("zone", ZONES)
def test_the_table_of_a_zone_says_when_days_begin(zone: str) -> None:
    """Around every change of clocks that was drawn, and anywhere else, as trying one instant after the other does."""
    rng, table = random.Random(zone), zone_table(zone)
    days = [rng.randrange(-25_000, 80_000) for _ in range(20)]
    days += [s // DAY + k for s in rng.sample(table.since[1:], 5) for k in (-1, 0, 1)]
    days += [(date(2011, 12, n) - date(1970, 1, 1)).days for n in (29, 30, 31)]
    for n in days:
        day = date(1970, 1, 1) + timedelta(days=n)
        if 1901 < day.year < 2199:
            begins = units(_begins(zone, day), "TIMESTAMP")
            assert table.begin(n) == begins, (zone, day)
            assert table.day(begins - 1) < n <= table.day(begins)


def test_days_and_months_are_those_of_the_calendar() -> None:
    """From the first date to the last, as Python counts them."""
    rng, calendar = random.Random(7), Calendar("month", 1)
    for n in [0, 3_652_058, *(rng.randrange(3_652_059) for _ in range(500))]:
        day = date.min + timedelta(days=n)
        index = calendar.index(units(day, "DATE"))
        assert index == (day.year - 1970) * 12 + day.month - 1
        assert calendar.begin(index) == units(day.replace(day=1), "DATE")


def daily(zone: str = "America/Sao_Paulo") -> tg.Flow:
    """Counts per day of a zone."""
    flow = tg.Flow("daily")
    source = flow.source("s", "t TIMESTAMP, k STRING, x INT", time="t", watermark=tg.bounded("0 minutes"))
    flow.sink("out", source.window("1 day", zone=zone).aggregate(by="k", n="count(*)"))
    return flow


START = datetime(2018, 2, 17, 12)
CUTS = [[(START + timedelta(hours=h), k, h) for h in hours for k in "ab"] for hours in ((0, 5), (13, 14), (15, 16, 40))]


def test_a_commit_tells_the_version_and_what_moves_an_open_window_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other years may change: nothing is held of them."""
    plan = daily().plan
    reader = Cut(plan["s"].schema, CUTS)
    engine = engine_in(plan, {"s": reader}, {}, tmp_path)
    reader.released = 1
    engine.step()
    years = zones._years("America/Sao_Paulo")
    told = engine.run.meaning["zones"]["America/Sao_Paulo"]
    assert told == {"version": zones.data_version(), "years": years}

    def changed(year: int) -> str:
        at = (year - FIRST_YEAR) * 6
        return years[:at] + "000000" + years[at + 6 :]

    monkeypatch.setattr(zones, "_years", lambda _: changed(2031))
    engine = engine_in(plan, {"s": reader}, {}, tmp_path)
    reader.released = 2
    engine.step()
    monkeypatch.setattr(zones, "_years", lambda _: changed(2018))
    with pytest.raises(FlowChanged, match="when days begin in America/Sao_Paulo in 2018, of which window#1 holds"):
        engine_in(plan, {"s": reader}, {}, tmp_path)


def test_without_a_zone_a_commit_tells_nothing_of_zones(tmp_path: Path) -> None:
    """Checkpoints of other flows stay as they are."""
    flow = tg.Flow("monthly")
    flow.sink("out", flow.source("s", "t DATE", time="t").window("1 month").aggregate(n="count(*)"))
    engine = engine_in(flow.plan, {"s": Cut(flow.plan["s"].schema, [])}, {}, tmp_path)
    assert "zones" not in engine.run.meaning


def test_the_explanation_names_the_calendar() -> None:
    """Sizes are in days or months, with the zone."""
    text = str(daily("Europe/Berlin").explain())
    assert "windows of 1 day, by the calendar of Europe/Berlin" in text
    assert "holds partial aggregates per window and group, until its end is complete" in text


def _let_go_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in a window is let go as soon as its own time is complete."""
    monkeypatch.setattr(Calendar, "longest", lambda _self, _size: 0)


def _twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A day that clocks go back to is one once more."""
    table = zone_table("America/Sao_Paulo")
    forgetful = replace(table, reached=tuple(min(n, table.reached[0] + i) for i, n in enumerate(table.reached)))
    _with_table(monkeypatch, forgetful)


def _without_summer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clocks are never put forward or back."""
    table = zone_table("America/Sao_Paulo")
    _with_table(monkeypatch, replace(table, offsets=(table.offsets[-1],) * len(table.offsets)))


def _with_table(monkeypatch: pytest.MonkeyPatch, table: Any) -> None:
    right = calendar_of
    monkeypatch.setattr(lowered, "calendar_of", lambda *given: replace(right(*given), table=table))


@pytest.mark.parametrize("mutant", [_let_go_early, _twice, _without_summer])
def test_a_broken_calendar_is_found(mutant: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison of steps with the specification can fail, for each of these."""
    flow = daily()
    given = [DT(t, {"t": t, "k": k, "x": x}) for cut in CUTS for t, k, x in cut]
    expected = [tuple(row.values()) for row in flow.reference({"s": given}).rows("out")]
    cuts = [{"s": cut} for cut in CUTS]
    assert_same_rows(run_locally(flow.plan, cuts, {}, tmp_path / "right")["out"], expected)
    mutant(monkeypatch)
    with pytest.raises(AssertionError, match="expected"):
        assert_same_rows(run_locally(flow.plan, cuts, {}, tmp_path / "wrong")["out"], expected)
