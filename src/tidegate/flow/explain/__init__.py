"""Explanations: what a flow does, what it holds and why, and what may go wrong; as text, Mermaid and SVG."""

from tidegate.flow.explain.explanation import Explanation, explain

__all__ = ["Explanation", "explain"]
