"""The picture of a flow: boxes are apart, texts are inside of them, edges run between them; and pages can use it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.flow.case import ints
from tests.flow.edits import edits_by_topic

import tidegate as tg
from tidegate import layout
from tidegate.flow.explain import card, draw
from tidegate.flow.explain.draw import Box, Link, svg
from tidegate.flow.explain.lettering import Lettering

SPACE = "{http://www.w3.org/2000/svg}"
Rect = tuple[float, float, float, float]
Point = tuple[float, float]


class Drawn:
    """A picture that is read again: where its boxes, texts and edges are."""

    def __init__(self, picture: str) -> None:
        self.root = ElementTree.fromstring(picture)
        self.frame: Rect = (0, 0, float(self.root.attrib["width"]), float(self.root.attrib["height"]))
        groups = list(self.root.iter(f"{SPACE}g"))
        self.boxes = {g.attrib["data-id"]: g for g in groups if "data-id" in g.attrib}
        self.links = [g for g in groups if g.attrib.get("class") == "link"]

    def of_class(self, group: ElementTree.Element, name: str) -> list[ElementTree.Element]:
        return [e for e in group.iter() if name in e.attrib.get("class", "").split()]

    def card(self, key: str) -> Rect:
        [found] = self.of_class(self.boxes[key], "card")
        return rect(found)

    def texts(self, group: ElementTree.Element) -> Iterator[tuple[str, Rect]]:
        for text in group.iter(f"{SPACE}text"):
            at = text.attrib
            lettering = Lettering(
                float(at["font-size"]), fixed="monospace" in at.get("font-family", ""), bold="font-weight" in at
            )
            width = lettering.width(text.text or "")
            left = float(at["x"]) - width * {"": 0, "middle": 0.5, "end": 1}[at.get("text-anchor", "")]
            yield text.text or "", (left, float(at["y"]) - lettering.size, width, lettering.size)


def rect(element: ElementTree.Element) -> Rect:
    x, y, width, height = (float(element.attrib[k]) for k in ("x", "y", "width", "height"))
    return x, y, width, height


def apart(a: Rect, b: Rect) -> bool:
    beside = a[0] + a[2] <= b[0] + 0.1 or b[0] + b[2] <= a[0] + 0.1
    return beside or a[1] + a[3] <= b[1] + 0.1 or b[1] + b[3] <= a[1] + 0.1


def inside(a: Rect, b: Rect) -> bool:
    across = b[0] - 0.1 <= a[0] and a[0] + a[2] <= b[0] + b[2] + 0.1
    return across and b[1] - 0.1 <= a[1] and a[1] + a[3] <= b[1] + b[3] + 0.1


def points(way: str) -> list[Point]:
    """Return points along a way of M, V and C, close to each other on curves."""
    found: list[Point] = []
    for command, after in re.findall(r"([MVC])([-\d., ]+)", way):
        numbers = [float(n) for n in re.findall(r"-?[\d.]+", after)]
        if command == "C":
            x, y = found[-1]
            ends = [(x, y), *zip(numbers[::2], numbers[1::2], strict=True)]
            found += [bezier(ends, i / 16) for i in range(1, 17)]
        elif command == "V":
            found += [(found[-1][0], numbers[0])]
        else:
            found += [(numbers[0], numbers[1])]
    return found


def bezier(ends: list[Point], t: float) -> Point:
    weights = [(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3]
    return sum(w * x for w, (x, _) in zip(weights, ends, strict=True)), sum(
        w * y for w, (_, y) in zip(weights, ends, strict=True)
    )


def check(boxes: list[Box], links: list[Link]) -> None:
    """Raise if something is where it cannot be read."""
    drawn = Drawn(svg(boxes, links, title="any", notes=["a note that is long enough to be broken" * 3]))
    cards = {box.id: drawn.card(box.id) for box in boxes}
    for i, box in enumerate(boxes):
        assert inside(cards[box.id], drawn.frame)
        assert cards[box.id][2] <= 420
        for other in boxes[:i]:
            assert apart(cards[box.id], cards[other.id]), (box.id, other.id)
        x, y, width, height = cards[box.id]
        # What is on the border sticks out by half of its height.
        for text, place in drawn.texts(drawn.boxes[box.id]):
            assert inside(place, (x, y - 10, width, height + 20)), text
    for text, place in drawn.texts(drawn.root):
        assert inside(place, drawn.frame), text
    assert len(drawn.links) == len(links)
    chips = [rect(chip) for link in drawn.links for chip in drawn.of_class(link, "chip")]
    for i, one in enumerate(chips):
        assert all(apart(one, other) for other in [*chips[:i], *cards.values()])
    for group in drawn.links:
        start, end = group.attrib["data-from"], group.attrib["data-to"]
        [way] = [e.attrib["d"] for e in drawn.of_class(group, "edge")]
        if start == end:
            continue
        along = points(way)
        assert along[0] == (cards[start][0] + cards[start][2] / 2, cards[start][1] + cards[start][3])
        assert along[-1][1] == cards[end][1] - 6
        assert cards[end][0] < along[-1][0] < cards[end][0] + cards[end][2]
        assert all(a[1] <= b[1] for a, b in pairwise(along)), "an edge leads down"
        for key, (x, y, width, height) in cards.items():
            through = [p for p in along[1:] if x < p[0] < x + width and y < p[1] < y + height]
            assert not through, f"{start} to {end} runs through {key}"


@st.composite
def graphs(drawing: st.DrawFn) -> tuple[list[Box], list[Link]]:
    """Draw boxes with texts of many lengths, and links that go forwards, or back to where they begin."""
    n = drawing(st.integers(1, 12))
    text = st.text("ab <&#,W漢", min_size=1, max_size=90)
    short = st.sampled_from(["", "", "ts + up to 1 hour", "+ 1"])
    boxes = []
    for i in range(n):
        kind = "source" if i == 0 else drawing(st.sampled_from(["operator", "operator", "table", "source"]))
        boxes.append(
            Box(
                f"n{i}",
                tuple(drawing(st.lists(text, min_size=1, max_size=4))),
                kind,
                held=drawing(st.booleans()),
                title="",
                verb=drawing(st.sampled_from(["", kind])),
                kept_text=drawing(st.one_of(st.just(""), text)),
                time="time t" if kind == "source" else "",
                note=drawing(st.one_of(st.just(""), text)),
                warnings=tuple(range(drawing(st.integers(0, 2)))),
            )
        )
    ends = [(i, j) for i in range(n) for j in range(i + 1, n) if boxes[j].kind == "operator"]
    chosen = drawing(st.lists(st.sampled_from(ends), unique=True, max_size=16)) if ends else []
    links = [Link(f"n{i}", f"n{j}", drawing(short)) for i, j in chosen]
    loops = [Link(box.id, box.id, "round + 1") for box in boxes if box.kind == "operator" and drawing(st.booleans())]
    unread = [box.id for box in boxes if all(link.start != box.id for link in links)]
    sinks = [Box(f"sink {key}", (key, "t"), "sink", held=False, title="") for key in unread]
    return [*boxes, *sinks], [*links, *loops, *(Link(key, f"sink {key}", "") for key in unread)]


@given(graphs())
def test_everything_has_a_place_of_its_own(graph: tuple[list[Box], list[Link]]) -> None:
    """Boxes are apart, texts inside of them, edges lead down from box to box and through no other, labels are apart."""
    check(*graph)


def unbroken(text: str, *_: object, **__: object) -> list[str]:
    """Return a text in one line, however wide."""
    return [text]


def crowded(layers: list[list[layout.Node[str]]], *, gap: int) -> None:
    """Put each node of a layer a little to the right of the one before."""
    for layer in layers:
        for i, node in enumerate(layer):
            node.middle = 200 + gap * i


def direct(
    keys: list[str], edges: list[tuple[str, str]], depth: dict[str, int]
) -> tuple[list[list[layout.Node[str]]], list[list[layout.Node[str]]]]:
    """Let long edges go straight from box to box."""
    layers, paths = layout.layered(keys, edges, depth)
    kept = [[node for node in layer if not node.passing] for layer in layers]
    for node in (node for layer in kept for node in layer):
        node.before = [n for n in node.before if not n.passing]
        node.after = [n for n in node.after if not n.passing]
    return kept, [[path[0], path[-1]] for path in paths]


MUTANTS = {
    "texts are not broken": (card, "wrapped", unbroken),
    "boxes have no room": (draw, "place", crowded),
    "long edges take the shortest way": (draw, "layered", direct),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_what_cannot_be_read_is_noticed(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The check above fails for a picture whose texts, boxes or edges run over each other."""
    said = "a condition of some length AND another one " * 3
    boxes = [Box(key, (key, said), "operator", held=False, title="") for key in "abcd"]
    links = [Link("a", "b", ""), Link("b", "d", "+ 1"), Link("a", "d", ""), Link("a", "c", "")]
    check(boxes, links)
    monkeypatch.setattr(*MUTANTS[name])
    with pytest.raises(AssertionError):
        check(boxes, links)


