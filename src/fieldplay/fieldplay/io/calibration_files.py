"""Calibration files: Kalibr's chains, `sensor.yaml` of ASL, OpenCV's YAML, and KITTI's lines of `name: numbers`.

Each entry is checked as it is asked for, and is None where it is missing or wrong, which is reported; so a file that is
half broken gives the other half.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from fieldplay.core.yaml_safe import value_of_yaml
from fieldplay.geometry.camera_model import FISHEYE, PLUMB_BOB, RATIONAL, CameraModel

Floats = NDArray[np.float64]
Issue = Callable[[str, str], None]  # called with the kind and the message of what is missing or wrong

ROTATION_ERROR = 1e-2  # a matrix that is further from a rotation than this is none
OPENCV_START = b"%YAML"
OPENCV_TAGS = re.compile(rb"!!opencv-[a-z-]+")
MAX_PX = 65_535  # no image is wider or higher
SHOWN = 40
# What Kalibr, ASL and OpenCV call the models of distortion: ROS's name, and how many coefficients they may have.
DISTORTIONS: Mapping[str, tuple[str, tuple[int, ...]]] = {
    "radtan": (PLUMB_BOB, (4, 5)),
    "radial-tangential": (PLUMB_BOB, (4, 5)),
    "plumb_bob": (PLUMB_BOB, (4, 5)),
    "equidistant": (FISHEYE, (4,)),
    "fisheye": (FISHEYE, (4,)),
    "rational_polynomial": (RATIONAL, (8,)),
    "none": (PLUMB_BOB, (0, 4, 5)),
}
COEFFICIENTS = {PLUMB_BOB: 5, FISHEYE: 4, RATIONAL: 8}
PINHOLE = "pinhole"
KITTI_LINE = re.compile(r"\s*(?P<name>[A-Za-z]\w*)\s*:\s*(?P<values>.*?)\s*")


@dataclass(frozen=True)
class CalibrationEntries:
    """The entries of a calibration file.

    Args:
        content: what the file holds, by name.
        report: called with the kind (`missing_key`, `bad_value`) and the message of each entry that cannot be used.
    """

    content: Mapping[str, Any]
    report: Issue

    def entry(self, *path: str) -> Any:
        """Look up an entry.

        Args:
            path: the names that lead to it, from the outermost.

        Returns:
            Its value; None where it is missing, which is reported.
        """
        value: Any = self.content
        for name in path:
            value = value.get(name) if isinstance(value, Mapping) else None
        if value is None:
            self.report("missing_key", f"expected an entry {'.'.join(path)}, got none")
        return value

    def has(self, *path: str) -> bool:
        """Check for an entry, without a report.

        Args:
            path: the names that lead to it.

        Returns:
            Whether it is there.
        """
        value: Any = self.content
        for name in path:
            value = value.get(name) if isinstance(value, Mapping) else None
        return value is not None

    def numbers(self, *path: str, sizes: tuple[int, ...]) -> Floats | None:
        """Read numbers: a number, a list, lists in lists, or a matrix with `data` as OpenCV and ASL write it.

        Args:
            path: the names that lead to them.
            sizes: how many there may be.

        Returns:
            The numbers (n,), row by row.
        """
        value = self.entry(*path)
        if value is None:
            return None
        try:
            numbers = np.array(value["data"] if isinstance(value, Mapping) else value, float).reshape(-1)
        except (TypeError, ValueError, OverflowError, KeyError):
            numbers = np.zeros(0)
            is_list = False
        else:
            is_list = True
        if not is_list or len(numbers) not in sizes or not np.isfinite(numbers).all():
            expected = " or ".join(map(str, sizes))
            self.report("bad_value", f"{'.'.join(path)}: expected {expected} numbers, got {_short_text(value)}")
            return None
        return numbers

    def transform(self, *path: str) -> Floats | None:
        """Read a transform of three or four rows of four.

        Args:
            path: the names that lead to it.

        Returns:
            The transform (4, 4) as the file has it.
        """
        numbers = self.numbers(*path, sizes=(12, 16))
        if numbers is None:
            return None
        matrix = np.vstack([numbers[:12].reshape(3, 4), [0, 0, 0, 1]])
        if not is_rotation(matrix[:3, :3]):
            self.report("bad_value", f"{'.'.join(path)}: expected a rotation in its first three columns, got none")
            return None
        return matrix

    def pose(self, part: str, position: str, rotation: str) -> tuple[Floats, Floats] | None:
        """Read a position and a unit quaternion.

        Args:
            part: the section that has both.
            position: the name of the position.
            rotation: the name of the quaternion.

        Returns:
            The position (3,) and the quaternion (4,) in the order of the file.
        """
        translation = self.numbers(part, position, sizes=(3,))
        quaternion = self.numbers(part, rotation, sizes=(4,))
        if quaternion is not None and abs(np.linalg.norm(quaternion) - 1) > ROTATION_ERROR:
            got = _short_text(quaternion.tolist())
            self.report("bad_value", f"{part}.{rotation}: expected a unit quaternion, got {got}")
            quaternion = None
        return None if translation is None or quaternion is None else (translation, quaternion)

    def camera(self, *path: str, source: str = "the calibration file") -> CameraModel | None:
        """Read a camera as Kalibr (`cam0`) and ASL (the whole file) describe it.

        Args:
            path: the names that lead to its section; none where it is the whole file.
            source: where the numbers are from, for messages.

        Returns:
            The camera, with as many coefficients as its model has in ROS.
        """
        coefficients = "distortion_coefficients" if self.has(*path, "distortion_coefficients") else "distortion_coeffs"
        intrinsics, size = self.numbers(*path, "intrinsics", sizes=(4,)), self.numbers(*path, "resolution", sizes=(2,))
        distortion = self._distortion((*path, "distortion_model"), (*path, coefficients))
        if self.has(*path, "camera_model") and self.entry(*path, "camera_model") != PINHOLE:
            got = _short_text(self.entry(*path, "camera_model"))
            self.report("bad_value", f"{'.'.join((*path, 'camera_model'))}: expected {PINHOLE}, got {got}")
            return None
        if intrinsics is None or size is None or distortion is None:
            return None
        return self._camera(".".join(path), intrinsics, size, distortion, source=source)

    def opencv_camera(self, source: str = "the calibration file") -> CameraModel | None:
        """Read a camera as OpenCV's calibration and ROS's camera_info files describe it.

        Args:
            source: where the numbers are from, for messages.

        Returns:
            The camera. Without a `distortion_model` it follows from the number of coefficients.
        """
        matrix = self.numbers("camera_matrix", sizes=(9,))
        width, height = self.numbers("image_width", sizes=(1,)), self.numbers("image_height", sizes=(1,))
        coefficients = self.numbers("distortion_coefficients", sizes=(4, 5, 8))
        if matrix is None or width is None or height is None or coefficients is None:
            return None
        model = RATIONAL if len(coefficients) == COEFFICIENTS[RATIONAL] else PLUMB_BOB
        distortion: tuple[str, Floats] | None = (model, coefficients)
        if self.has("distortion_model"):
            distortion = self._distortion(("distortion_model",), ("distortion_coefficients",))
        size = np.concatenate([width, height])
        return None if distortion is None else self._camera("", matrix[[0, 4, 2, 5]], size, distortion, source=source)

    def _distortion(self, model: tuple[str, ...], coefficients: tuple[str, ...]) -> tuple[str, Floats] | None:
        """ROS's name of a distortion model, and its coefficients."""
        name = self.entry(*model)
        known = DISTORTIONS.get(name) if isinstance(name, str) else None
        if name is not None and known is None:
            expected = " or ".join(DISTORTIONS)
            self.report("bad_value", f"{'.'.join(model)}: expected {expected}, got {_short_text(name)}")
        if known is not None and known[1][0] == 0 and not self.has(*coefficients):
            return known[0], np.zeros(0)
        numbers = self.numbers(*coefficients, sizes=known[1] if known else (4, 5, 8))
        return None if known is None or numbers is None else (known[0], numbers)

    def _camera(
        self, path: str, intrinsics: Floats, size: Floats, distortion: tuple[str, Floats], *, source: str
    ) -> CameraModel | None:
        fx, fy, cx, cy = map(float, intrinsics)
        if min(fx, fy, *size) <= 0 or max(size) > MAX_PX:
            requested = f"focal lengths and a resolution above 0, this up to {MAX_PX}"
            got = f"{_short_text(intrinsics)} and {_short_text(size)}"
            self.report("bad_value", f"{path}{': ' * bool(path)}expected {requested}, got {got}")
            return None
        count = COEFFICIENTS[distortion[0]]
        return CameraModel(
            width=int(size[0]), height=int(size[1]), fx=fx, fy=fy, cx=cx, cy=cy, distortion_model=distortion[0],
            distortion=(*map(float, distortion[1]), *[0.0] * count)[:count], source=source,
        )  # fmt: skip


