"""Bags of a Rosario sequence that are cut or damaged, lack topics or parts, or hold numbers that cannot be."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fieldplay.cli.main import main
from fieldplay.core.errors import Defect
from fieldplay.datasets.registry import open_dataset
from fieldplay.topics.selection import Selection
from fieldplay.topics.topic_checks import check
from support import tiny_rosario as tiny
from support.archive_messages import messages_of
from support.broken import checked
from support.tiny_rosario_bag import TinyBag

START_NS = tiny.START * 10**9
Change = Callable[[Any], None]
SHORT = TinyBag(seconds=1, compression="lz4", chunk_bytes=50_000)


@dataclass
class ChangedBag(TinyBag):
    """A bag some of whose messages are others: what is done with message k of a topic, by topic and k."""

    changes: dict[tuple[str, int], Change] = field(default_factory=dict)
    empty: tuple[str, str] = ("", "")  # a topic without messages, and its type

    def write(self, path: Path) -> None:
        self._sent: dict[str, int] = {}
        super().write(path)

    def _imu(self) -> None:
        topic, msgtype = self.empty
        if topic:
            self._connections[topic] = self._writer.add_connection(topic, msgtype, typestore=self._types)
        super()._imu()

    def _send(self, topic: str, message: Any, stamp_ns: int) -> None:
        count = self._sent.get(topic, 0)
        self._sent[topic] = count + 1
        self.changes.get((topic, count), lambda message: None)(message)
        super()._send(topic, message, stamp_ns)


def defects_of(path: Path) -> list[Defect]:
    with open_dataset(path) as archive:
        return check(archive, Selection())


def setting(**values: float) -> Change:
    def change(message: Any) -> None:
        for name, value in values.items():
            setattr(message, name, value)

    return change


@pytest.mark.parametrize(
    ("topic", "msgtype", "ours"),
    [
        ("/gps/fix", "sensor_msgs/msg/NavSatFix", "gps/fix"),
        ("/odom", "nav_msgs/msg/Odometry", "odom_archived"),
        ("/stereo/left/image_raw", "sensor_msgs/msg/Image", "stereo/left/image_raw"),
    ],
)
def test_topic_without_messages_is_reported_and_rest_is_converted(
    tmp_path: Path, topic: str, msgtype: str, ours: str
) -> None:
    path = tmp_path / "sequence01.bag"
    ChangedBag(seconds=1, without=(topic,), empty=(topic, msgtype)).write(path)
    assert [(d.kind, d.message.split()[3]) for d in defects_of(path)] == [("missing_topic", topic)]
    assert main(["convert", str(path), str(tmp_path / "out")]) == 0
    messages = messages_of(path)
    assert ours not in messages and len(messages["imu/data_raw"]) == tiny.IMU_HZ


def test_topics_that_bag_lacks_are_defects_as_files_that_folder_lacks(tmp_path: Path) -> None:
    path = tmp_path / "sequence01.bag"
    TinyBag(seconds=1, without=("/imu", "/gps/fix", "/gps/vel", "/stereo/right/image_raw")).write(path)
    by_name = {defect.stream for defect in defects_of(path) if defect.kind == "missing_topic"}
    assert by_name == {"imu", "fix", "velocity", "right"}


def test_fixes_with_impossible_position_are_left_out_and_reported(tmp_path: Path) -> None:
    path = tmp_path / "sequence01.bag"
    wrong: dict[tuple[str, int], Change] = {
        ("/gps/fix", 0): setting(latitude=200.0),
        ("/gps/fix", 1): setting(latitude=math.nan),
        ("/gps/fix", 2): setting(altitude=math.inf),
    }
    ChangedBag(seconds=1, changes=wrong).write(path)
    messages = messages_of(path)["gps/fix"]
    assert [stamp for stamp, _ in messages] == [START_NS + k * 200_000_000 for k in (3, 4)]
    defects = defects_of(path)
    assert [defect.kind for defect in defects] == ["impossible_value"] * 3
    assert f"/gps/fix, the message at {tiny.START}.000000 s" in defects[0].message
    assert "expected latitude and longitude within 90 and 180 degrees, got 200, " in defects[0].message


def test_fix_without_altitude_keeps_its_position_and_reports_that_its_height_is_unknown(tmp_path: Path) -> None:
    path = tmp_path / "sequence01.bag"
    ChangedBag(seconds=1, changes={("/gps/fix", 2): setting(altitude=math.nan)}).write(path)
    messages = [message for _, message in messages_of(path)["gps/fix"]]
    assert [math.isnan(message.altitude) for message in messages] == [False, False, True, False, False]
    deviations = np.array([message.position_covariance for message in messages])
    assert deviations[2, 8] == 1e6
    assert (deviations[:, :4] == deviations[0, :4]).all() and (deviations[[0, 1, 3, 4], 8] < 1).all()
    assert defects_of(path) == []


def test_lost_fix_may_lack_its_position(tmp_path: Path) -> None:
    def lose(message: Any) -> None:
        message.status.status = -1
        message.latitude = message.longitude = message.altitude = math.nan

    path = tmp_path / "sequence01.bag"
    ChangedBag(seconds=1, changes={("/gps/fix", 2): lose}).write(path)
    messages = [message for _, message in messages_of(path)["gps/fix"]]
    assert [message.status.status for message in messages] == [2, 2, -1, 2, 2]
    assert not messages[2].position_covariance.any() and messages[2].position_covariance_type == 0
    assert defects_of(path) == []


def test_odometry_without_rotation_is_left_out_and_reported(tmp_path: Path) -> None:
    def flatten(message: Any) -> None:
        message.pose.pose.orientation.z = message.pose.pose.orientation.w = 0.0

    path = tmp_path / "sequence01.bag"
    ChangedBag(seconds=1, changes={("/odom", 3): flatten}).write(path)
    assert len(messages_of(path)["odom_archived"]) == tiny.ODOMETRY_HZ - 1
    (defect,) = defects_of(path)
    assert (defect.kind, defect.stream) == ("impossible_value", "odom_archived")
    assert f"the message at {tiny.START}.300000 s: expected a quaternion of length 1, got 0, 0, 0, 0" in defect.message


def test_message_whose_covariance_is_no_number_keeps_its_position(tmp_path: Path) -> None:
    unknown = np.full(9, np.nan)
    path = tmp_path / "run.bag"

    def blur(message: Any) -> None:
        message.pose.covariance = np.full(36, np.inf)

    changes = {("/gps/fix", 1): setting(position_covariance=unknown), ("/odom", 2): blur}
    ChangedBag(seconds=1, changes=changes).write(path)
    whole = tmp_path / "whole.bag"
    TinyBag(seconds=1).write(whole)
    actual, expected = messages_of(path), messages_of(whole)
    assert {topic: len(sent) for topic, sent in actual.items()} == {
        topic: len(sent) for topic, sent in expected.items()
    }
    assert not actual["odom_archived"][2][1].pose.covariance.any()
    assert np.isfinite(actual["gps/fix"][1][1].position_covariance).all()
    matches = [defect for defect in defects_of(path) if defect.kind == "no_covariance"]
    assert [(defect.stream, "counts as unknown" in defect.message) for defect in matches] == [
        ("fix", True), ("odom_archived", True),
    ]  # fmt: skip


def bag_in(folder: Path, bag: TinyBag = SHORT) -> Path:
    folder.mkdir(exist_ok=True)
    bag.write(folder / "sequence01.bag")
    return folder / "sequence01.bag"


@pytest.mark.parametrize("fraction", [0.2, 0.5, 0.9])
def test_bag_that_is_cut_off_gives_what_is_whole_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fraction: float
) -> None:
    path = bag_in(tmp_path)
    expected = messages_of(path)
    path.write_bytes(path.read_bytes()[: int(fraction * path.stat().st_size)])
    code, actual = checked(capsys, path)
    assert code == 1
    (defect,) = (defect for defect in actual["defects"] if defect["kind"] == "unindexed_bag")
    assert defect["file"] == "sequence01.bag"
    assert "expected a bag with an index at its end, got one that is cut off" in defect["message"]
    left = messages_of(path)
    assert len(left["imu/data_raw"]) == 140
    for topic, rows in left.items():
        if topic != "/tf_static":
            assert {stamp for stamp, _ in rows} <= {stamp for stamp, _ in expected[topic]}
    assert sum(map(len, left.values())) > 140 * (1 + (fraction > 0.5) * 0.3)


@pytest.mark.parametrize("lost", [1, 2])
def test_part_that_is_missing_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], lost: int) -> None:
    data = bag_in(tmp_path).read_bytes()
    (tmp_path / "sequence01.bag").unlink()
    size = len(data) // 4 + 1
    for index in {0, 1, 2, 3} - {lost}:
        (tmp_path / f"sequence01.bag.{index:02d}").write_bytes(data[index * size : (index + 1) * size])
    code, issues = checked(capsys, tmp_path / "sequence01.bag.00")
    assert code == 1
    assert [(d["file"], d["kind"]) for d in issues["defects"][:2]] == [
        (f"sequence01.bag.{lost:02d}", "missing_part"), ("sequence01.bag", "unindexed_bag")]  # fmt: skip
    assert messages_of(tmp_path)["imu/data_raw"]


def test_bag_without_its_first_part_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bag_in(tmp_path).rename(tmp_path / "sequence01.bag.01")
    assert main(["check", str(tmp_path)]) == 2
    assert "expected sequence01.bag.00 next to it, the first part of the bag, got none" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "expected a bag of ROS 1 that starts with b'#ROSBAG V2.0\\n', got an empty file"),
        (b"not a bag", "got a file that starts with b'not a bag'"),
        (b"#ROSBAG V2.0\n" + bytes(100), "expected a bag with an index, got none"),
        (b"#ROSBAG V2.0\n", "expected a bag with an index, got none"),
    ],
)
def test_file_that_is_no_bag_is_refused_with_what_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], data: bytes, message: str
) -> None:
    (tmp_path / "sequence01.bag").write_bytes(data)
    assert main(["check", str(tmp_path / "sequence01.bag")]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("compression", ["bz2", "lz4"])
def test_damaged_chunk_costs_what_it_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], compression: str
) -> None:
    bag = replace(SHORT, compression=compression, chunk_bytes=20_000, cameras=("left",))
    path = bag_in(tmp_path, bag)
    data = bytearray(path.read_bytes())
    index = data.index(b"compression=") + 200
    data[index : index + 100] = bytes(100)
    path.write_bytes(data)
    code, issues = checked(capsys, path)
    assert (code, [d["kind"] for d in issues["defects"]]) == (1, ["missing_topic", "damaged_chunk"])
    assert {d["file"] for d in issues["defects"]} == {"sequence01.bag"}
    assert "cannot be unpacked" in issues["defects"][1]["message"]
    left = messages_of(path)
    assert 50 < len(left["imu/data_raw"]) < 140
    assert len(left["gps/fix"]) == 5 and len(left["stereo/left/image_raw"]) == 15


def test_image_of_one_camera_alone_is_reported_for_bag_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    TinyBag(seconds=1, compression="lz4", skipped=("right", 3)).write(tmp_path / "sequence01.bag")
    code, issues = checked(capsys, tmp_path)
    assert (code, [(d["kind"], d["stream"]) for d in issues["defects"]]) == (1, [("unpaired_picture", "left")])
    assert len(messages_of(tmp_path)["stereo/left/image_raw"]) == 15
