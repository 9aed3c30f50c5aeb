"""Explanations of flows: what each operator does and keeps, and what may go wrong; as text, Mermaid and SVG."""

from tidegate.flow.explain.explanation import Explanation, explain

__all__ = ["Explanation", "explain"]
