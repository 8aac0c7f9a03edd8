"""AMEDS, the ARCHES Mount Etna dataset. First read archive.py, which opens an archive.

streams.py: rows of its tables as records; clouds.py: its point clouds; checks.py and checks.py: what is measured.
"""

from fieldplay.datasets.ameds.reader import open_archive

__all__ = ["open_archive"]
