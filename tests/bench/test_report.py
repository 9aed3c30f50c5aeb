"""Figures, tables and what they say of what was measured."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from bench.aggregates.evaluation.asked import Pools
from bench.aggregates.evaluation.cell import Cell
from bench.aggregates.evaluation.command import write_results
from bench.aggregates.evaluation.figures import figures, found_in
from bench.aggregates.evaluation.page import page
from bench.aggregates.evaluation.plan import FORMS
from bench.aggregates.evaluation.store import Store
from tests.bench.simulated import DRAWN, fake, run_all, small


def test_the_report_is_of_the_code_that_ran_last(tmp_path: Path) -> None:
    """An older search with longer runs does not stand in for a newer one; other sides keep what they have."""
    store = Store(tmp_path / "cells.jsonl")
    for code, side, rate, seconds in (
        ("old", "local", 900.0, 600.0),
        ("any", "hand", 100.0, 600.0),
        ("new", "local", 500.0, 8.0),
    ):
        cell = Cell(side, "AHM", rate, seconds=seconds)
        store.put(
            code, cell.parameters, fake(None, replace(cell, seconds=8.0, warm=1.0), Pools(tmp_path, DRAWN), tmp_path)
        )
        store.put(
            code, replace(cell, rate=0.0).parameters | {"runs": 1, "tolerance": 1.3}, {"rate": rate, "beyond": None}
        )
    found = found_in(store)
    assert {key[0]: one.rate for key, one in found.sustained.items()} == {"hand": 100.0, "local": 500.0}
    assert list(found.cells["local", "dedicated", "AHM", False]) == [500.0]


def test_what_was_not_measured_again_stays_and_is_named(tmp_path: Path) -> None:
    """One query ran with new code, one began to: the others keep what older code did, and the page names them."""
    store = Store(tmp_path / "cells.jsonl")
    for code, query, rate, ended in (
        ("old", "AHM", 900.0, True),
        ("old", "HHM", 800.0, True),
        ("old", "LHM", 700.0, True),
        ("new", "AHM", 500.0, True),
        ("new", "HHM", 400.0, False),
    ):
        cell = Cell("local", query, rate, seconds=8.0, warm=1.0)
        store.put(code, cell.parameters, fake(None, cell, Pools(tmp_path, DRAWN), tmp_path))
        if ended:
            key = replace(cell, rate=0.0).parameters | {"runs": 1, "tolerance": 1.3}
            store.put(code, key, {"rate": rate, "beyond": None})
    found = found_in(store)
    assert {key[2]: one.rate for key, one in found.sustained.items()} == {"AHM": 500.0, "HHM": 800.0, "LHM": 700.0}
    assert list(found.cells["local", "dedicated", "HHM", False]) == [800.0]
    said = " ".join(page(found).split())
    assert "Measured with older code than others of their side:** Tidegate, local: HHM, LHM." in said


def test_what_other_machines_did_is_not_compared(tmp_path: Path) -> None:
    """A store that was copied begins anew elsewhere, and the report is of the machine that ran last."""
    path = tmp_path / "cells.jsonl"
    for machine, rate in (("slow", 100.0), ("quick", 900.0)):
        cell = Cell("hand", "AHM", rate, seconds=8.0, warm=1.0)
        store = Store(path, machine)
        assert store.get("code", cell.parameters) is None
        store.put("code", cell.parameters, fake(None, cell, Pools(tmp_path, DRAWN), tmp_path))
        key = replace(cell, rate=0.0).parameters | {"runs": 1, "tolerance": 1.3}
        assert store.get("code", key) is None
        store.put("code", key, {"rate": rate, "beyond": None})
    found = found_in(Store(path))
    assert found.machine == "quick"
    assert [one.rate for one in found.sustained.values()] == [900.0]
    assert Store(path, "slow").get("code", key) == {"rate": 100.0, "beyond": None}


def test_a_rate_that_a_form_lacks_stays_empty(tmp_path: Path) -> None:
    """Nothing was measured there: that is not a latency of 0."""
    store = Store(tmp_path / "cells.jsonl")
    evaluation = small(tmp_path, fake, store)
    evaluation.plan = replace(evaluation.plan, forms=FORMS)
    run_all(evaluation)
    whole = page(found_in(store))
    cells = [entry for entry in store.entries() if entry["cell"].get("form") == "A" and entry["cell"].get("rate")]
    rate = max(entry["cell"]["rate"] for entry in cells if entry["cell"]["query"] == "AHM")
    fewer = Store(tmp_path / "fewer.jsonl")
    for entry in store.entries():
        if (entry["cell"].get("form"), entry["cell"].get("query"), entry["cell"].get("rate")) != ("A", "AHM", rate):
            fewer.put(entry["code"], entry["cell"], entry["result"])
    row = f"| {rate:,.0f} | "
    (there,) = (line for line in whole.splitlines() if line.startswith(row))
    (lacks,) = (line for line in page(found_in(fewer)).splitlines() if line.startswith(row))
    assert [before != now for before, now in zip(there.split("|"), lacks.split("|"), strict=True)].count(True) == 2
    assert lacks.endswith(" |  |")


def test_what_differs_with_new_code_is_left_out(tmp_path: Path) -> None:
    """What older code did of a query is not shown if the sides no longer answer the same."""
    store = Store(tmp_path / "cells.jsonl")
    run_all(small(tmp_path, fake, store))
    assert any(key[2] == "AHM" for key in found_in(store).sustained)
    store.put("new", {"same": "AHM", "sides": ["hand"]}, {"differs": "AHM: spark gives more"})
    assert not any(key[2] == "AHM" for key in found_in(store).sustained)


def test_the_report_says_what_came_out(tmp_path: Path) -> None:
    """Tables, goals, and figures that are numbered as the paper's; a page is written between two marks."""
    store = Store(tmp_path / "cells.jsonl", "two cores")
    run_all(small(tmp_path, fake, store))
    found = found_in(store)
    drawn = figures(found)
    assert {name.split(".")[0].rsplit("-", 1)[0] for name in drawn} == {
        *("figure-9", "figure-10", "figure-11", "figure-12", "figure-13", "figure-14-maps", "figure-14-joins")
    }
    page = tmp_path / "docs.md"
    (tmp_path / "figures").mkdir()
    page.write_text("before\n<!-- evaluation -->\nold\n<!-- end of evaluation -->\nafter\n", encoding="utf-8")
    write_results(store, tmp_path / "out", page)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n<!-- evaluation -->")
    assert text.endswith("<!-- end of evaluation -->\nafter\n")
    assert "old" not in text
    words = " ".join(text.split())
    assert "evaluate` on two cores." in words
    assert "Goal, as much as Spark by hand: 1 of 1" in words
    assert "Goal, 20 times Spark by hand: 0 of 1; missed: ahj" in words
    # The paper has texts only, so they are told from scans.
    assert re.search(r"greatest rate: on texts, [\d.]+ times the throughput .* rows \(sooner: \d of 1", words)
    # Both latencies of Joins are there.
    assert re.search(r"greatest rate: on scans, .* of pairs \(sooner: \d of 1.* of windows \(sooner: \d of 1", words)
    # The paper's share stands beside ours.
    assert re.search(r"\| AHM \|[^\n]* % \(paper: 84 %\) \|", text)
    assert "A rate that all of these sides sustain, 50 % of what the slower of them does" in words
    drawn = {path.stem for path in (tmp_path / "figures").iterdir()}
    assert {"figure-14-maps-latency", "figure-14-joins-pairs", "figure-14-joins-windows"} <= drawn
    # What the paper's text says of its figure stands beneath ours.
    svg = (tmp_path / "figures" / "figure-10-throughput.svg").read_text(encoding="utf-8")
    assert "A has about 50 % less than dedicated, A+ about 16 % less." in " ".join(re.sub("<[^>]*>", " ", svg).split())
