"""Builds the launch descriptions of all datasets from their descriptions."""
