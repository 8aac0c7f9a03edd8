"""Maps of keyframes as files: arrays of NumPy in a zip (.npz, nothing pickled), and a header as JSON.

docs/fusion/stereo-slam.md has each array. A file appears when it is complete.
"""

import io
import json
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.atomic_output import write_atomically
from fieldplay.core.errors import ArchiveError
from fieldplay.geometry.camera_model import StereoCamera
from fieldplay_cdff.stereo.keyframe_map import (
    BITS,
    Keyframe,
    KeyframeEdge,
    KeyframeMap,
    RelativeFrame,
    View,
)
from fieldplay_cdff.stereo.place_recognition import WORDS, PlaceIndex

FORMAT, VERSION = "fieldplay keyframe map", 1
LARGEST = 8 << 30
DAMAGED = (zipfile.BadZipFile, ValueError, EOFError, NotImplementedError, zlib.error)
ROWS = "place_rows"
KINDS: Mapping[str, tuple[str, str, tuple[int, ...]]] = {  # of each array: whose rows it has, of what, the row's shape
    "keyframe_id": ("keyframe", "<i8", ()),
    "keyframe_stamp_ns": ("keyframe", "<i8", ()),
    "keyframe_pose": ("keyframe", "<f8", (4, 4)),
    "keyframe_points": ("keyframe", "<i8", ()),
    "pixels": ("point", "<f4", (2,)),
    "points": ("point", "<f4", (3,)),
    "codes": ("point", "|u1", (BITS // 8,)),
    "edge_ends": ("edge", "<i8", (2,)),
    "edge_pose": ("edge", "<f8", (4, 4)),
    "edge_covariance": ("edge", "<f8", (6, 6)),
    "edge_is_closure": ("edge", "|b1", ()),
    "frame_stamp_ns": ("frame", "<i8", ()),
    "frame_keyframe": ("frame", "<i8", ()),
    "frame_pose": ("frame", "<f8", (4, 4)),
}
Arrays = Mapping[str, NDArray[Any]]


def map_bytes(keyframe_map: KeyframeMap) -> bytes:
    """A map as the bytes of a file; the same map gives the same bytes."""
    keyframes = list(keyframe_map.keyframes.values())
    views = [each.view for each in keyframes]
    header = {
        "format": FORMAT, "version": VERSION, "camera": asdict(keyframe_map.camera), "size": list(keyframe_map.size),
    }  # fmt: skip
    columns: dict[str, list[Any]] = {
        "keyframe_id": [each.id for each in keyframes],
        "keyframe_stamp_ns": [each.stamp_ns for each in keyframes],
        "keyframe_pose": [each.pose for each in keyframes],
        "keyframe_points": [len(view) for view in views],
        "edge_ends": [(edge.first, edge.second) for edge in keyframe_map.edges],
        "edge_pose": [edge.measured for edge in keyframe_map.edges],
        "edge_covariance": [edge.covariance for edge in keyframe_map.edges],
        "edge_is_closure": [edge.is_closure for edge in keyframe_map.edges],
        "frame_stamp_ns": [each.stamp_ns for each in keyframe_map.frames],
        "frame_keyframe": [each.keyframe for each in keyframe_map.frames],
        "frame_pose": [each.pose for each in keyframe_map.frames],
    }
    arrays = {name: np.array(rows, KINDS[name][1]).reshape(-1, *KINDS[name][2]) for name, rows in columns.items()}
    for name in ("pixels", "points", "codes"):
        empty = np.zeros((0, *KINDS[name][2]), KINDS[name][1])
        arrays[name] = np.concatenate([empty, *(getattr(view, name) for view in views)]).astype(KINDS[name][1])
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    arrays[ROWS] = PlaceIndex.of([(each.id, each.view) for each in keyframes]).rows.astype("<u8")
    out = io.BytesIO()
    np.savez(out, allow_pickle=False, **arrays)
    return out.getvalue()


def save_map(path: Path, keyframe_map: KeyframeMap) -> None:
    """Write a map of `StereoSlam` (.npz); an existing file is replaced when the new one is complete."""
    write_atomically(path, map_bytes(keyframe_map))


def load_map(path: Path, report: Callable[[str], None]) -> tuple[KeyframeMap, PlaceIndex]:
    """Read a map.

    Args:
        path: a file of `save_map`.
        report: called with a message if the index of places does not fit and is rebuilt.

    Returns:
        The map, and the index of its places for `MapLocalisation`.

    Raises:
        ArchiveError: the file is not a map, or is damaged.
    """
    if not path.is_file():
        raise ArchiveError(f"{path}: there is no such map")
    try:
        arrays = _arrays(path)
    except DAMAGED as error:
        raise ArchiveError(
            f"{path}: expected a map of keyframes (.npz), got what is none, or damaged: {error}"
        ) from None
    header = _header(path, arrays)
    _check(path, arrays)
    keyframe_map = _map_of(path, header, arrays)
    rows = arrays.get(ROWS)
    shape = (WORDS, len(arrays["points"]))
    if (
        rows is not None
        and rows.dtype == np.uint64
        and rows.shape == shape
        and bool((rows[:, 1:] >= rows[:, :-1]).all())
    ):
        return keyframe_map, PlaceIndex(rows)
    report(f"{path}: expected an index of places ({shape[0]}, {shape[1]}) in order; it is made anew")
    return keyframe_map, PlaceIndex.of([(number, keyframe.view) for number, keyframe in keyframe_map.keyframes.items()])


def _arrays(path: Path) -> Arrays:
    arrays = {}
    with path.open("rb") as opened:
        file = np.load(opened, allow_pickle=False)
        if not isinstance(file, np.lib.npyio.NpzFile):
            raise ValueError("a single array")
        with file:
            for name in file.files:
                try:
                    arrays[name] = file[name]
                except DAMAGED:
                    if name != ROWS:  # which can be made anew
                        raise
    return arrays


def _header(path: Path, arrays: Arrays) -> Mapping[str, Any]:
    """Parse the header; ArchiveError if it is none, or of another version."""
    try:
        header = json.loads(arrays["header"].tobytes())
        known = (header["format"], header["version"])
    except (KeyError, ValueError, TypeError):
        raise ArchiveError(f"{path}: expected a map of keyframes with a header, got none") from None
    if known != (FORMAT, VERSION):
        raise ArchiveError(f"{path}: expected {FORMAT} of version {VERSION}, got {known[0]} of version {known[1]}")
    return dict(header)


def _check(path: Path, arrays: Arrays) -> None:
    """ArchiveError where an array is not what it should be."""
    counts: dict[str, int] = {}
    for name, (of, kind, shape) in KINDS.items():
        array = arrays.get(name)
        if array is None:
            raise ArchiveError(f"{path}: expected an array {name}, got {', '.join(arrays)}")
        count = counts.setdefault(of, len(array) if array.ndim else 0)
        if array.shape != (count, *shape) or array.dtype != np.dtype(kind):
            expected = f"{np.dtype(kind)} {(count, *shape)}"
            raise ArchiveError(f"{path}: {name}: expected {expected}, got {array.dtype} {array.shape}")
        is_number = np.isfinite(array).all(axis=tuple(range(1, array.ndim)))
        if not is_number.all():
            raise ArchiveError(f"{path}: {name}: expected numbers, got none in row {int(np.argmin(is_number))}")
    ids = arrays["keyframe_id"]
    if not len(ids) or len(np.unique(ids)) != len(ids) or ids.min() < 0 or ids.max() >= 1 << 32:
        raise ArchiveError(f"{path}: keyframe_id: expected keyframes, each with a number of its own")
    for name in ("edge_ends", "frame_keyframe"):
        unknown = arrays[name][~np.isin(arrays[name], ids)]
        if len(unknown):
            raise ArchiveError(f"{path}: {name}: expected numbers of keyframes, got {unknown[0]}")
    of_keyframes = arrays["keyframe_points"]
    if (of_keyframes < 0).any() or of_keyframes.sum() != counts["point"]:
        raise ArchiveError(f"{path}: keyframe_points: expected {counts['point']} in all, got {of_keyframes.sum()}")


def _map_of(path: Path, header: Mapping[str, Any], arrays: Arrays) -> KeyframeMap:
    try:
        camera = StereoCamera(**{name: float(value) for name, value in header["camera"].items()})
        width, height = (int(value) for value in header["size"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ArchiveError(f"{path}: expected camera and size in the header, got {header}") from None
    if not min(camera.focal_x, camera.focal_y, camera.baseline_m, width, height) > 0:
        raise ArchiveError(f"{path}: expected a camera with focal lengths and baseline above 0, got {camera}")
    stops = np.cumsum(arrays["keyframe_points"])[:-1]
    parts = zip(*(np.split(arrays[name], stops) for name in ("pixels", "points", "codes")), strict=True)
    views = [View(pixels=pixels, points=points, codes=codes) for pixels, points, codes in parts]
    numbers, stamps = arrays["keyframe_id"].tolist(), arrays["keyframe_stamp_ns"].tolist()
    columns = zip(numbers, stamps, arrays["keyframe_pose"], views, strict=True)
    keyframe_map = KeyframeMap(camera=camera, size=(width, height))
    keyframe_map.keyframes = {
        number: Keyframe(id=number, stamp_ns=stamp_ns, pose=pose, view=view) for number, stamp_ns, pose, view in columns
    }
    edges = (arrays[f"edge_{name}"] for name in ("ends", "pose", "covariance", "is_closure"))
    keyframe_map.edges = [
        KeyframeEdge(
            first=int(stops[0]), second=int(stops[1]), measured=pose, covariance=known, is_closure=bool(closes)
        )
        for stops, pose, known, closes in zip(*edges, strict=True)
    ]
    frames = (arrays[f"frame_{name}"] for name in ("stamp_ns", "keyframe", "pose"))
    keyframe_map.frames = [
        RelativeFrame(stamp_ns=int(stamp_ns), keyframe=int(number), pose=pose)
        for stamp_ns, number, pose in zip(*frames, strict=True)
    ]
    return keyframe_map
