"""Diagrams of chains of processing steps."""
