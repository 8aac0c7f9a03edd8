"""Streams of records, what becomes of one on a topic, and many of them in the order of time."""
