"""The local engine: the same flows in this process, without a JVM. DuckDB computes."""
