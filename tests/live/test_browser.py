"""The page in a real browser, against real runs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tidegate as tg
from tests.live.conftest import Screen
from tests.local_engine.place import Place
from tests.spark.place import DDL
from tidegate.live import Page
from tidegate.time import Poset

#: Would set a variable of the page, if anything took it for markup; and turn around what comes after it.
HOSTILE = '<img src=x onerror="window.taken = 1"><script>window.taken = 1</script>\'\u202e\x07'


def flow() -> tg.Flow:
    """A flow with two sinks, one of which is behind the other, and names that mean something in markup."""
    found = tg.Flow("counts")
    rows = found.source("s", DDL, time="t", watermark=tg.bounded(2))
    found.sink("out", rows.where("x > 0 AND k <> '<b>'").aggregate(by="k", n="count(*)"))
    found.sink("moved", rows.at("t + 10"))
    return found


@pytest.fixture
def page() -> Iterator[Page]:
    """A page on a free port."""
    found = Page(port=0)
    yield found
    found.close()


def test_a_run_is_shown_as_it_goes(page: Page, screen: Screen, tmp_path: Path) -> None:
    """Its graph with frontiers and held rows, sources and sinks as `run.status()` has them, each step as it comes."""
    from playwright.sync_api import expect

    place = Place(tmp_path)
    place.feed.add((1, "a", 1), (9, "b", 2))
    with place.start(flow(), trigger={"processingTime": "0 seconds"}) as run:
        window = screen.open(page.add(tmp_path / "checkpoint"))
        marks = window.locator("#graph [data-id='sink moved'] .live-text")
        expect(marks).to_have_text("from 17")
        assert screen.texts("#head .badge") == ["running"]
        assert screen.texts("#graph [data-id='aggregate#1'] .live-text") == ["from 7 · 2 held"]
        assert (
            window.locator("#graph [data-id='where#1']").get_attribute("aria-label") == "where#1: not complete from 7"
        )
        place.feed.add((2, "late", 4), (12, "c", 5))
        expect(marks).to_have_text("from 20")
        expect(window.locator("#chart-list svg")).to_have_count(3)
        status = run.status()
        assert [row[:3] for row in screen.cells("#sources")] == [["s", "10", "4"]]
        assert {row[0]: row[1] for row in screen.cells("#sinks")} == status.frontiers
        assert window.locator("#status").text_content() == "counts running"
    expect(window.locator("#head .badge")).to_have_text("stopped")
    assert window.locator("#status").text_content() == "counts stopped"


def test_why_is_asked_and_answered_by_keyboard(page: Page, screen: Screen, tmp_path: Path) -> None:
    """A sink is chosen with Enter, a time is typed, and the path to the source is in words and in the graph."""
    from playwright.sync_api import expect

    place = Place(tmp_path)
    place.feed.add((1, "a", 1), (9, "b", 2))
    run = place.run(flow())
    window = screen.open(page.add(tmp_path / "checkpoint"))
    expect(window.locator("#graph [data-id='sink moved'] .live-text")).to_have_text("from 17")
    for _ in range(40):
        window.keyboard.press("Tab")
        if window.evaluate("document.activeElement.getAttribute('data-id')") == "sink moved":
            break
    assert window.evaluate("getComputedStyle(document.activeElement.querySelector('rect')).strokeWidth") == "4px"
    window.keyboard.press("Enter")
    assert window.evaluate("document.activeElement.name") == "time"
    assert window.locator("#why-sink").input_value() == "moved"
    window.keyboard.type("30")
    window.keyboard.press("Enter")
    expect(window.locator("#why-answer .place")).to_have_count(3)
    assert window.locator("#status").text_content() == "It is held back by s."
    (reason,) = run.why(30, sink="moved")
    shown = window.locator("#why-answer .place").all_text_contents()
    assert shown == [f"{name}{t}" for name, t in reason.path]
    lit = window.locator("#graph .box.on").evaluate_all("boxes => boxes.map(box => box.getAttribute('data-id'))")
    assert sorted(lit) == ["at#1", "s", "sink moved"]
    assert window.locator("#graph .link.on").count() == 2
    window.locator("#why-times input").fill("16")
    window.keyboard.press("Enter")
    expect(window.locator("#why-answer")).to_contain_text("is complete: nothing can reach it any more")
    assert window.locator("#graph .box.on").count() == 0


def test_values_are_texts_and_nothing_of_them_runs(page: Page, screen: Screen, tmp_path: Path) -> None:
    """Rows, expressions and messages with markup in them are shown as they are; a page of another name gets nothing."""
    from playwright.sync_api import expect

    place = Place(tmp_path)
    place.feed.add((1, "a", 1), (None, HOSTILE, 2), (None, "y" * 3000, 2))
    place.run(flow())
    window = screen.open(page.add(tmp_path / "checkpoint"))
    expect(window.locator("#aside-rows tbody tr")).to_have_count(2)
    shown = window.locator("#aside-rows").text_content()
    assert '<img src=x onerror="window.taken = 1"><script>window.taken = 1</script>\'\\u202e\\x07' in shown
    assert window.evaluate("window.taken === undefined")
    assert window.locator("main script, main img").count() == 0
    assert "k <> '<b>'" in window.locator("#graph").text_content()
    assert window.locator("#graph b").count() == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "screen",
    [
        {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
        {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark", "reduced_motion": "reduce"},
        {"viewport": {"width": 360, "height": 740}, "color_scheme": "dark", "has_touch": True},
        {"viewport": {"width": 360, "height": 740}, "color_scheme": "light", "has_touch": True},
    ],
    indirect=True,
)
def test_it_can_be_read_on_every_screen(page: Page, screen: Screen, tmp_path: Path) -> None:
    """In light and dark, wide and narrow: texts stand out by 4.5 to 1 at least, and the page is not wider than it."""
    from playwright.sync_api import expect

    place = Place(tmp_path)
    place.feed.add((1, "a", 1), (None, "n", 2), (9, "b", 3))
    place.feed.add((1, "late", 1), (30, "b", 3))
    place.run(flow())
    window = screen.open(page.add(tmp_path / "checkpoint"))
    expect(window.locator("#aside-rows tbody tr")).to_have_count(2)
    window.locator("#why-times input").fill("90")
    window.locator("#why-form button").click()
    expect(window.locator("#why-answer .place").first).to_be_visible()
    assert window.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert window.evaluate(CONTRASTS) == []
    for control in window.locator("button:visible, select:visible, input[name=time]:visible").all():
        assert control.bounding_box()["height"] >= 24


#: All texts of the page that stand out too little from what is behind them.
CONTRASTS = """() => {
  const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const linear = (c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => [r, g, b].map((c) => linear(c / 255))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] > 0.99) return colour;
    }
    return [255, 255, 255];
  };
  const weak = [];
  for (const element of document.querySelectorAll("header *, main *:not(svg *)")) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !element.getClientRects().length || element.closest("option")) continue;
    const [a, b] = [light(parse(getComputedStyle(element).color)), light(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) weak.push([element.tagName, element.className, element.textContent.slice(0, 30), ratio]);
  }
  return weak;
}"""


@pytest.mark.slow
def test_orders_that_are_not_lines_are_drawn_as_what_they_are(page: Page, screen: Screen, tmp_path: Path) -> None:
    """The frontier of a product is a staircase through its elements; elements of a finite order are in its diagram."""
    from playwright.sync_api import expect

    product = tg.Flow("ledger")
    rows = product.source(
        "s", "valid DATE, version INT, k STRING", time=("valid", "version"), watermark=tg.punctuated("k = 'WM'")
    )
    product.sink("out", rows.accumulate(by="k", n="count(*)"))
    day = date(2026, 1, 1)
    marks = [(day + timedelta(days=5), 3, "WM"), (day + timedelta(days=2), 8, "WM"), (day, None, "WM")]
    run_on(product, [[(day, 1, "a"), (day + timedelta(days=9), 9, "a"), *marks]], tmp_path / "product")
    order = Poset([("draft", "review"), ("draft", "figures"), ("review", "final"), ("figures", "final")])
    finite = tg.Flow("texts")
    rows = finite.source("s", "stage STRING, n INT, k STRING", time=tg.ordered("stage", order),
                         watermark=tg.punctuated("k = 'WM'"))  # fmt: skip
    finite.sink("out", rows.aggregate(n="sum(n)"))
    run_on(finite, [[("draft", 1, "a"), ("draft", 0, "WM"), ("review", 0, "WM")]], tmp_path / "finite")
    page.add(tmp_path / "finite" / "checkpoint")
    window = screen.open(page.add(tmp_path / "product" / "checkpoint"))
    expect(window.locator("#order-plot .corner")).to_have_count(3)
    path = window.locator("#order-plot .stairs").get_attribute("d")
    dots = "dots => dots.map(dot => ['cx', 'cy'].map(name => Number(dot.getAttribute(name))))"
    corners = window.locator("#order-plot .corner").evaluate_all(dots)
    assert window.locator("#order-plot .corner-text").last.text_content() == "(2026-01-07, any)"
    assert [x for x, _ in corners] == sorted(x for x, _ in corners)
    assert [y for _, y in corners] == sorted(y for _, y in corners)
    assert (path.count("V"), path.count("H")) == (3, 3)
    window.locator("header nav a").first.click()
    expect(window.locator("#order-plot svg.hasse")).to_be_visible()
    classes = {x: window.locator(f"#order-plot [data-id='{x}']").get_attribute("class") for x in order.elements}
    assert {x: found.rpartition(" is-")[2] for x, found in classes.items()} == {
        "draft": "done", "review": "done", "figures": "least", "final": "open"
    }  # fmt: skip


def run_on(flow: tg.Flow, steps: list[list[tuple[Any, ...]]], place: Path) -> None:
    """Run a flow with one source on rows, a batch a step."""
    place.mkdir()
    types = {"DATE": pa.date32(), "INT": pa.int32(), "STRING": pa.string()}
    columns = flow.plan.sources[0].schema.columns
    schema = pa.schema([(c.name, types[c.type or ""]) for c in columns])
    tables = []
    for rows in steps:
        arrays = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(schema)]
        tables.append(pa.table(arrays, schema=schema))
    run = flow.start(
        tg.local(), {"s": lambda taken: iter(tables[taken:])}, {"out": tg.parquet(place / "out")},
        place / "checkpoint", trigger={"availableNow": True},
    )  # fmt: skip
    assert run.await_termination(60)


@pytest.mark.slow
def test_a_server_that_is_gone_is_reported(screen: Screen, tmp_path: Path) -> None:
    """The page keeps what it has, and says that it gets no answer."""
    from playwright.sync_api import expect

    place = Place(tmp_path)
    place.feed.add((1, "a", 1))
    place.run(flow())
    page = Page(port=0)
    window = screen.open(page.add(tmp_path / "checkpoint"))
    page.close()
    expect(window.locator("#problems")).to_contain_text("This page gets no answer")
    assert screen.texts("#head h2") == ["counts"]
    # The browser itself complains of what it could not reach.
    screen.wrong[:] = [text for text in screen.wrong if "ERR_" not in text]
