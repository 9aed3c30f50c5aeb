"""What each query of NEXMark gives over all rows, in DuckDB's SQL.

Instants are without a zone, in UTC. The time of an answer is ``ts``; a window's is one microsecond before its end.
"""

from __future__ import annotations

__all__ = ["ORACLES"]

LAST = "INTERVAL 1 MICROSECOND"


def ended(at: str, seconds: int) -> str:
    """SQL for the last unit of the window that an instant is in."""
    return f"time_bucket(INTERVAL {seconds} SECOND, {at}, TIMESTAMP '1970-01-01') + INTERVAL {seconds} SECOND - {LAST}"


WON = """
WITH offers AS (
    SELECT a.expires AS ts, a.id, a.seller, a.category, b.price, b.bidder, b.ts AS bid_at,
           row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.ts, b.bidder DESC) AS place
    FROM auctions a JOIN bids b ON b.auction = a.id AND b.ts BETWEEN a.ts AND a.expires
), won AS (SELECT * EXCLUDE (place) FROM offers WHERE place = 1)
"""

RANKS = {
    "": "true",
    "_rank1": "price < 10000",
    "_rank2": "price BETWEEN 10000 AND 999999",
    "_rank3": "price >= 1000000",
}
STATISTICS = ", ".join(
    f"count(*) FILTER (WHERE {rank}) AS bids{name}, count(DISTINCT bidder) FILTER (WHERE {rank}) AS bidders{name}, "
    f"count(DISTINCT auction) FILTER (WHERE {rank}) AS auctions{name}"
    for name, rank in RANKS.items()
)
COUNTS = ", ".join(f"count(*) FILTER (WHERE {rank}) AS bids{name}" for name, rank in RANKS.items())
DAY = f"date_trunc('day', ts) + INTERVAL 1 DAY - {LAST}"

