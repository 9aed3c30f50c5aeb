"""The engine: how a flow is evaluated on rows. It is written once, against the protocols in `relation`.

A backend reads and writes rows and computes: there is one for Spark and one for DuckDB. Nothing here depends on which.
"""
