"""Wheels, arms, odometry as functions on arrays, and as computations from records to records."""
