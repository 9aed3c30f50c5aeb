"""The plan that an engine is given in a trial: with watermarks by hand, or with those that the flow declares."""

from __future__ import annotations

from dataclasses import replace

from tidegate.flow.clocks import ticking
from tidegate.flow.plan import Plan, Source
from tidegate.flow.watermarks import ByHand, Published
from tidegate.testing.engines import Setting

__all__ = ["driven", "is_by_hand"]


def driven(setting: Setting) -> Plan:
    """Return the plan with the strategies that a trial lets act.

    A frontier that another flow publishes comes from outside in any case: there, the test is the other flow.
    """
    plan = ticking(setting.plan, setting.clocks)
    operators = tuple(
        replace(o, watermark=ByHand()) if isinstance(o, Source) and is_by_hand(o, setting) else o
        for o in plan.operators
    )
    return replace(plan, operators=operators)


def is_by_hand(source: Source, setting: Setting) -> bool:
    """Whether a trial says which times of a source are complete."""
    return source.id not in setting.clocks and (not setting.declared or isinstance(source.watermark, Published))
