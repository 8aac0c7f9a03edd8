"""Trajectories of archives and bags compared with each other."""
