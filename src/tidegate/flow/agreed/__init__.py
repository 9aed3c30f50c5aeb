"""Translates Spark SQL to DuckDB's SQL, by a table of what means the same in both; everything else is refused."""