def test_a_page_finds_boxes_and_links() -> None:
    """Every operator and sink has its id, what it is, and whether it holds rows; every link its two ends, escaped."""
    flow = edits_by_topic()
    drawn = Drawn(flow.explain().svg())
    kinds = {key: set(group.attrib["class"].split()) for key, group in drawn.boxes.items()}
    assert list(kinds) == [*(operator.id for operator in flow.plan), "sink hourly", "sink visits"]
    assert kinds["edits"] == {"box", "source"}
    assert kinds["window#1"] == {"box", "operator", "held"}
    ends = [(g.attrib["data-from"], g.attrib["data-to"]) for g in drawn.links]
    assert ("where#1", "join#1") in ends
    assert ("window#1", "sink hourly") in ends
    assert len(ends) == 7
    strange = svg([Box('"<&>"', ("x",), "operator", held=False, title="")], [], title="any")
    assert 'data-id="&quot;&lt;&amp;&gt;&quot;"' in strange


def test_inputs_are_at_the_top_and_sinks_at_the_bottom() -> None:
    """Sources are in the first layer, all sinks in the last; a table is right above the join that reads it."""
    flow = edits_by_topic()
    flow.sink("all", flow.source("others", "ts TIMESTAMP", time="ts", watermark=tg.bounded("1 hour")))
    drawn = Drawn(flow.explain().svg())
    top = {key: drawn.card(key)[1] for key in drawn.boxes}
    assert top["edits"] == top["others"] == min(top.values())
    assert top["sink hourly"] == top["sink visits"] == top["sink all"] == max(top.values())
    assert top["edits"] < top["pages"] == top["where#1"] < top["join#1"] < top["window#1"] < top["sink hourly"]


