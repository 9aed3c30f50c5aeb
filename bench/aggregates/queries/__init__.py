"""The 24 queries of the paper on Aggregates, as flows over texts and over laser scans.

A name says cost, selectivity and kind: ``LHM`` has low selectivity, high cost, and is a Map. Upper case is on texts,
lower case on scans. `QUERIES` has them as Table 1 prints them. The authors published programs for Flink, for Spark and
for their micro engine. `PUBLISHED` has, by program, the queries that differ there: Maps as that program has them, Joins
with its key, condition and windows, and with the columns of ours.

>>> print(QUERIES["LLM"]().plan)
flow LLM
  texts = source(watermark=at_end(), late=divert) -> ts TIMESTAMP, orig STRING, change STRING, updated STRING; time: ts
  select#1 = ...
  explode#1 = explode(select#1, column=word) -> ts TIMESTAMP, word (open); time: ts
  sink out = explode#1
>>> {program: len(queries) for program, queries in PUBLISHED.items()}
{'flink': 18, 'spark': 8, 'uspe': 8}
"""

from bench.aggregates.queries.data import SELECTIVITY, draw_scans, draw_texts
from bench.aggregates.queries.scans import PUBLISHED_SCANS, SCANS
from bench.aggregates.queries.texts import PUBLISHED_TEXTS, TEXTS

__all__ = ["PUBLISHED", "QUERIES", "SCANS", "SELECTIVITY", "TEXTS", "draw_scans", "draw_texts"]

#: How to build each query, by name.
QUERIES = {**TEXTS, **SCANS}
#: By program, how to build the queries that it has otherwise than they are printed. Only that for Flink has scans.
PUBLISHED = {**PUBLISHED_TEXTS, "flink": {**PUBLISHED_TEXTS["flink"], **PUBLISHED_SCANS}}
