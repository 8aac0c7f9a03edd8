"""What is wrong with pictures of a stereo camera, as far as they themselves tell it."""

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError
from fieldplay_cdff.steps.values import Array, Frame

DARK, SPREAD = 3.0, 1.5  # grey values below which nothing can be seen: the mean, and the deviation about it
MOST_PX = 1.0  # by which lines of a rectified pair may differ
FEATURES, LEAST = 800, 30
DARK_IMAGE, DAMAGED = "dark", "damaged"  # reasons of refusals
LOOKS = 3  # pairs that may show too little


class UnusableInputError(ArchiveError):
    """An input that the steps cannot use, and why in a word, for counts."""

    def __init__(self, text: str, *, reason: str) -> None:
        super().__init__(text)
        self.reason = reason


def reason_of(error: ArchiveError) -> str:
    """Why an input is refused, in a word."""
    return error.reason if isinstance(error, UnusableInputError) else DAMAGED


class StereoFaults:
    """Refuses pictures that show nothing, and measures once whether a pair is rectified."""

    def __init__(self) -> None:
        self._last: dict[str, Frame] = {}
        self._left = LOOKS

    def require_light(self, frame: Frame) -> None:
        """ArchiveError where a picture is black, or all of one grey."""
        small = frame.image[::8, ::8]
        if small.dtype == np.uint8 and (small.mean() < DARK or small.std() < SPREAD):
            told = f"nothing is to be seen in it: grey values {small.mean():.1f} +- {small.std():.1f}"
            raise UnusableInputError(told, reason=DARK_IMAGE)

    def hear(self, port: str, frame: Frame) -> str:
        """What is to be told once both pictures of a pair are there; "" where nothing is."""
        if not self._left:
            return ""
        self._last[port] = frame
        pair = [self._last.get(name) for name in sorted(self._last) if name.lower().startswith(("left", "right"))]
        if len(pair) != 2 or pair[0] is None or pair[1] is None or pair[0].stamp_ns != pair[1].stamp_ns:
            return ""
        self._left -= 1
        found = feature_shifts(pair[0], pair[1])
        if len(found) < LEAST:
            if self._left:
                return ""
            return f"left and right show little of the same: {len(found)} features of the {LOOKS}th pair are in both"
        self._left = 0
        aside, middle = float(np.median(found[:, 0])), float(np.median(np.abs(found[:, 1])))
        told = f"(the middle of {len(found)} features; expected"
        if aside > MOST_PX:
            return (
                f"left and right may be swapped: features lie {aside:.1f} px further right in the right one {told} 0)"
            )
        if middle <= MOST_PX:
            return ""
        return (
            f"the pair is not rectified: left and right differ by {middle:.1f} px from line to line {told} {MOST_PX:g} "
            "at most)"
        )


def feature_shifts(left: Frame, right: Frame) -> Array:
    """By how much features of the right picture lie further right and lower than in the left one (n, 2), in px."""
    finder = cv2.ORB.create(FEATURES)
    points, descriptors = zip(*(finder.detectAndCompute(_grey(frame), None) for frame in (left, right)), strict=True)
    if any(each is None for each in descriptors):
        return np.zeros((0, 2))
    matches = cv2.BFMatcher(cv2.NORM_HAMMING, crossCheck=True).match(*descriptors)
    good = [match for match in matches if match.distance < 40]
    shifts = [np.subtract(points[1][m.trainIdx].pt, points[0][m.queryIdx].pt) for m in good]
    return np.array(shifts, np.float64).reshape(-1, 2)


def _grey(frame: Frame) -> NDArray[Any]:
    image: NDArray[Any] = frame.image
    if image.ndim == 3:
        image = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY if frame.encoding == "rgb8" else cv2.COLOR_BGR2GRAY)
    if image.dtype != np.uint8:
        image = np.clip(image.astype(np.float64) * (255.0 / max(float(np.nanmax(image)), 1.0)), 0, 255).astype(np.uint8)
    return image
