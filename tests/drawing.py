"""How much is drawn: little in `make test`, the same each time; much in `make check`, something else each time."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

__all__ = ["PROFILE", "drawn_examples", "quick_or_long"]

#: ``test`` or ``check``: which of the two commands runs.
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "test")


def quick_or_long(quick: int, long: int) -> int:
    """Return how many examples to draw: ``quick`` in `make test`, ``long`` in `make check`."""
    return long if PROFILE == "check" else quick


def drawn_examples(quick: int, long: int) -> settings:
    """Return settings for examples that take long, such as flows: one that fails is not made smaller."""
    phases = (Phase.explicit, Phase.reuse, Phase.generate)
    return settings(max_examples=quick_or_long(quick, long), phases=phases, suppress_health_check=list(HealthCheck))
