"""The 23 queries of NEXMark as flows: each is a function from the three streams to its answer.

What the benchmark asks of rows "so far" is answered at every time that changes the answer; what it asks of windows,
when they end. Every answer is final.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import tidegate as tg
from examples.nexmark.events import AUCTIONS, BIDS, LONGEST, PERSONS, SIDE

__all__ = ["QUERIES", "Streams", "flow_of"]


@dataclass(frozen=True)
class Streams:
    """The sources of a flow: streams of people, auctions and bids, a table, and bids at the time of their arrival."""

    flow: tg.Flow

    @property
    def persons(self) -> tg.Stream:
        return self.flow.source("persons", PERSONS, time="ts", watermark=tg.bounded("4 seconds"))

    @property
    def auctions(self) -> tg.Stream:
        return self.flow.source("auctions", AUCTIONS, time="ts", watermark=tg.bounded("4 seconds"))

    @property
    def bids(self) -> tg.Stream:
        return self.flow.source("bids", BIDS, time="ts", watermark=tg.bounded("4 seconds"))

    @property
    def arriving_bids(self) -> tg.Stream:
        return self.flow.source("bids", BIDS, time=tg.arrival())

    @property
    def side(self) -> tg.Stream:
        return self.flow.table("side", SIDE)


def q0(s: Streams) -> tg.Stream:
    """Pass bids through."""
    return s.bids


def q1(s: Streams) -> tg.Stream:
    """Convert prices from dollars to euros."""
    return s.bids.select("auction", "bidder", "CAST(0.908 * price AS DECIMAL(23, 3)) AS price")


def q2(s: Streams) -> tg.Stream:
    """Bids for some auctions."""
    return s.bids.where("auction % 23 = 0").select("auction", "price")


def q3(s: Streams) -> tg.Stream:
    """Who sells in some states, in one category: whichever comes first, the person or the auction."""
    local = s.persons.where("state IN ('OR', 'ID', 'CA')").select("id AS person", "name", "city", "state")
    sold = s.auctions.where("category = 10").select("id", "seller")
    return sold.interval_join(local, on={"seller": "person"}).select("name", "city", "state", "id")


def winners(s: Streams) -> tg.Stream:
    """The highest bid for each auction while it was open, the earliest of several, when the auction ends."""
    bids = s.bids.select("ts AS bid_at", "auction", "bidder", "price")
    offers = s.auctions.interval_join(bids, on={"id": "auction"}, lower=0, upper=LONGEST, where="bid_at <= expires")
    best = "max_by(struct(price, bidder, bid_at), struct(price, -unix_micros(bid_at), bidder))"
    return offers.at("expires").aggregate(by=["id", "seller", "category"], best=best)


def q4(s: Streams) -> tg.Stream:
    """The average of winning bids, by category."""
    return winners(s).accumulate(by="category", average="avg(best.price)")


def q5(s: Streams) -> tg.Stream:
    """The auctions with the most bids, in windows of ten seconds every two seconds."""
    counts = s.bids.window("10 seconds", every="2 seconds").aggregate(by="auction", bids="count(*)")
    most = counts.aggregate(most="max(bids)")
    return counts.join(most, on=(), where="bids = most").select("auction", "bids")


def q6(s: Streams) -> tg.Stream:
    """The average of a seller's last ten winning bids."""
    sold = winners(s).select("seller", "id", "best.price AS price")
    return sold.last(10, by="seller").aggregate(by="seller", average="avg(price)")


def q7(s: Streams) -> tg.Stream:
    """The highest bids of each ten seconds: all, if there are several."""
    bids = s.bids.select("ts AS bid_at", "auction", "bidder", "price")
    highest = bids.window("10 seconds").aggregate(price="max(price)").select("price")
    return bids.window_join(highest, on="price", size="10 seconds")


def q8(s: Streams) -> tg.Stream:
    """People who register and open auctions in the same ten seconds."""
    sellers = s.auctions.select("seller")
    new = s.persons.select("id", "name")
    return new.window_join(sellers, on={"id": "seller"}, size="10 seconds").distinct()


def q9(s: Streams) -> tg.Stream:
    """The winning bid of each auction."""
    return winners(s).select("id", "seller", "category", "best.price", "best.bidder", "best.bid_at")


def q10(s: Streams) -> tg.Stream:
    """All bids, to be written into a directory for each day and minute: ``tg.parquet(path, partition_by=…)``."""
    return s.bids.with_columns(day="date_format(ts, 'yyyy-MM-dd')", minute="date_format(ts, 'HH:mm')")


