"""Steps on circles, lines, ellipses and other shapes in images."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import UsageError
from fieldplay_cdff.steps.intrinsics import grey_of
from fieldplay_cdff.steps.step import Ports, Step, implements
from fieldplay_cdff.steps.values import Array, Frame

CANNY = (50, 200)  # of the edges that lines and ellipses are made of
MIN_VOTES, TURN_RAD = 50, np.pi / 180  # of lines: points on one, and how finely directions are tried
MIN_OF_ELLIPSE = 5  # points
STEP_DEG = 5  # between the corners of an ellipse that is compared
GREEN, THICKNESS = (0, 255, 0), 2
Contour = NDArray[np.int32]


def contours_of(binary: NDArray[np.uint8], least_area: float) -> list[Contour]:
    """Return contours of white regions and their holes, of at least so many pixels, without the image border."""
    contours, _ = cv2.findContours(binary, cv2.RETR_LIST, cv2.CHAIN_APPROX_NONE)
    large = [np.asarray(contour, np.int32) for contour in contours if cv2.contourArea(contour) > least_area]
    return [contour for contour in large if cv2.boundingRect(contour)[2:] != binary.shape[::-1]]


def unlikeness(first: Contour, second: Contour) -> float:
    """Return the difference of two contours in shape, whatever their size, position and direction (Hu's moments)."""
    return float(cv2.matchShapes(first, second, cv2.CONTOURS_MATCH_I1, 0.0))


def black_and_white(grey: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Binarise an image by Otsu's threshold; brighter pixels are white."""
    return np.asarray(cv2.threshold(grey, 0, 255, cv2.THRESH_BINARY | cv2.THRESH_OTSU)[1], np.uint8)


@implements("PrimitiveFinder")
class BasicPrimitiveFinder(Step):
    """Circles (x, y, r), lines (x1, y1, x2, y2) or ellipses (x, y, width, height, angle in degrees) of an image."""

    def process(self, *, image: Frame, primitive: str) -> Ports:
        finders: dict[str, Callable[[NDArray[np.uint8]], list[Array]]] = {
            "circle": self.circles,
            "line": self.lines,
            "ellipse": self.ellipses,
        }
        finder = finders.get(primitive.strip().lower().removesuffix("s"))
        if finder is None:
            raise ValueError(f"primitive: expected one of {', '.join(finders)}, got {primitive!r}")
        return {"primitives": finder(grey_of(image, "image"))}

    def circles(self, grey: NDArray[np.uint8]) -> list[Array]:
        options = self.settings["HoughCirclesParameters"]
        circles = cv2.HoughCircles(
            grey, cv2.HOUGH_GRADIENT, options["DP"], options["MinDist"],
            param1=options["Param1"], param2=options["Param2"],
            minRadius=round(options["MinRadius"]), maxRadius=round(options["MaxRadius"]),
        )  # fmt: skip
        return [] if circles is None else _rows(circles, 3)

    def lines(self, grey: NDArray[np.uint8]) -> list[Array]:
        options = self.settings["HoughLinesParameters"]
        lines = cv2.HoughLinesP(
            cv2.Canny(grey, *CANNY), 1, TURN_RAD, MIN_VOTES,
            minLineLength=options["MinLineLenght"], maxLineGap=options["MaxLineGap"],
        )  # fmt: skip
        return [] if lines is None else _rows(lines, 4)

    def ellipses(self, grey: NDArray[np.uint8]) -> list[Array]:
        options, ellipses = self.settings["EllipsesParameters"], []
        for contour in contours_of(black_and_white(grey), options["MinArea"]):
            if len(contour) < MIN_OF_ELLIPSE:
                continue
            (x, y), (width, height), angle = cv2.fitEllipse(contour)
            axes = (max(round(width / 2), 1), max(round(height / 2), 1))
            fitted = np.asarray(cv2.ellipse2Poly((round(x), round(y)), axes, round(angle), 0, 360, STEP_DEG), np.int32)
            if unlikeness(contour, fitted) <= options["SimilarityRatio"]:
                ellipses.append(np.array([x, y, width, height, angle]))
        return ellipses


def _rows(shapes: Any, count: int) -> list[Array]:
    return list(np.asarray(shapes, np.float64).reshape(-1, count))


@implements("PrimitiveMatching")
class HuInvariants(Step):
    """Finds which of the named template images in a folder are in an image: best first, with contours drawn."""

    def configure(self) -> None:
        folder = self.general["TemplatesFolder"]
        self._files: dict[str, Path] = {}
        if folder:
            if not Path(folder).is_dir():
                raise UsageError(f"TemplatesFolder: expected a folder of images, there is no {folder}")
            self._files = {file.stem: file for file in sorted(Path(folder).iterdir()) if file.is_file()}
        self._outlines: dict[str, Contour] = {}

    def process(self, *, image: Frame, primitives: Sequence[str]) -> Ports:
        outlines = {name: self._outline(name) for name in dict.fromkeys(primitives)}
        grey = grey_of(image, "image")
        there = contours_of(black_and_white(grey), self.general["MinimumArea"])
        drawn = cv2.cvtColor(grey, cv2.COLOR_GRAY2BGR)
        matches: list[tuple[float, str]] = []
        for name, outline in outlines.items():
            ratios = [unlikeness(outline, contour) for contour in there]
            if ratios and min(ratios) <= self.general["MaximumSimilarityRatio"]:
                matches.append((min(ratios), name))
                cv2.drawContours(drawn, there, int(np.argmin(ratios)), GREEN, THICKNESS)
        names = [name for _, name in sorted(matches, key=lambda each: each[0])]
        return {"image": replace(image, image=drawn, encoding="bgr8"), "primitives": names}

    def _outline(self, name: str) -> Contour:
        """The largest outline of a template; ValueError where there is none of this name."""
        if name not in self._outlines:
            file = self._files.get(name)
            image = None if file is None else cv2.imread(str(file), cv2.IMREAD_GRAYSCALE)
            if image is None:
                known = ", ".join(self._files) or "none"
                raise ValueError(f"primitives: expected names of templates ({known}), got {name!r}")
            outlines = contours_of(black_and_white(np.asarray(image, np.uint8)), 0.0)
            if not outlines:
                raise ValueError(f"{file}: expected a shape on a ground of another brightness, got none")
            self._outlines[name] = max(outlines, key=cv2.contourArea)
        return self._outlines[name]
