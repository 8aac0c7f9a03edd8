"""Trajectories compared: association, alignment, errors, time offsets, online."""
