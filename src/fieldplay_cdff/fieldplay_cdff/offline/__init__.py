"""Pipelines on archives and bags: what feeds them, how they run, what is written."""
