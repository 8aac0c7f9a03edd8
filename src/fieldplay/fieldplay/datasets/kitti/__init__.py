"""KITTI's raw drives and odometry sequences; see docs/datasets/kitti.md.

- `reader.py`: opens a drive or a sequence: where its files are, and its streams
- `calibration.py`: cameras and frames by the calibration files
- `oxts.py`: rows of the OXTS unit and of the true poses as records
"""

from fieldplay.datasets.kitti.reader import open_archive, recognises

__all__ = ["open_archive", "recognises"]
