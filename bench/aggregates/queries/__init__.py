"""The 24 queries of the paper on Aggregates, as flows over texts and over laser scans.

A name says cost, selectivity and kind: ``LHM`` has low selectivity, high cost, and is a Map. Upper case is on texts,
lower case on scans.

>>> print(QUERIES["LLM"]().plan)
flow LLM
  texts = source(watermark=at_end(), late=divert) -> ts TIMESTAMP, orig STRING, change STRING, updated STRING; time: ts
  select#1 = ...
  explode#1 = explode(select#1, column=word) -> ts TIMESTAMP, word (open); time: ts
  sink out = explode#1
"""

from bench.aggregates.queries.data import SELECTIVITY, draw_scans, draw_texts
from bench.aggregates.queries.scans import SCANS
from bench.aggregates.queries.texts import TEXTS

__all__ = ["QUERIES", "SCANS", "SELECTIVITY", "TEXTS", "draw_scans", "draw_texts"]

#: How to build each query, by name.
QUERIES = {**TEXTS, **SCANS}
