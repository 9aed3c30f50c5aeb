"""Loops: what `Stream.iterate` is made of: the queries of a loop, its rule for keeping facts, and their checks."""

from __future__ import annotations
