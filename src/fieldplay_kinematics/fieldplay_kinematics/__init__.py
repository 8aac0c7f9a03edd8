"""Kinematics of the datasets' robots as functions on arrays. The nodes that use them live in `nodes/`, apart."""
