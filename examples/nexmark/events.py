"""The events of an auction house: people who register, auctions that open, and bids; as they arrive, out of order.

The same seed gives the same events. Of 50, one is a person, three are auctions, and 46 are bids, most of them for an
auction that is open. Events arrive up to three seconds late, and some much later.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pyarrow as pa

__all__ = ["AUCTIONS", "BIDS", "LONGEST", "PERSONS", "SIDE", "Events", "events", "side_input"]

PERSONS = "ts TIMESTAMP, id BIGINT, name STRING, email STRING, city STRING, state STRING"
AUCTIONS = (
    "ts TIMESTAMP, id BIGINT, item STRING, initial_bid BIGINT, reserve BIGINT, expires TIMESTAMP, "
    "seller BIGINT, category BIGINT"
)
BIDS = "ts TIMESTAMP, auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, extra STRING"
SIDE = "key BIGINT, label STRING"
#: No auction is open for longer.
LONGEST = "20 seconds"

_BEGIN = datetime(2026, 1, 1, 23, 59, 0, tzinfo=UTC)
_STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
_CITIES = ("Phoenix", "Los Angeles", "Boise", "Portland", "Seattle", "Cheyenne")
_CHANNELS = ("Google", "Facebook", "Baidu", "Apple", "channel-17", "channel-41")
_INSTANT = pa.timestamp("us", "UTC")


@dataclass(frozen=True)
class Events:
    """Rows of each source, in the order in which they arrive."""

    persons: list[dict[str, Any]] = field(default_factory=list)
    auctions: list[dict[str, Any]] = field(default_factory=list)
    bids: list[dict[str, Any]] = field(default_factory=list)

    def tables(self) -> dict[str, pa.Table]:
        """Return the rows of each source as a table."""
        return {name: _table(rows) for name, rows in vars(self).items()}

    def steps(self, count: int) -> dict[str, list[pa.Table]]:
        """Return the rows of each source in so many steps, each of which has as much as any other."""
        cut: dict[str, list[pa.Table]] = {}
        for name, table in self.tables().items():
            at = [table.num_rows * i // count for i in range(count + 1)]
            cut[name] = [table.slice(a, b - a) for a, b in pairwise(at)]
        return cut


def events(count: int, seed: int = 1, *, late: float = 0.002) -> Events:
    """Return so many events, a hundred to a second; a share of them is ``late`` by up to a minute."""
    rng = random.Random(seed)
    arrived: list[tuple[float, str, dict[str, Any]]] = []
    sellers, open_auctions = [1000], list[tuple[int, datetime]]()
    for number in range(count):
        at = _BEGIN + timedelta(milliseconds=10 * number, microseconds=rng.randrange(1000))
        turn = number % 50
        if turn == 0:
            kind, row = "persons", _person(rng, at, 1000 + number)
            sellers.append(row["id"])
        elif turn < 4:
            kind, row = "auctions", _auction(rng, at, 5000 + number, rng.choice(sellers[-20:]))
            open_auctions.append((row["id"], row["expires"]))
        else:
            kind, row = "bids", _bid(rng, at, open_auctions, sellers)
        delay = rng.uniform(3, 60) if rng.random() < late else rng.uniform(0, 3)
        arrived.append((number / 100 + delay, kind, row))
    found = Events()
    for _, kind, row in sorted(arrived, key=lambda one: one[0]):
        getattr(found, kind).append(row)
    return found


def side_input() -> pa.Table:
    """Return a table to join bids with: a label for each remainder of ten."""
    return pa.table({"key": pa.array(range(10), pa.int64()), "label": [f"label {n}" for n in range(10)]})


def _person(rng: random.Random, at: datetime, number: int) -> dict[str, Any]:
    place = rng.randrange(len(_STATES))
    return {
        "ts": at,
        "id": number,
        "name": f"person {number}",
        "email": f"person{number}@example.com",
        "city": _CITIES[place],
        "state": _STATES[place],
    }


def _auction(rng: random.Random, at: datetime, number: int, seller: int) -> dict[str, Any]:
    first = rng.randrange(1, 1000)
    return {
        "ts": at,
        "id": number,
        "item": f"item {number}",
        "initial_bid": first,
        "reserve": first + rng.randrange(1000),
        "expires": at + timedelta(milliseconds=rng.randrange(1000, 20_001)),
        "seller": seller,
        "category": rng.randrange(10, 15),
    }


def _bid(rng: random.Random, at: datetime, auctions: list[tuple[int, datetime]], sellers: list[int]) -> dict[str, Any]:
    # Some come for an auction that is over, and some for one that nobody knows.
    auction = rng.choice(auctions[-40:])[0] if auctions and rng.random() < 0.98 else 1
    channel = rng.choice(_CHANNELS)
    directories = "/".join(f"dir{rng.randrange(100)}" for _ in range(3))
    known = f"&channel_id={rng.randrange(1000)}" if rng.random() < 0.5 else ""
    return {
        "ts": at,
        "auction": auction,
        "bidder": rng.choice(sellers[-60:]),
        "price": rng.choice((rng.randrange(1, 10_000), rng.randrange(1, 3_000_000))),
        "channel": channel,
        "url": f"https://www.example.com/{directories}/item.htm?query=1{known}",
        "extra": "".join(rng.choice("abcdef") for _ in range(rng.randrange(12))),
    }


def _table(rows: list[dict[str, Any]]) -> pa.Table:
    if not rows:
        return pa.table({})
    names = list(rows[0])
    types = {name: _INSTANT if isinstance(rows[0][name], datetime) else None for name in names}
    return pa.table({name: pa.array([row[name] for row in rows], types[name]) for name in names})
