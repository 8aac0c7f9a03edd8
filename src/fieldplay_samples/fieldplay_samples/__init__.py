"""Synthetic archives in the published layouts: one world, robots in it, and what their sensors write."""
