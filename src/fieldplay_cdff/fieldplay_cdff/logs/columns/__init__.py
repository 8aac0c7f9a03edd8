"""Flattened logs, where each field of all samples is a list: items of such a list, and samples of items."""
