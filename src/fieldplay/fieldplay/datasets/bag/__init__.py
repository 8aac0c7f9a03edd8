"""Bags that are of no dataset, whoever has written them: each topic is a stream of its messages as they lie there.

archive.py opens one; what becomes of its topics is in topics/plain_bag_topics.py.
"""

from fieldplay.datasets.bag.reader import open_archive

__all__ = ["open_archive"]
