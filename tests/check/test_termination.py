"""Does propagation end? A search for a run that does not, and for a step that the argument for it rules out."""

from random import Random

import pytest

from tidegate.check.broken import PassesOnEveryChange, PropagatesLeastOfEachLocation
from tidegate.check.models import loop_graph
from tidegate.check.termination import search, settle
from tidegate.progress import PropagationConf


@pytest.mark.parametrize("seed", range(4))
def test_propagation_ends_on_random_graphs(seed):
    """On drawn graphs and changes every run ends at the implied frontiers, and frontiers change only at known times."""
    found = search(Random(seed), graphs=25)
    assert found.counterexample is None
    assert found.runs > 25


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 104))
def test_propagation_ends_on_many_random_graphs(seed):
    """The same at length."""
    assert search(Random(seed), graphs=500).counterexample is None


def test_the_search_would_notice_a_ghost():
    """Without the rule that smaller times come first, a time that is gone climbs round the loop: it is ruled out."""
    rest = PropagationConf.init(loop_graph(), {"a": {0: 1}}).propagate_all()
    conf = PropagatesLeastOfEachLocation(rest.graph, rest.pts, rest.imp, rest.work).change_multiplicity("a", 0, -1)
    _, _, broken = settle(conf, lambda pending: max(pending, key=lambda p: p[1]), most_steps=50)
    assert "which the argument rules out" in broken


def test_the_search_would_notice_an_endless_run():
    """Without the filter, every lap of the loop makes another: the run is found not to end."""
    _, _, broken = settle(
        PassesOnEveryChange.init(loop_graph(), {"a": {0: 1}}), lambda pending: pending[0], most_steps=50
    )
    assert broken == "not at rest after 51 steps"
