"""Benchmarks and experiments: they are no part of the package."""
