"""The experiment of the paper on Aggregates: its 24 queries, data for them, and what each form costs on Spark."""
