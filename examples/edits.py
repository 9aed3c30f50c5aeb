"""Edits of pages, counted by the hour: a flow on a few rows, and the same flow on a stream. A file to copy.

    python examples/edits.py
    tidegate explain examples/edits.py
    tidegate run examples/edits.py --input edits=edits.csv --output hourly=hourly.csv
    tidegate run examples/edits.py -i edits=in/ -o hourly=out/ --checkpoint checkpoints/edits --every 10s

The flow is at the top level, where ``tidegate`` finds it. What is below ``__main__`` only the first command runs.
"""

from __future__ import annotations

import tempfile

import tidegate as tg

EDITS = "ts TIMESTAMP, page STRING, bytes INT"

flow = tg.Flow("edits")
edits = flow.source("edits", EDITS, time="ts", watermark=tg.bounded("10 minutes"))
flow.sink("hourly", edits.window("1 hour").aggregate(by="page", edits="count(*)", bytes="sum(bytes)"))

if __name__ == "__main__":
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", 2)
    spark = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    rows = spark.sql("""
        SELECT * FROM VALUES
            (TIMESTAMP '2026-01-01 00:10:00', 'home', 120),
            (TIMESTAMP '2026-01-01 00:40:00', 'home', 30),
            (TIMESTAMP '2026-01-01 00:50:00', 'news', 7),
            (TIMESTAMP '2026-01-01 01:05:00', 'home', 50)
        AS edits(ts, page, bytes)""")

    print("computed, on rows that are all there:")
    flow.compute(spark, {"edits": rows})["hourly"].orderBy("ts", "page").show(truncate=False)

    with tempfile.TemporaryDirectory() as place:
        rows.write.parquet(f"{place}/in")
        stream = spark.readStream.schema(EDITS).parquet(f"{place}/in")
        run = flow.start(spark, {"edits": stream}, {"hourly": tg.parquet(f"{place}/out")}, f"{place}/checkpoint")
        run.finish()  # what is there now is all there is; run.await_termination() would wait for more
        print(run.status())
        tg.read(spark, f"{place}/out").orderBy("ts", "page").show(truncate=False)
