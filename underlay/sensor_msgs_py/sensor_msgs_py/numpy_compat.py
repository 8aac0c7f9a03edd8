"""The two conversions of upstream's module of this name; every numpy that this stand-in meets has them."""

from numpy.lib.recfunctions import structured_to_unstructured, unstructured_to_structured

__all__ = ["structured_to_unstructured", "unstructured_to_structured"]
