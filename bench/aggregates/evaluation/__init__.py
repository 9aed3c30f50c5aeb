"""The evaluation of the paper on Aggregates: rates, latencies that are measured, and what is sustained, on three
sides.

``python -m bench.aggregates evaluate`` runs it. A *side* runs a query: Structured Streaming by hand, Tidegate on
Spark, the local engine. A *cell* is one run of a side at one rate; `store` keeps each, so that a run goes on where
one stopped.
"""
