"""Trajectories compared: poses of topics, pairs, alignment, errors, and what is kept of them while both go on."""
