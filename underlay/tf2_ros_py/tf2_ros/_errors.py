"""What a lookup can raise."""


class TransformException(Exception):
    """Base of every error about transforms."""


class LookupException(TransformException):
    """A frame is unknown, or the tree has a loop."""


class ConnectivityException(TransformException):
    """The two frames are not in one tree."""


class ExtrapolationException(TransformException):
    """The buffer holds no data at, or on both sides of, the requested time."""


class InvalidArgumentException(TransformException):
    """A frame id is empty or starts with a slash."""


class TimeoutException(TransformException):
    """Something did not answer in time; the buffer itself never raises it."""
