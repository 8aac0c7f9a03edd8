"""A bound for the end of a program: the middleware may never let go of the network while others come and go."""

import faulthandler
import sys
from collections.abc import Iterator
from contextlib import contextmanager

ENDING_S = 10.0


@contextmanager
def letting_go(within_s: float = ENDING_S) -> Iterator[None]:
    """What stands within has so long; after it the process says where its threads stand, and exits with 1.

    No thread of Python could do so: rclpy holds its lock while it waits for the middleware.
    """
    faulthandler.dump_traceback_later(within_s, exit=True, file=sys.__stderr__ or sys.stderr)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
