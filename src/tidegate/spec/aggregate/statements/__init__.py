"""Every claim, lemma and theorem on Aggregates, and their assumptions, as functions that find counterexamples.

Each takes what it quantifies over and returns None or a `Counterexample`. If one takes an operator by keyword, the
default is the paper's own. Tests pass a broken one to show that the statement can fail.
"""

from tidegate.spec.aggregate.statements.conditions import c1, c2, c3, p1, p1_keeps_c1, p2, p3
from tidegate.spec.aggregate.statements.foundations import (
    definition_1,
    definition_2,
    definition_3,
    definition_4,
    lemma_1,
    observation_1,
)
from tidegate.spec.aggregate.statements.loops import lemma_2, lemma_3, lemma_4, lemma_5, theorem_3
from tidegate.spec.aggregate.statements.operators import (
    claim_1,
    claim_2,
    composition_keeps_productive,
    filter_is_a_map,
    section_5_1_join,
    section_5_1_map,
    theorem_1,
    theorem_2,
)

__all__ = [
    "c1",
    "c2",
    "c3",
    "claim_1",
    "claim_2",
    "composition_keeps_productive",
    "definition_1",
    "definition_2",
    "definition_3",
    "definition_4",
    "filter_is_a_map",
    "lemma_1",
    "lemma_2",
    "lemma_3",
    "lemma_4",
    "lemma_5",
    "observation_1",
    "p1",
    "p1_keeps_c1",
    "p2",
    "p3",
    "section_5_1_join",
    "section_5_1_map",
    "theorem_1",
    "theorem_2",
    "theorem_3",
]
