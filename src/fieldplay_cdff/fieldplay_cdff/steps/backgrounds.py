"""Steps that detect what moves in the images of a static camera."""

from dataclasses import replace

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay_cdff.steps.intrinsics import grey_of
from fieldplay_cdff.steps.step import Ports, Step, implements
from fieldplay_cdff.steps.values import Frame

FOREGROUND = 255
SHADOW = 127  # as MOG2 marks it
SMOOTH_SIDE, SMOOTH_DEVIATION, MIN_SMOOTHED = 9, 7.0, 30
Mask = NDArray[np.bool_]


def largest_blob(mask: Mask) -> Mask:
    """The largest of the connected parts of a mask (h, w)."""
    count, labels, numbers, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8))
    if count < 2:
        return mask
    largest = 1 + int(np.argmax(numbers[1:, cv2.CC_STAT_AREA]))
    return np.asarray(labels == largest, np.bool_)


class Background(Step):
    """A background learnt from image to image; an image of another size starts anew."""

    keeps_state = True

    def configure(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._shape: tuple[int, ...] = ()

    def grey(self, frame: Frame) -> NDArray[np.uint8]:
        """Return the grey values of the next image; restart the background if the image size changes."""
        grey = grey_of(frame, "image")
        if grey.shape != self._shape:
            self._shape = grey.shape
            self.start(grey)
        return grey

    def start(self, grey: NDArray[np.uint8]) -> None:
        """Learn from a first image."""
        raise NotImplementedError


@implements("ImageFiltering")
class BackgroundSubtractorMOG2(Background):
    """The largest moving object (255), by a Gaussian mixture for each pixel; the first image has no result."""

    def start(self, grey: NDArray[np.uint8]) -> None:
        options = self.general
        self._model = cv2.createBackgroundSubtractorMOG2(
            history=options["History"], detectShadows=options["DetectShadows"]
        )
        self._model.setNMixtures(options["NMixtures"])
        self._model.setBackgroundRatio(options["BackgroundRatio"])
        self._model.apply(self._smooth(grey))  # the first image is all foreground

    def _smooth(self, grey: NDArray[np.uint8]) -> NDArray[np.uint8]:
        size = self.general["ErosionSize"]
        return np.asarray(cv2.blur(grey, (size, size)), np.uint8)

    def process(self, *, image: Frame) -> Ports:
        size, smooth = self.general["ErosionSize"], self._smooth(self.grey(image))
        moving = (np.asarray(self._model.apply(smooth)) > SHADOW).astype(np.uint8)
        side = 2 * size + 1
        wide = cv2.dilate(moving, cv2.getStructuringElement(cv2.MORPH_RECT, (side, side)))
        mask = largest_blob(wide > 0)
        return {"image": replace(image, image=np.where(mask, FOREGROUND, 0).astype(np.uint8), encoding="mono8")}


@implements("ImageFiltering")
class BackgroundExtraction(Background):
    """Pixels that differ from the grey values that they and their neighbours had before (ViBe)."""

    def reset(self) -> None:
        super().reset()
        self._random = np.random.default_rng(self.seed)

    def start(self, grey: NDArray[np.uint8]) -> None:
        count = self.general["SamplesPerPixel"]
        rows, columns = self._neighbour_pixels(np.indices(grey.shape).reshape(2, 1, *grey.shape), count)
        self._samples = grey[rows, columns]

    def process(self, *, image: Frame) -> Ports:
        options, grey = self.general, self.grey(image)
        alike = np.zeros(grey.shape, np.int32)
        for sample in self._samples:
            alike += cv2.absdiff(grey, sample) < options["DistanceThreshold"]
        is_background = np.asarray(alike >= options["RequiredMatches"], np.bool_)
        self._learn(grey, is_background)
        moving = np.where(is_background, 0, FOREGROUND).astype(np.uint8)
        smooth = cv2.GaussianBlur(moving, (SMOOTH_SIDE, SMOOTH_SIDE), SMOOTH_DEVIATION)
        labels = np.where(smooth > MIN_SMOOTHED, options["ForegroundLabel"], options["BackgroundLabel"])
        return {"image": replace(image, image=labels.astype(np.uint8), encoding="mono8")}

    def _learn(self, grey: NDArray[np.uint8], is_background: Mask) -> None:
        """Some pixels of the background replace one of their samples, some one of a neighbouring pixel."""
        fraction = 1 / self.general["SubsamplingFactor"]
        for is_neighbour in (False, True):
            rows, columns = np.nonzero(is_background & (self._random.random(grey.shape) < fraction))
            which = self._random.integers(0, len(self._samples), len(rows))
            values = grey[rows, columns]
            if is_neighbour:
                rows, columns = self._neighbour_pixels(np.stack([rows, columns])[:, None], 1)[:, 0]
            self._samples[which, rows, columns] = values

    def _neighbour_pixels(self, indices: NDArray[np.intp], count: int) -> NDArray[np.intp]:
        """Rows and columns (2, count, ...) of pixels at most one away from those (2, 1, ...)."""
        steps = self._random.integers(-1, 2, (2, count, *indices.shape[2:]))
        limits = np.reshape(np.array(self._shape) - 1, (2, *[1] * (indices.ndim - 1)))
        return np.asarray(np.clip(indices + steps, 0, limits), np.intp)
