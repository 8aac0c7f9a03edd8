"""Maps of keyframes as files: the same again, and what is told of those that are damaged."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fieldplay.core.errors import ArchiveError
from fieldplay.geometry.camera_model import StereoCamera
from fieldplay.geometry.transforms import transform_from_vectors
from fieldplay_cdff.stereo.keyframe_map import (
    Keyframe,
    KeyframeEdge,
    KeyframeMap,
    RelativeFrame,
    View,
)
from fieldplay_cdff.stereo.map_files import load_map, map_bytes, save_map
from fieldplay_cdff.stereo.place_recognition import PlaceIndex

CAMERA = StereoCamera(focal_x=800.0, focal_y=810.0, center_x=500.0, center_y=400.0, baseline_m=0.1)


def some_map(count: int = 4) -> KeyframeMap:
    random = np.random.default_rng(1)
    keyframe_map = KeyframeMap(camera=CAMERA, size=(1000, 800))
    for number in range(count):
        view = View(
            pixels=random.random((number, 2)).astype(np.float32), points=random.random((number, 3)).astype(np.float32),
            codes=random.integers(0, 256, (number, 32)).astype(np.uint8),
        )  # fmt: skip
        pose = transform_from_vectors(random.normal(size=3), random.normal(size=3))
        keyframe_map.keyframes[3 * number] = Keyframe(id=3 * number, stamp_ns=10**18 + number, pose=pose, view=view)
        if number:
            keyframe_map.edges.append(
                KeyframeEdge(first=3 * number - 3, second=3 * number, measured=pose, covariance=np.eye(6))
            )
    keyframe_map.edges[-1] = replace(keyframe_map.edges[-1], is_closure=True)
    keyframe_map.frames.append(
        RelativeFrame(stamp_ns=10**18 + 99, keyframe=3, pose=transform_from_vectors(np.zeros(3), np.ones(3)))
    )
    return keyframe_map


def test_map_round_trips(tmp_path: Path) -> None:
    own, file, messages = some_map(), tmp_path / "map.npz", list[str]()
    save_map(file, own)
    loaded, index = load_map(file, messages.append)
    assert not messages and (loaded.camera, loaded.size) == (own.camera, own.size)
    assert list(loaded.keyframes) == [0, 3, 6, 9] and map_bytes(loaded) == map_bytes(own) == file.read_bytes()
    for number, keyframe in own.keyframes.items():
        again = loaded.keyframes[number]
        assert again.stamp_ns == keyframe.stamp_ns
        for name in ("pixels", "points", "codes"):
            np.testing.assert_array_equal(getattr(again.view, name), getattr(keyframe.view, name))
    assert [edge.is_closure for edge in loaded.edges] == [False, False, True]
    assert loaded.frames[0].keyframe == 3 and len(loaded.trajectory()[0]) == 5
    views = [(number, keyframe.view) for number, keyframe in own.keyframes.items()]
    np.testing.assert_array_equal(index.rows, PlaceIndex.of(views).rows)


def test_map_of_one_keyframe_round_trips(tmp_path: Path) -> None:
    own = some_map(2)
    own.keyframes.popitem()
    own.edges, own.frames = [], []
    save_map(tmp_path / "map.npz", own)
    loaded, index = load_map(tmp_path / "map.npz", lambda text: None)
    assert len(loaded) == 1 and not loaded.edges and index.rows.shape == (8, 0) and len(loaded.trajectory()[0]) == 1


def change_map(file: Path, **arrays: Any) -> None:
    with np.load(file) as old:
        arrays_of_file = {name: old[name] for name in old.files} | arrays
    np.savez(file, **{name: array for name, array in arrays_of_file.items() if array is not None})


@pytest.mark.parametrize(
    "rows", [None, np.zeros((8, 3), np.uint64), np.arange(48, dtype=np.uint64).reshape(8, 6)[:, ::-1]]
)
def test_mismatching_index_is_rebuilt_and_reported(tmp_path: Path, rows: Any) -> None:
    own, file, messages = some_map(), tmp_path / "map.npz", list[str]()
    save_map(file, own)
    change_map(file, place_rows=rows)
    loaded, index = load_map(file, messages.append)
    assert messages == [f"{file}: expected an index of places (8, 6) in order; it is made anew"]
    np.testing.assert_array_equal(index.rows, PlaceIndex.of([(n, k.view) for n, k in own.keyframes.items()]).rows)
    assert len(loaded) == 4


def header(**changes: Any) -> np.ndarray:
    whole = {"format": "fieldplay keyframe map", "version": 1, "camera": asdict(CAMERA), "size": [1000, 800]}
    return np.frombuffer(json.dumps(whole | changes).encode(), np.uint8)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"header": None}, "expected a map of keyframes with a header, got none"),
        ({"header": header(version=2)}, "expected fieldplay keyframe map of version 1, got .* of version 2"),
        ({"header": header(camera={"focal_x": 3})}, "expected camera and size in the header"),
        ({"header": header(size=[0, 800])}, "expected a camera with focal lengths and baseline above 0"),
        ({"codes": None}, "expected an array codes, got"),
        ({"codes": np.zeros((6, 31), np.uint8)}, r"codes: expected uint8 \(6, 32\), got uint8 \(6, 31\)"),
        ({"points": np.zeros((6, 3))}, r"points: expected float32 \(6, 3\), got float64"),
        ({"keyframe_pose": np.full((4, 4, 4), np.nan)}, "keyframe_pose: expected numbers, got none in row 0"),
        ({"keyframe_id": np.array([0, 3, 3, 9])}, "keyframe_id: expected keyframes, each with a number of its own"),
        ({"edge_ends": np.array([[0, 3], [3, 6], [6, 7]])}, "edge_ends: expected numbers of keyframes, got 7"),
        ({"keyframe_points": np.array([0, 1, 2, 4])}, "keyframe_points: expected 6 in all, got 7"),
        ({"frame_keyframe": np.array(["x"], object)}, "expected a map of keyframes .*, got what is none, or damaged"),
    ],
)  # fmt: skip
def test_invalid_map_is_reported(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    file = tmp_path / "map.npz"
    save_map(file, some_map())
    change_map(file, **change)
    with pytest.raises(ArchiveError, match=f"map.npz: {message}"):
        load_map(file, lambda text: None)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: b"",
        lambda data: b"\x93NUMPY" + data,
        lambda data: data[:2000] + bytes([data[2000] ^ 255]) + data[2001:],
    ],
)
def test_damaged_file_is_reported(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    file = tmp_path / "map.npz"
    file.write_bytes(damage(map_bytes(some_map())))
    with pytest.raises(ArchiveError, match=r"map\.npz: expected a map of keyframes"):
        load_map(file, lambda text: None)
    with pytest.raises(ArchiveError, match="there is no such map"):
        load_map(tmp_path / "none.npz", lambda text: None)
