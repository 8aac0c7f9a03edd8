"""AMEDS, the ARCHES Mount Etna dataset; opening.py first."""
