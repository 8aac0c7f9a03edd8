"""Feeds: what becomes of a stream on one topic, and many of them in the order of time."""
