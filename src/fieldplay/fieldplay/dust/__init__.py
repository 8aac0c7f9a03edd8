"""Laser returns classified by a radar: sensor_integrity.py is the computation."""
