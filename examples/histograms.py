"""The worked example of the first paper, Figures 1 and 6: histograms on times that are only partially ordered.

    python examples/histograms.py          # on Spark
    python examples/histograms.py local    # without a JVM
    tidegate explain examples/histograms.py

There are three branches above t0, of which two meet in t5. A row with the word WM is a watermark: its time, and all
below it, is complete. At t5, the words of t0 count once, though two branches lead there; those of t1 and t4 do not.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import tidegate as tg
from tidegate.time import Poset

ORDER = Poset([("t0", "t1"), ("t1", "t4"), ("t0", "t2"), ("t2", "t5"), ("t0", "t3"), ("t3", "t5")])
STREAM = [
    *[("t0", "a"), ("t1", "c"), ("t1", "WM")],
    *[("t2", "b"), ("t3", "a"), ("t5", "a"), ("t5", "c"), ("t4", "d"), ("t5", "WM"), ("t2", "WM")],
]

flow = tg.Flow("histograms")
words = flow.source(
    "words", "t STRING, word STRING", time=tg.ordered("t", ORDER), watermark=tg.punctuated("word = 'WM'")
)
flow.sink("histograms", words.accumulate(by="word", n="count(*)", emit="complete"))


def shown(rows: list[tuple[str, str, int]]) -> str:
    """Return histograms as the paper writes them: H_t0 = {a: 1}."""
    times = dict.fromkeys(t for t, _, _ in sorted(rows))
    counts = {t: ", ".join(f"{word}: {n}" for u, word, n in sorted(rows) if u == t) for t in times}
    return "\n".join(f"  H_{t} = {{{text}}}" for t, text in counts.items())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        given = Path(place, "in")
        given.mkdir()
        table = pa.table({"t": [t for t, _ in STREAM], "word": [word for _, word in STREAM]})
        pq.write_table(table, given / "words.parquet")
        outputs = {"histograms": tg.parquet(f"{place}/out")}
        session: Any
        if sys.argv[1:] == ["local"]:
            session = tg.local()
            run = flow.start(session, {"words": tg.files(given)}, outputs, f"{place}/checkpoint")
        else:
            from pyspark.sql import SparkSession

            builder = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", 2)
            session = builder.getOrCreate()
            stream = session.readStream.schema("t STRING, word STRING").parquet(str(given))
            run = flow.start(session, {"words": stream}, outputs, f"{place}/checkpoint")
        while not run.status().rows["words"]:
            run.await_termination(0.1)

        def so_far() -> list[tuple[str, str, int]]:
            """Return what has come out."""
            found = tg.read(session, f"{place}/out")
            return [tuple(row) for row in (found.fetchall() if hasattr(found, "fetchall") else found.collect())]

        before = so_far()
        print("after the watermarks t1, t5 and t2; t4 may still have more words:")
        print(shown(before))
        print(run.status())
        run.finish()
        print("at the end of the input:")
        print(shown([row for row in so_far() if row not in before]))
