"""Proofs of the progress protocols for any number of workers, locations and times, by the solver Z3.

`tidegate verify progress` explores small instances to their end. Here the invariants are shown to be inductive: each
holds at the beginning, each action keeps it, and together they imply that the protocol is safe. `logic` says what is
assumed, `sums` what is used of finite sums; each protocol has a module, and `mutants` leaves out each guard in turn.
"""

from tidegate.extras import require

require("prove", "tidegate.check.proofs")

from tidegate.check.proofs.mutants import MUTANTS, ProofMutant
from tidegate.check.proofs.proving import SIZES, prove, queries
from tidegate.check.proofs.query import ProofQuery, Result, Verdict, answer

__all__ = ["MUTANTS", "SIZES", "ProofMutant", "ProofQuery", "Result", "Verdict", "answer", "prove", "queries"]
