"""What means the same in Spark and in DuckDB: one table, and the translation by it; everything else is refused."""
