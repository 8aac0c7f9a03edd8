"""Pipelines on archives and bags: their inputs, their execution, and their outputs."""
