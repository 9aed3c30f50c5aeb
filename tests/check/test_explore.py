"""The model checker itself: it finds what is there, by a shortest way, and says where it stopped looking."""

import pytest

from tidegate.check.explore import Always, Relates, explore


class Grid:
    """Steps right and up on a grid of the given size, with many ways to each state."""

    def __init__(self, size):
        self.size = size

    def initial(self):
        return [(0, 0)]

    def steps(self, state):
        x, y = state
        if x < self.size:
            yield "right", (x + 1, y)
        if y < self.size:
            yield "up", (x, y + 1)


NOTHING = Always("nothing", lambda state: None)


def test_every_state_and_transition_is_seen_once():
    """Equal states are merged: a grid of n by n has n² states, though exponentially many paths."""
    found = explore(Grid(9), [NOTHING])
    assert (found.states, found.transitions, found.depth) == (100, 180, 18)
    assert found.complete
    assert found.violation is None


def test_a_violation_comes_with_a_shortest_trace():
    """Of all ways to a bad state the trace is a shortest one, from the start to the state that breaks the property."""
    found = explore(Grid(9), [Always("not far", lambda s: f"{s} is far" if sum(s) > 4 else None)])
    assert found.violation.name == "not far"
    assert len(found.violation.trace) == 6
    assert found.violation.trace[0] == ("", (0, 0))
    for (_, before), (label, after) in zip(found.violation.trace, found.violation.trace[1:], strict=False):
        assert (label, after) in list(Grid(9).steps(before))
    assert not found.complete
    assert str(found.violation).splitlines()[1].startswith("  1. ")


def test_a_property_of_steps_sees_every_step():
    """A step to a state that is known already is checked too."""

    class Diamond:
        def initial(self):
            return ["start"]

        def steps(self, state):
            return {"start": [("a", "left"), ("b", "right")], "left": [("c", "end")], "right": [("d", "end")]}.get(
                state, []
            )

    only_left = Relates("only by the left", lambda s, t: "came by the right" if (s, t) == ("right", "end") else None)
    found = explore(Diamond(), [only_left])
    assert [label for label, _ in found.violation.trace] == ["", "b", "d"]


def test_an_initial_state_can_break_a_property():
    """The trace of a bad start has no steps."""
    found = explore(Grid(1), [Always("never", lambda s: "always")])
    assert found.violation.trace == (("", (0, 0)),)


@pytest.mark.parametrize("bound", [{"max_depth": 3}, {"max_states": 10}])
def test_a_bound_is_not_reported_as_complete(bound):
    """If a bound cut the exploration short, it is not complete, even without a violation."""
    found = explore(Grid(9), [NOTHING], **bound)
    assert found.states == 10
    assert not found.complete
    assert found.violation is None


def test_a_bound_that_cuts_nothing_is_complete():
    """A bound that is not met leaves the exploration complete."""
    assert explore(Grid(2), [NOTHING], max_depth=99, max_states=9).complete


def test_progress_is_told():
    """The caller hears of the number of states and of those that wait."""
    heard = []
    explore(Grid(40), [NOTHING], progress=lambda states, waiting: heard.append((states, waiting)))
    assert [states for states, _ in heard] == [500, 1000, 1500]
