"""A flow on the specification's operators, in plain Python: what every engine is compared with."""

from tidegate.reference.run import Results, reference

__all__ = ["Results", "reference"]
