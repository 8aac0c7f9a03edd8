"""Conversion between messages and the values of a pipeline's ports."""
