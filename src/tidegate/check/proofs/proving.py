"""The whole proof: all questions about all protocols, in the order in which they build on each other."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.check.proofs.clocks import clocks
from tidegate.check.proofs.exchange_claims import exchange
from tidegate.check.proofs.graph import paths
from tidegate.check.proofs.propagation import propagation
from tidegate.check.proofs.query import ProofQuery, Result, answer
from tidegate.check.proofs.sums import lemmas
from tidegate.check.proofs.tracker import tracker

__all__ = ["SIZES", "prove", "queries"]

#: For which sizes the statements of each protocol are proved.
SIZES = {
    "sums": "any number of parts, any partial order",
    "graph": "any number of locations, any orders of times",
    "clocks": "any number of workers, any partial order",
    "exchange": "any number of workers, any partial order",
    "propagation": "any number of locations, any orders of times",
    "tracker": "any number of workers and locations, any orders",
}


def queries(only: str = "") -> Iterator[ProofQuery]:
    """Return the parts of the proof whose name contains ``only``."""
    systems = (clocks(), exchange(), propagation(), tracker())
    for query in (*lemmas(), *paths(), *(query for system in systems for query in system.queries())):
        if only in query.name:
            yield query


def prove(only: str = "") -> Iterator[Result]:
    """Ask the solver for each part of the proof whose name contains ``only``."""
    return (answer(query) for query in queries(only))
