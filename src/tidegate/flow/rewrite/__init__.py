"""Rewrites of plans: every operator as a composition of Aggregates, and such compositions as dedicated operators."""

from tidegate.flow.rewrite.compose import to_aggregates
from tidegate.flow.rewrite.recognise import optimize

__all__ = ["optimize", "to_aggregates"]
