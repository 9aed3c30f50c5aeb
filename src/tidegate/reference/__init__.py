"""A flow on the specification's operators, in plain Python: what every engine is compared with."""

from tidegate.reference.run import ReferenceResults, reference

__all__ = ["ReferenceResults", "reference"]
