"""The Marulan datasets of ACFR; opening.py first."""