def test_the_picture_says_what_the_text_says() -> None:
    """What each operator does, the time of each source, what is held, and how times change, on their edges."""
    drawn = Drawn(edits_by_topic().explain().svg())
    said = {key: " ".join(text.strip() for text, _ in drawn.texts(group)) for key, group in drawn.boxes.items()}
    assert "bytes > 100" in said["where#1"]
    assert "page STRING, topic STRING" in said["pages"]
    assert said["edits"].endswith("time ts")
    assert "windows of 1 hour, every 10 minutes" in said["window#1"]
    assert "holds partial aggregates per window and group, until its end is complete" in said["window#1"]
    assert "session.aggregate" in said["session#1"]
    assert said["sink hourly"] == "hourly sink ts, window, topic, n"
    on = {(g.attrib["data-from"], g.attrib["data-to"]): [text for text, _ in drawn.texts(g)] for g in drawn.links}
    assert on["join#1", "window#1"] == ["ts + up to 1 hour - 1 µs"]
    assert on["join#1", "session#1"] == ["ts + at least 30 minutes - 1 µs"]
    assert on["edits", "where#1"] == []


def test_both_sides_of_a_join_share_their_label() -> None:
    """What is true of every edge into a box is said once, over them all."""
    flow = tg.Flow("late")
    left, right = (flow.source(name, "v INT, w INT, k INT", time=("v", "w")) for name in "ab")
    flow.sink("out", left.window_join(right, on="k", size=10, over="w"))
    drawn = Drawn(flow.explain().svg())
    labels = [text for group in drawn.links for text, _ in drawn.texts(group)]
    assert labels == ["w + up to 10 - 1"]
    assert "time v, w" in [text for text, _ in drawn.texts(drawn.boxes["a"])]


def test_what_is_pointed_out_is_marked_and_written_below() -> None:
    """A box has the numbers of its warnings, which are below the picture, in order; a notebook has them as a list."""
    flow = tg.Flow("growing")
    flow.sink("n", ints(flow).accumulate(by="k", emit="complete", n="count(*)"))
    explanation = flow.explain()
    drawn = Drawn(explanation.svg())
    assert drawn.boxes["accumulate#1"].attrib["class"] == "box operator held warned"
    assert "! 2, 3" in [text for text, _ in drawn.texts(drawn.boxes["accumulate#1"])]
    assert "! 1" in [text for text, _ in drawn.texts(drawn.boxes["s"])]
    [below] = drawn.of_class(drawn.root, "notes")
    written = " ".join(text for text, _ in drawn.texts(below))
    at = [written.index(f"! {i} {w.operator}: {w.what[:20]}") for i, w in enumerate(explanation.warnings, start=1)]
    assert at == sorted(at)
    html = explanation._repr_html_()
    assert html.count("<li>") == 3
    assert 'class="notes"' not in html


