"""`import fieldplay` as a notebook uses it: an archive, the bag that it becomes, and the examples of docs/python.md."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldplay

PAGE = Path(__file__).parents[1] / "docs" / "python.md"


@pytest.fixture(scope="module")
def folder(write_ameds: Callable[[Path], Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive and the bag that it becomes."""
    root = tmp_path_factory.mktemp("python")
    write_ameds(root / "etna")
    with fieldplay.open(root / "etna") as data:
        data.to_bag(root / "bag")
    return root


@pytest.fixture(params=["etna", "bag"])
def data(folder: Path, request: pytest.FixtureRequest) -> Iterator[fieldplay.Recording]:
    with fieldplay.open(folder / request.param) as result:
        yield result


def test_importing_it_loads_nothing() -> None:
    heavy = ("numpy", "cv2", "polars", "rclpy", "yaml", "fieldplay.datasets")
    program = f"import sys, fieldplay; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


def test_all_that_is_public_is_there() -> None:
    assert all(hasattr(fieldplay, name) for name in fieldplay.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'closed'"):
        fieldplay.__getattr__("closed")


def test_topics_give_types_frames_and_times(data: fieldplay.Recording) -> None:
    topic = data.topics["/ameds/imu/data"]
    assert (topic.type, topic.frame) == ("sensor_msgs/msg/Imu", "imu_link")
    assert topic.count == len(data.records("imu/data")["stamp_ns"]) > 0
    assert (topic.first_ns, topic.last_ns) == tuple(data.records("imu/data")["leaves_ns"][[0, -1]])


def test_archive_and_its_bag_give_same_columns(folder: Path) -> None:
    with fieldplay.open(folder / "etna") as archive, fieldplay.open(folder / "bag") as bag:
        assert set(archive.topics) == set(bag.topics)
        for name in archive.topics:
            of_archive, of_bag = archive.records(name), bag.records(name)
            for column in set(of_archive) & set(of_bag) - {"name"}:
                np.testing.assert_array_equal(of_archive[column], of_bag[column], f"{name}: {column}")
            assert {"stamp_ns", "leaves_ns"} < set(of_archive) & set(of_bag), name


def test_archive_and_its_bag_give_same_messages(folder: Path) -> None:
    with fieldplay.open(folder / "etna") as archive, fieldplay.open(folder / "bag") as bag:
        assert sorted(archive.messages()) == sorted(bag.messages())
        stamps = [message.stamp_ns for message in bag.messages()]
        assert stamps == sorted(stamps)


def test_part_of_time_is_that_part_alone(data: fieldplay.Recording) -> None:
    whole = data.records("imu/data")
    start = min(topic.first_ns for topic in data.topics.values() if topic.first_ns is not None)
    part = data.records("imu/data", start=0.25, duration=0.5)
    requested = (whole["leaves_ns"] >= start + 250_000_000) & (whole["leaves_ns"] <= start + 750_000_000)
    assert 0 < requested.sum() < len(requested)
    for name, column in part.items():
        np.testing.assert_array_equal(column, whole[name][requested])
    messages = [message.stamp_ns for message in data.messages("imu/data", start=0.25, duration=0.5)]
    assert messages == part["leaves_ns"].tolist()


def test_static_frames_are_transforms(data: fieldplay.Recording) -> None:
    edges = {edge.child: edge for edge in data.tf_static}
    assert len(edges) == len(data.tf_static) > 3
    for edge in edges.values():
        np.testing.assert_allclose(edge.parent_t_child[:3, :3] @ edge.parent_t_child[:3, :3].T, np.eye(3), atol=1e-12)
        assert edge.parent_t_child[3].tolist() == [0, 0, 0, 1]


def test_images_and_clouds_come_in_order_of_time(data: fieldplay.Recording) -> None:
    images = list(data.images("main_cam/image_raw", duration=0.3))
    assert len(images) > 1 and [stamp for stamp, _ in images] == sorted(stamp for stamp, _ in images)
    assert all(image.shape == (1080, 1920, 3) and image.dtype == np.uint8 for _, image in images)
    clouds = list(data.clouds("lidar/points", duration=0.5))
    assert clouds and all({"x", "y", "z"} <= set(points.dtype.names or ()) for _, points in clouds)
    with pytest.raises(fieldplay.UsageError, match=r"/ameds/imu/data: expected images, got sensor_msgs/msg/Imu"):
        next(data.images("imu/data"))


def test_images_of_archive_are_those_of_its_bag(folder: Path) -> None:
    with fieldplay.open(folder / "etna") as archive, fieldplay.open(folder / "bag") as bag:
        both = zip(archive.images("aux_cam/image_raw"), bag.images("aux_cam/image_raw"), strict=True)
        for (stamp, image), (other_stamp, other) in both:
            assert stamp == other_stamp
            np.testing.assert_array_equal(image, other)


def test_what_is_not_there_is_reported_with_what_is(data: fieldplay.Recording) -> None:
    with pytest.raises(fieldplay.UsageError, match=r"there is no topic 'moon'; there are /ameds/"):
        data.records("moon")
    with pytest.raises(fieldplay.UsageError, match=r"'camera_info' may be /ameds/\w+/camera_info or /ameds/"):
        data.records("camera_info")


def test_whole_archive_and_whole_bag_have_their_defects(data: fieldplay.Recording) -> None:
    assert list(data.check()) == list(data.defects)


def test_damaged_bag_gives_what_can_be_read_of_it(folder: Path, tmp_path: Path) -> None:
    whole = (folder / "bag" / "bag_0.mcap").read_bytes()
    (tmp_path / "cut.mcap").write_bytes(whole[: len(whole) // 2])
    with fieldplay.open(tmp_path / "cut.mcap") as bag, fieldplay.open(folder / "etna") as archive:
        records = bag.records("imu/data")["stamp_ns"]
        assert 0 < len(records) < len(archive.records("imu/data")["stamp_ns"])
        assert "damaged_bag" in {defect.kind for defect in bag.defects}
        bag.to_bag(tmp_path / "mended")
    with fieldplay.open(tmp_path / "mended") as mended:
        assert (mended.records("imu/data")["stamp_ns"] == records).all()
        assert mended.check() == []


def test_what_cannot_be_opened_is_user_error(tmp_path: Path) -> None:
    with pytest.raises(fieldplay.UserError, match="there is no such folder or file"):
        fieldplay.open(tmp_path / "nothing")


def test_page_s_examples_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) >= 6
    monkeypatch.chdir(folder)
    scope: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), scope)
