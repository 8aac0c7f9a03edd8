"""Campaigns: inputs that nobody thought of, in great numbers, from a seed. See README.md."""
