"""SherpaTT's logs, and all others of CDFF. First read archive.py, which opens them.

Logs in general are read by fieldplay_cdff/logs. Here is what is the rover's: cameras.py and frames.py make of
settings, samples and the description cameras and a tree; quaternion_order.py and dgps.py measure what the papers leave
open; surface.py is the terrain model next to the logs; quaternion_order.py compares joints with the model's.
"""

from fieldplay_cdff.datasets.sherpatt.reader import open_archive, recognises

__all__ = ["open_archive", "recognises"]
