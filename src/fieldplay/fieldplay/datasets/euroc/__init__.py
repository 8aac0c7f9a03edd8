"""EuRoC MAV and whatever comes in the ASL layout; see docs/datasets/euroc.md.

- `reader.py`: opens a sequence: which folder it is, and its streams
- `calibration.py`: cameras, frames and the noise of the IMU, by `sensor.yaml` or a chain of Kalibr
"""

from fieldplay.datasets.euroc.reader import open_archive, recognises

__all__ = ["open_archive", "recognises"]
