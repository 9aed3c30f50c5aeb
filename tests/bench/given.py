"""Rows for the 24 queries, few and awkward, and what of their answers no engine differs in."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import islice
from random import Random
from typing import Any

from bench.aggregates.queries import draw_scans, draw_texts
from bench.aggregates.queries.scans import SAMPLES

__all__ = ["CHANGES", "PAIRS", "QUICK", "changed", "edges", "given", "rounded", "scans", "texts"]

START = datetime(2026, 1, 1)
AWKWARD = [
    (START, " leading and  double ", "", "   "),
    (START, "b a B a b", "x", "x x y"),
    (START, "", " ", "a"),
    # Ten letters, which is not more than ten, and eleven.
    (START, "aaaaaaaaaaaa", "bbbbbbbbbb c bbbbbbbbbb", "cccccccccc"),
    (START, "aaaaaaaaaaa", "bbbbbbbbbbb c bbbbbbbbbbb", "ccccccccccc"),
    (START, "aaaaaaaaaa", "a \n", "a \u0085"),
]
#: Changes, and into how many parts Java splits them at blanks.
CHANGES = {"a": 1, "a \n": 2, "a  ": 1, "a \u0085": 2, "  ": 0, "": 1}
#: One of the first has 211 letters, in lower case 212; so the second is as long as it, or the third.
LONGER_IN_LOWER_CASE = ("İ" + "x" * 210, "y" * 211, "z" * 212)
#: What programs for Figure 14 find among `edges` and the table does not, whatever their key.
_NEARLY = {"ab", "ba", "ac", "bc", "de", "ed", "fF", "Ff", "İq", "qİ", "pq", "qp"}
#: What the Joins find among `edges`, by the first letters of both texts: as printed, and as each program has them.
PAIRS = {
    "": {"kl", "lk", "gh", "hg", "mn", "nm", "İp", "pİ"},
    "flink": {"kl", "lk", "gh", "hg", "mn", "nm", "İq", "qİ"},
    "spark": {"kl", "lk", "ij", "ji", "İp", "pİ"} | _NEARLY,
    "uspe": {"kl", "lk", "gh", "hg", "İp", "pİ"} | _NEARLY,
}
#: One of each kind and cost on each kind of data runs in every test run, the others in the long one.
QUICK = ("LLM", "HHM", "ALJ", "lhm", "hlm", "hlj")


def texts(name: str) -> list[Any]:
    """Texts of which some match, or have no words."""
    apart = timedelta(milliseconds=400)
    if name.endswith("M"):
        return [*AWKWARD, *islice(draw_texts(Random(2), apart=apart), 12)]
    rows = [row for row in islice(draw_texts(Random(3), apart=apart), 60) if len(row[1]) > 100][:16]
    rows += [(ts, orig.upper(), change, updated) for ts, orig, change, updated in rows[:3]]
    rows += [(ts, orig[::-1], change, updated) for ts, orig, change, updated in rows[:16]]
    rows += [(START, orig, "a", "") for orig in LONGER_IN_LOWER_CASE]
    return rows + [(START, f"{i}".rjust(220, "x"), change, "") for i, change in enumerate(CHANGES)]


def changed() -> list[Any]:
    """Two texts of each change, all equally long: the second last letter is the number of the change."""
    changes = [(f"{i}{twin}", change) for i, change in enumerate(CHANGES) for twin in "ab"]
    return [(START, orig.rjust(220, "x"), change, "") for orig, change in changes]


def edges(name: str) -> list[Any]:
    """Texts that match in one program of a Join and not in another; only those of one group are about as long."""
    least = {"L": 210, "A": 150, "H": 100}[name[0]]
    found = [
        # As long as the bound, and one shorter.
        (0, "a", least, "x"),
        (0, "b", least, "x"),
        (0, "c", least - 1, "x"),
        # One longer than the other.
        (0, "d", least + 10, "x"),
        (0, "e", least + 11, "x"),
        # The same but for the case.
        (0, "f", least + 20, "x"),
        (0, "F", least + 20, "x"),
        # As many words where what is empty at the end does not count, and where it does.
        (0, "g", least + 30, "x"),
        (0, "h", least + 30, "x  "),
        (0, "i", least + 40, "x  "),
        (0, "j", least + 40, "x y z"),
        # The same length, and nothing else that is particular.
        (0, "k", least + 50, "x"),
        (0, "l", least + 50, "x"),
        # Together in sliding windows only: 30 seconds are both three and ten seconds many times.
        (29, "m", least + 60, "x"),
        (30, "n", least + 60, "x"),
        (0, "p", least + 70, "x"),
        (0, "q", least + 71, "x"),
    ]
    rows = [(START + timedelta(seconds=at), letter * length, change, "") for at, letter, length, change in found]
    # As long as the one with p, and in lower case as long as the one with q.
    return [*rows, (START, "İ" + "o" * (least + 69), "x", "")]


def scans(name: str) -> list[Any]:
    """Scans of which some are far, and some are alike."""
    rows = list(islice(draw_scans(Random(4), apart=timedelta(milliseconds=150)), 6))
    if name.endswith("m"):
        # One has a mean of three metres, which is not more than three.
        moved = [(ts, n, [d - dist[0] + 0.5 + 2 * (n % 3) for d in dist]) for ts, n, dist in rows]
        return [*moved, (START, 6, [3.0] * SAMPLES)]
    ts, _, dist = rows[0]
    return (
        rows
        + [(ts, n + 10, [d + 0.00085 for d in dist]) for ts, n, dist in rows[:3]]
        + [(ts, n + 20, [d + 0.00072 for d in dist]) for ts, n, dist in rows[:2]]
        + [(ts, n + 30, [d + 0.0006 for d in dist]) for ts, n, dist in rows[:2]]
        # Alike but for the last sample, and alike in a tenth of the samples only.
        + [(ts, 40, [*dist[:-1], dist[-1] + 0.2]), (ts, 50, [dist[0] + 0.01, *dist[1:76], *(d + 8 for d in dist[76:])])]
    )


def given(name: str) -> dict[str, list[Any]]:
    """The rows of the source of a query, by its name."""
    return {"texts": texts(name)} if name.isupper() else {"scans": scans(name)}


def rounded(row: Any) -> Any:
    """A row whose fractions are cut to what no engine differs in."""
    if isinstance(row, dict):
        return tuple(rounded(value) for value in row.values())
    if isinstance(row, list | tuple):
        return tuple(rounded(value) for value in row)
    return round(row, 7) + 0.0 if isinstance(row, float) else row
