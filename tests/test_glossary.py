"""The glossary has every word that the code uses in a sense of its own, once."""

from __future__ import annotations

import re
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
GLOSSARY = (DOCS / "glossary.md").read_text()
TABLES = [re.findall(r"^\| \*\*(.+?)\*\* \|", part, flags=re.M) for part in GLOSSARY.split("\n## ")[1:]]
WORDS = {word.strip().lower() for table in TABLES for entry in table for word in entry.split(",")}

#: Types whose names are words of ours, and where they are.
TYPES = {
    "tidegate.engine.attempt": ("Attempt",),
    "tidegate.engine.commits.commit": ("Commit",),
    "tidegate.engine.keepers.keeper": ("Keeper",),
    "tidegate.engine.marks": ("Marks",),
    "tidegate.engine.policies.policy": ("Policy",),
    "tidegate.engine.relation": ("Backend", "Relation"),
    "tidegate.engine.runs": ("Run",),
    "tidegate.engine.steps.host": ("Host",),
    "tidegate.engine.storage.log": ("Token",),
    "tidegate.engine.storage.published": ("Outlet", "Promise"),
    "tidegate.engine.storage.state": ("Part", "State"),
    "tidegate.flow": ("Flow",),
    "tidegate.flow.plan": ("Carry", "Gate", "Plan", "Sink", "Source", "Table"),
    "tidegate.local_engine.streaming.feeds.feed": ("Feed",),
    "tidegate.progress": ("Exchange", "Propagation", "Summary", "Tracker"),
    "tidegate.sim": ("Adversary", "Capability", "Schedule"),
    "tidegate.spec": ("Operator",),
    "tidegate.testing": ("Trial",),
    "tidegate.testing.engines": ("Driver",),
    "tidegate.time": ("Antichain", "Frontier", "Order"),
}


@pytest.mark.parametrize("home", TYPES)
def test_every_word_of_ours_is_explained(home: str) -> None:
    """A type of the code that is called by a word of ours has that word in the glossary."""
    for name in TYPES[home]:
        assert hasattr(import_module(home), name)
        assert name.lower() in WORDS or f"*{name.lower()}*" in GLOSSARY, name


def test_words_are_there_once_and_in_order() -> None:
    """Each table is in the order of the alphabet, and no word is explained twice."""
    for table in TABLES:
        assert all(a.casefold() <= b.casefold() for a, b in pairwise(w.split(",")[0] for w in table)), table
    every = [word for table in TABLES for word in table]
    assert len(every) == len(set(every)) > 80


#: Words of ours that readers of PySpark cannot know, and the pages that are for readers of the papers.
TO_LINK = ("beat", "fingerprint", "frontier", "keeper", "lowering", "pane", "pointstamp")
FOR_READERS_OF_PAPERS = {"errata.md", "glossary.md", "papers.md"}
PAGES = {page.name: page.read_text() for page in sorted(DOCS.glob("*.md")) if page.name not in FOR_READERS_OF_PAPERS}


def unexplained(page: str) -> list[str]:
    """Return the words of a page that are in its prose, but neither linked to the glossary nor set in italics."""
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", page, flags=re.S)
    used = [word for word in TO_LINK if re.search(rf"\b{word}s?\b", prose, flags=re.I)]
    shown = re.findall(r"\[[^]]*\]\(glossary\.md\)|\*+[^*\n]+\*+", prose)
    return [word for word in used if not any(word in text.lower() for text in shown)]


@pytest.mark.parametrize("page", PAGES)
def test_words_of_ours_are_linked(page: str) -> None:
    """A page that uses such a word links it to the glossary, or sets it in italics where it explains it."""
    assert unexplained(PAGES[page]) == []


def test_a_word_without_a_link_is_found() -> None:
    """Without the links to the glossary, pages have words that are not explained; code does not count."""
    assert sum(bool(unexplained(page.replace("](glossary.md)", "]"))) for page in PAGES.values()) > 5
    assert unexplained("`frontier` and [panes](glossary.md), *beats*; fingerprints") == ["fingerprint"]
