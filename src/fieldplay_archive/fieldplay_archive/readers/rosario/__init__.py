"""The Rosario dataset; opening.py first."""
