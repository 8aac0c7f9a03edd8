"""The archive of InSight's robotic arm (IDA). First read archive.py, which opens one.

products.py: its files, their names and labels; clock.py: the lander's clock; motion.py and status.py: the two kinds of
tables; products.py: many files as one, each row once; streams.py: their rows as records; survey.py: one pass
through all rows; calibration.py: the arm's geometry; checks.py: what is measured.
"""

from fieldplay.datasets.ida.reader import open_archive, recognises

__all__ = ["open_archive", "recognises"]
