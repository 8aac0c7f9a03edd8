"""Trajectories of recordings and files, evaluated against the truth."""