def test_a_loop_leads_back() -> None:
    """The box of a loop has an edge to itself, which says that it is one round later."""
    flow = tg.Flow("graph")
    edges = flow.source("edges", "t INT, src INT, dst INT", time="t", watermark=tg.bounded(1))
    flow.sink("parts", tg.graph.components(edges, "src", "dst"))
    drawn = Drawn(flow.explain().svg())
    [loop] = [g for g in drawn.links if g.attrib["data-from"] == g.attrib["data-to"]]
    assert loop.attrib["data-from"] == "iterate#1"
    assert [text for text, _ in drawn.texts(loop)] == ["round + 1"]


def test_it_needs_nothing_else_and_is_always_the_same() -> None:
    """No script, no font, no address but the name of the format; twice the same text; words for who cannot see it."""
    picture = edits_by_topic().explain().svg()
    assert picture == edits_by_topic().explain().svg()
    assert re.findall(r"https?://[^\"]*", picture) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"<script|@import|@font-face|url\(|href| id=", picture)
    root = ElementTree.fromstring(picture)
    assert root.attrib["role"] == "img"
    assert root.findtext(f"{SPACE}title") == "flow edits"
    described = root.findtext(f"{SPACE}desc") or ""
    assert "join#1, operator, from where#1 and pages" in described
    assert "sink hourly, sink, from window#1" in described


def test_it_is_light_and_dark() -> None:
    """Colours are those of a light page, and of a dark one where the reader has one, or the notebook around it."""
    picture = edits_by_topic().explain().svg()
    assert 'class="paper tg-paper" fill="#fbfcfd"' in picture
    assert "@media (prefers-color-scheme: dark){.tidegate{--tg-paper:#12171e" in picture
    assert '[data-jp-theme-light="false"] .tidegate' in picture
    used = set(re.findall(r'class="[^"]*?(tg-[a-z-]+)', picture))
    assert used
    for name in used:
        assert f".tidegate .{name}{{" in picture


def test_what_a_terminal_or_a_page_would_obey_is_escaped() -> None:
    """Names and expressions come from users: neither markup nor characters that XML does not have go through."""
    boxes = [Box("a\x1b", ("<b>&", "x = '\x00'"), "operator", held=False, title="<i>\x07")]
    root = ElementTree.fromstring(svg(boxes, [], title="<script>", notes=["</svg>"]))
    assert [text for text, _ in Drawn(ElementTree.tostring(root, encoding="unicode")).texts(root)] == [
        "<script>",
        "<b>&",
        "x = '\\x00'",
        "! 1",
        "</svg>",
    ]


def test_a_small_picture_has_names_and_notes() -> None:
    """For a running flow: where each operator is, without what it does."""
    drawn = Drawn(edits_by_topic().explain().svg(notes={"join#1": "from 09:00 on", "sink hourly": "all"}, small=True))
    said = {key: [text for text, _ in drawn.texts(group)] for key, group in drawn.boxes.items()}
    assert said["join#1"] == ["join#1", "from 09:00 on"]
    assert said["sink hourly"] == ["hourly", "all"]
    assert said["where#1"] == ["where#1"]


ROOT = Path(__file__).parents[2]
FIGURE = ROOT / "docs" / "figures" / "explained.svg"


def on_the_page() -> str:
    """Return the picture of the flow in the documentation."""
    page = (ROOT / "docs" / "flows.md").read_text(encoding="utf-8")
    [block] = [b for b in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if 'Flow("shop")' in b]
    names: dict[str, Any] = {"tg": tg}
    exec("\n".join(line[4:] for line in block.splitlines() if line[:4] in (">>> ", "... ")), names)
    return str(names["picture"]) + "\n"


def test_the_picture_in_the_documentation_is_of_the_flow_beside_it() -> None:
    """``python -m tests.flow.test_picture`` draws it anew."""
    assert FIGURE.read_text(encoding="utf-8") == on_the_page()


if __name__ == "__main__":
    FIGURE.write_text(on_the_page(), encoding="utf-8")