def entries_from_yaml(data: bytes, report: Issue, *, sections: Sequence[str] = ()) -> CalibrationEntries | None:
    """Parse a calibration file of YAML, OpenCV's too, whose first line and types of matrices YAML does not know.

    Args:
        data: its content.
        report: called with kind and message of each error.
        sections: expected sections, for messages.

    Returns:
        Its entries; None where it cannot be read, which is reported as `unreadable_calibration`.
    """
    if data.startswith(OPENCV_START):
        data = data.partition(b"\n")[2]
    try:
        content = value_of_yaml(OPENCV_TAGS.sub(b"", data))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        report("unreadable_calibration", f"expected YAML: {' '.join(str(error).split())}")
        return None
    if not isinstance(content, Mapping):
        expected = f"a mapping with {', '.join(sections)}" if sections else "a mapping"
        report("unreadable_calibration", f"expected {expected}, got {type(content).__name__}")
        return None
    return CalibrationEntries(content, report)


@dataclass(frozen=True)
class KittiCalibration:
    """The lines of a KITTI calibration file.

    Args:
        numbers: the numbers (n,) of each line by its name; those of lines that hold text are left out.
        lines: the number of each line in the file, from 1.
        report: called with the line, or None, the kind and the message of what cannot be used.
    """

    numbers: Mapping[str, Floats]
    lines: Mapping[str, int]
    report: Callable[[int | None, str, str], None]

    def matrix(self, name: str, rows: int, columns: int) -> Floats | None:
        """Read a matrix.

        Args:
            name: of the line.
            rows: of the matrix.
            columns: of the matrix.

        Returns:
            The matrix (rows, columns); None where it is missing or another, which is reported.
        """
        if name not in self.lines:
            self.report(None, "missing_key", f"expected a line '{name}:', got none")
            return None
        numbers = self.numbers.get(name, np.zeros(0))
        if len(numbers) != rows * columns or not np.isfinite(numbers).all():
            got = f"{len(numbers)}" if name in self.numbers else "text"
            self.report(self.lines[name], "bad_value", f"{name}: expected {rows * columns} numbers, got {got}")
            return None
        return numbers.reshape(rows, columns)

    def transform(self, rotation: str, translation: str) -> Floats | None:
        """Read a transform whose rotation and translation are lines of their own.

        Args:
            rotation: the name of the line with nine numbers.
            translation: the name of the line with three.

        Returns:
            The transform (4, 4) in the unit of the file; None where it is none, which is reported.
        """
        turn, shift = self.matrix(rotation, 3, 3), self.matrix(translation, 3, 1)
        if turn is None or shift is None:
            return None
        return self._rigid(rotation, np.hstack([turn, shift]))

    def rigid(self, name: str) -> Floats | None:
        """Read a transform of three rows of four.

        Args:
            name: of the line.

        Returns:
            The transform (4, 4); None where it is none, which is reported.
        """
        matrix = self.matrix(name, 3, 4)
        return None if matrix is None else self._rigid(name, matrix)

    def projection(self, name: str, columns: int = 4) -> Floats | None:
        """Read the P or K of a camera.

        Args:
            name: of the line.
            columns: 4 of a P, 3 of a K.

        Returns:
            The matrix (3, columns); None where it has no focal lengths, which is reported.
        """
        matrix = self.matrix(name, 3, columns)
        if matrix is None:
            return None
        if matrix[0, 0] > 0 and matrix[1, 1] > 0 and np.linalg.matrix_rank(matrix[:, :3]) == 3:
            return matrix
        message = f"{name}: expected a camera matrix with focal lengths above 0, got {_short_text(matrix[:, :3])}"
        self.report(self.lines[name], "bad_value", message)
        return None

    def rectified_camera(self, size: tuple[int, int], projection: Floats, left: Floats) -> CameraModel:
        """Make the camera of rectified images.

        Args:
            size: width and height of the images.
            projection: its P (3, 4).
            left: the P of the left camera of its pair; its own, if that is it.

        Returns:
            The camera without distortion; P[3] is -fx times the distance to the left camera of the pair.
        """
        relative = projection.copy()
        relative[0, 3] = projection[0, 0] * (projection[0, 3] / projection[0, 0] - left[0, 3] / left[0, 0])
        return CameraModel(
            width=size[0], height=size[1], fx=float(projection[0, 0]), fy=float(projection[1, 1]),
            cx=float(projection[0, 2]), cy=float(projection[1, 2]), distortion_model=PLUMB_BOB, distortion=(0.0,) * 5,
            source="the calibration file", projection=tuple(map(float, relative.reshape(-1))),
        )  # fmt: skip

    def raw_camera(self, number: str, rectified: CameraModel) -> CameraModel | None:
        """Make the camera of images before rectification: K, D, and R that leads to the rectified ones.

        Args:
            number: of the camera in the names of the lines, as `00`.
            rectified: the camera of its rectified images, which gives P.

        Returns:
            The camera; None where a line is missing or wrong, which is reported.
        """
        matrix, rotation = self.projection(f"K_{number}", 3), self.matrix(f"R_rect_{number}", 3, 3)
        size, distortion = self.size(f"S_{number}"), self.matrix(f"D_{number}", 1, 5)
        if matrix is None or rotation is None or size is None or distortion is None:
            return None
        return replace(
            rectified.with_matrix(matrix, *size),
            distortion=tuple(map(float, distortion[0])), rectification=tuple(map(float, rotation.reshape(-1))),
        )  # fmt: skip

    def size(self, name: str) -> tuple[int, int] | None:
        """Read the size of images.

        Args:
            name: of the line.

        Returns:
            Width and height in pixels; None where they are none, which is reported.
        """
        size = self.matrix(name, 1, 2)
        if size is None or (size.min() >= 1 and size.max() <= MAX_PX):
            return None if size is None else (int(size[0, 0]), int(size[0, 1]))
        self.report(self.lines[name], "bad_value", f"{name}: expected a width and a height, got {_short_text(size[0])}")
        return None

    def _rigid(self, name: str, matrix: Floats) -> Floats | None:
        if not is_rotation(matrix[:, :3]):
            self.report(self.lines[name], "bad_value", f"{name}: expected a rotation, got a matrix that is none")
            return None
        return np.vstack([matrix, [0, 0, 0, 1]])


def calibration_from_lines(data: bytes, report: Callable[[int | None, str, str], None]) -> KittiCalibration:
    """Parse a calibration file of KITTI, lines of a name, a colon and numbers.

    Args:
        data: its content.
        report: called with line, kind and message of each requested entry that cannot be used.

    Returns:
        Its lines by name; of several with one name the last counts.
    """
    numbers: dict[str, Floats] = {}
    lines: dict[str, int] = {}
    for index, text in enumerate(data.decode("utf-8", "replace").splitlines(), start=1):
        match = KITTI_LINE.fullmatch(text)
        if match is None:
            continue
        lines[match["name"]] = index
        try:
            numbers[match["name"]] = np.array([float(part) for part in match["values"].split()])
        except ValueError:
            numbers.pop(match["name"], None)
    return KittiCalibration(numbers, lines, report)


def is_rotation(matrix: Floats) -> bool:
    """Check for a rotation.

    Args:
        matrix: (3, 3).

    Returns:
        Whether it is one, but for the rounding of a printed file.
    """
    error: float = np.abs(matrix @ matrix.T - np.eye(3)).max()
    return bool(error <= ROTATION_ERROR and np.linalg.det(matrix) > 0)


def _short_text(value: Any) -> str:
    text = str(value)
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."