def q11(s: Streams) -> tg.Stream:
    """How many bids somebody makes before a silence of two seconds."""
    return s.bids.session("2 seconds").aggregate(by="bidder", bids="count(*)")


def q12(s: Streams) -> tg.Stream:
    """How many bids arrive from somebody in ten seconds of the clock."""
    return s.arriving_bids.window("10 seconds").aggregate(by="bidder", bids="count(*)")


def q13(s: Streams) -> tg.Stream:
    """Bids with a label from a table."""
    return s.bids.select("auction", "bidder", "price", "auction % 10 AS key").join(s.side, on="key")


def q14(s: Streams) -> tg.Stream:
    """Bids of some size, with the time of the day in words, and how many letters c there are."""
    day, night = "hour(ts) BETWEEN 8 AND 18", "hour(ts) <= 6 OR hour(ts) >= 20"
    return s.bids.where("0.908 * price BETWEEN 1000000 AND 50000000").select(
        "auction",
        "bidder",
        "CAST(0.908 * price AS DECIMAL(23, 3)) AS price",
        f"CASE WHEN {day} THEN 'day' WHEN {night} THEN 'night' ELSE 'other' END AS time_of_day",
        "length(extra) - length(replace(extra, 'c', '')) AS c_counts",
    )


#: Prices in three ranks.
RANKS = {"rank1": "price < 10000", "rank2": "price >= 10000 AND price < 1000000", "rank3": "price >= 1000000"}


def ranked(kinds: dict[str, str]) -> dict[str, str]:
    """Each aggregate of all bids, and of those of each rank."""
    found = dict(kinds)
    for rank, condition in RANKS.items():
        found |= {f"{name}_{rank}": f"{call} FILTER (WHERE {condition})" for name, call in kinds.items()}
    return found


STATISTICS = {"bids": "count(*)", "bidders": "count(DISTINCT bidder)", "auctions": "count(DISTINCT auction)"}


def q15(s: Streams) -> tg.Stream:
    """How many bids, bidders and auctions there were in a day, by the rank of prices."""
    return s.bids.window("1 day").aggregate(**ranked(STATISTICS))


def q16(s: Streams) -> tg.Stream:
    """The same for each channel, and the minute of its last bid."""
    return s.bids.window("1 day").aggregate(by="channel", minute="max(date_format(ts, 'HH:mm'))", **ranked(STATISTICS))


def q17(s: Streams) -> tg.Stream:
    """Prices of each auction in a day."""
    prices = {"lowest": "min(price)", "highest": "max(price)", "average": "avg(price)", "total": "sum(price)"}
    return s.bids.window("1 day").aggregate(by="auction", **ranked({"bids": "count(*)"}), **prices)


def q18(s: Streams) -> tg.Stream:
    """The last bid of somebody for an auction."""
    return s.bids.latest(by=["bidder", "auction"])


def q19(s: Streams) -> tg.Stream:
    """The ten highest bids for each auction."""
    return s.bids.top(10, by="auction", order="price DESC")


def q20(s: Streams) -> tg.Stream:
    """Bids with their auction, in one category: whichever comes first."""
    sold = s.auctions.where("category = 10").select("id", "item", "seller", "expires", "category")
    return s.bids.interval_join(sold, on={"auction": "id"})


def q21(s: Streams) -> tg.Stream:
    """Bids with the number of their channel: a known one, or what the address says."""
    numbers = {"apple": 0, "google": 1, "facebook": 2, "baidu": 3}
    known = " ".join(f"WHEN '{name}' THEN '{number}'" for name, number in numbers.items())
    found = f"CASE lower(channel) {known} ELSE nullif(regexp_extract(url, '(&|^)channel_id=([^&]*)', 2), '') END"
    bids = s.bids.select("auction", "bidder", "price", "channel", f"{found} AS channel_id")
    return bids.where("channel_id IS NOT NULL")


def q22(s: Streams) -> tg.Stream:
    """Bids with the directories of their address."""
    parts = [f"get(split(url, '/'), {n}) AS dir{n - 2}" for n in (3, 4, 5)]
    return s.bids.select("auction", "bidder", "price", "channel", *parts)


QUERIES: dict[str, Callable[[Streams], tg.Stream]] = {
    query.__name__: query
    for query in (
        *(q0, q1, q2, q3, q4, q5, q6, q7, q8, q9, q10, q11),
        *(q12, q13, q14, q15, q16, q17, q18, q19, q20, q21, q22),
    )
}


def flow_of(name: str) -> tg.Flow:
    """Return a query as a flow with one sink, ``out``."""
    flow = tg.Flow(name)
    flow.sink("out", QUERIES[name](Streams(flow)))
    return flow
