"""The Marulan datasets of ACFR. First read archive.py, which opens one.

sets.py: which of the report's sets it is; lasers.py, radar.py (of the turns in revolutions.py), navigation.py,
payload.py, cameras.py: the streams of each sensor; calibration.py: the cameras' intrinsics; checks.py and *_checks.py:
what is measured in the data.
"""

from fieldplay.datasets.acfr.reader import open_archive
from fieldplay.datasets.acfr.report_sets import recognises

__all__ = ["open_archive", "recognises"]
