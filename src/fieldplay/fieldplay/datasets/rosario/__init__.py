"""The Rosario dataset. First read archive.py, which opens a sequence.

sequence.py: where it lies, and which one it is; raw_folder.py (with nmea.py, the receiver's log) and bags.py: the
streams of either form; calibration.py: cameras and extrinsics; checks.py: what is measured.
"""

from fieldplay.datasets.rosario.reader import open_archive, recognises

__all__ = ["open_archive", "recognises"]