ORACLES = {
    "q0": "SELECT * FROM bids",
    "q1": "SELECT ts, auction, bidder, CAST(0.908 * price AS DECIMAL(23, 3)) AS price FROM bids",
    "q2": "SELECT ts, auction, price FROM bids WHERE auction % 23 = 0",
    "q3": """
        SELECT greatest(a.ts, p.ts) AS ts, p.name, p.city, p.state, a.id
        FROM auctions a JOIN persons p ON a.seller = p.id
        WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')""",
    "q4": f"""{WON}
        SELECT DISTINCT ts, category,
            avg(price) OVER (PARTITION BY category ORDER BY ts RANGE UNBOUNDED PRECEDING) AS average FROM won""",
    "q5": f"""
        WITH placed AS (
            SELECT auction, {ended("ts", 2)} + {LAST} - INTERVAL (2 * back) SECOND AS begins
            FROM bids, range(1, 6) AS r(back)
        ), counts AS (SELECT begins, auction, count(*) AS bids FROM placed GROUP BY ALL)
        SELECT begins + INTERVAL 10 SECOND - {LAST} AS ts, auction, bids FROM counts
        QUALIFY bids = max(bids) OVER (PARTITION BY begins)""",
    "q6": f"""{WON}, asked AS (SELECT DISTINCT seller, ts FROM won), sold AS (
            SELECT k.ts, k.seller, w.price,
                row_number() OVER (PARTITION BY k.seller, k.ts ORDER BY w.ts DESC, w.id DESC, w.price DESC) AS place
            FROM asked k JOIN won w ON w.seller = k.seller AND w.ts <= k.ts)
        SELECT ts, seller, avg(price) AS average FROM sold WHERE place <= 10 GROUP BY ALL""",
    "q7": f"""
        SELECT {ended("ts", 10)} AS ts, price, ts AS bid_at, auction, bidder FROM bids
        QUALIFY price = max(price) OVER (PARTITION BY {ended("bids.ts", 10)})""",
    "q8": f"""
        SELECT DISTINCT {ended("p.ts", 10)} AS ts, p.id, p.name FROM persons p
        JOIN auctions a ON a.seller = p.id AND {ended("p.ts", 10)} = {ended("a.ts", 10)}""",
    "q9": f"{WON} SELECT ts, id, seller, category, price, bidder, bid_at FROM won",
    "q10": "SELECT *, strftime(ts, '%Y-%m-%d') AS day, strftime(ts, '%H:%M') AS minute FROM bids",
    "q11": f"""
        WITH begun AS (
            SELECT *, ts - lag(ts) OVER w >= INTERVAL 2 SECOND IS NOT FALSE AS begins FROM bids
            WINDOW w AS (PARTITION BY bidder ORDER BY ts)
        ), numbered AS (
            SELECT *, sum(begins::INT) OVER (PARTITION BY bidder ORDER BY ts RANGE UNBOUNDED PRECEDING) AS number
            FROM begun)
        SELECT max(ts) + INTERVAL 2 SECOND - {LAST} AS ts, bidder, count(*) AS bids
        FROM numbered GROUP BY bidder, number""",
    "q12": f"SELECT {ended('arrived', 10)} AS arrived, bidder, count(*) AS bids FROM bids GROUP BY ALL",
    "q13": """
        SELECT b.ts, b.auction % 10 AS key, b.auction, b.bidder, b.price, s.label
        FROM bids b JOIN side s ON s.key = b.auction % 10""",
    "q14": """
        SELECT ts, auction, bidder, CAST(0.908 * price AS DECIMAL(23, 3)) AS price,
            CASE WHEN hour(ts) BETWEEN 8 AND 18 THEN 'day' WHEN hour(ts) <= 6 OR hour(ts) >= 20 THEN 'night'
                ELSE 'other' END AS time_of_day,
            len(list_filter(string_split(extra, ''), lambda c: c = 'c')) AS c_counts
        FROM bids WHERE 0.908 * price BETWEEN 1000000 AND 50000000""",
    "q15": f"SELECT {DAY} AS ts, {STATISTICS} FROM bids GROUP BY {DAY}",
    "q16": f"""
        SELECT {DAY} AS ts, channel, max(strftime(ts, '%H:%M')) AS minute, {STATISTICS} FROM bids
        GROUP BY {DAY}, channel""",
    "q17": f"""
        SELECT {DAY} AS ts, auction, {COUNTS}, min(price) AS lowest, max(price) AS highest, avg(price) AS average,
            sum(price) AS total FROM bids GROUP BY {DAY}, auction""",
    "q18": """
        SELECT * FROM bids
        QUALIFY row_number() OVER (
            PARTITION BY bidder, auction, ts ORDER BY price DESC, channel DESC, url DESC, extra DESC) = 1""",
    "q19": """
        WITH asked AS (SELECT DISTINCT auction, ts FROM bids), found AS (
            SELECT k.ts, b.* EXCLUDE (ts), row_number() OVER (PARTITION BY k.auction, k.ts
                ORDER BY b.price DESC, b.ts, b.auction, b.bidder, b.price, b.channel, b.url, b.extra) AS rank
            FROM asked k JOIN bids b ON b.auction = k.auction AND b.ts <= k.ts)
        SELECT * FROM found WHERE rank <= 10""",
    "q20": """
        SELECT greatest(b.ts, a.ts) AS ts, b.* EXCLUDE (ts), a.item, a.seller, a.expires, a.category
        FROM bids b JOIN auctions a ON a.id = b.auction WHERE a.category = 10""",
    "q21": """
        WITH known AS (
            SELECT ts, auction, bidder, price, channel, CASE lower(channel) WHEN 'apple' THEN '0' WHEN 'google' THEN '1'
                WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3'
                ELSE nullif(split_part(split_part(url, 'channel_id=', 2), '&', 1), '') END AS channel_id
            FROM bids)
        SELECT * FROM known WHERE channel_id IS NOT NULL""",
    "q22": """
        SELECT ts, auction, bidder, price, channel, split_part(url, '/', 4) AS dir1, split_part(url, '/', 5) AS dir2,
            split_part(url, '/', 6) AS dir3 FROM bids""",
}
