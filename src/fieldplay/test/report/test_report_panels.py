"""What panels keep and draw of hand-made messages: routes, clouds, scans, joints and measurements."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fieldplay.core.errors import ArchiveError
from fieldplay.geometry.frames import Frames
from fieldplay.messages.point_clouds import points_from_cloud
from fieldplay.projection.relief import Plane, relief_of_points
from fieldplay.recording.record_batches import Issues, RecordBatch
from fieldplay.recording.recording import RecordingInfo
from fieldplay.report.overview import Overview, Panel
from fieldplay.report.range_panels import CloudPanel, ScanPanel
from fieldplay.report.signal_panel import JointPanel, SignalPanel
from fieldplay.report.tf_panel import TransformPanel
from fieldplay.report.trajectory_panel import TrajectoryPanel
from fieldplay.streams.stream_times import StreamTimes
from fieldplay_testing.drawn import drawn_labels, drawn_lines, drawn_points
from fieldplay_testing.reference_messages import (
    START_NS,
    batch,
    make,
    stamped_message,
    transform,
    transforms,
)

SECOND = 10**9
ODOMETRY, POSE, FIX = "nav_msgs/msg/Odometry", "geometry_msgs/msg/PoseStamped", "sensor_msgs/msg/NavSatFix"
CLOUD, FIELD = "sensor_msgs/msg/PointCloud2", "sensor_msgs/msg/PointField"


def feed_panel(panel: Panel, *batches: RecordBatch, tf: Any = None) -> tuple[Overview, Issues]:
    """What is known once a panel has heard its messages, and the tree has heard its own."""
    overview = Overview(subject=RecordingInfo(title="", name="", kind="", size_bytes=0))
    for each in batches:
        overview.streams.setdefault(each.topic, StreamTimes()).add(each.stamp_ns)
        overview.streams[each.topic].flush_pending()
        panel.add(each)
    if tf is not None:
        for topic, message in tf:
            TransformPanel(overview.frames).add(batch(topic, message))
    panel.report_issues(overview.issues)
    return overview, overview.issues


def odometry(xyz: np.ndarray, frame: str, **more: Any) -> list[tuple[int, Any]]:
    return [
        (
            START_NS + k * SECOND,
            stamped_message(
                ODOMETRY, START_NS + k * SECOND, frame,
                pose__pose__position__x=float(x), pose__pose__position__y=float(y), pose__pose__position__z=float(z),
                **more,
            ),
        )
        for k, (x, y, z) in enumerate(xyz)
    ]  # fmt: skip


def text_of(body: str) -> str:
    return re.sub(r"<[^>]*>", " ", str.replace(body, "<wbr>", ""))


def test_trajectory_in_odom_is_drawn_in_map_connected_by_tf() -> None:
    positions = np.array([[k, 0.0, 0.1 * k] for k in range(11)])
    panel = TrajectoryPanel(Frames())
    turned = (0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5))
    tf = [("/tf_static", [(START_NS, transforms(transform(START_NS, "map", "odom", (5, 0, 0), turned)))])]
    truth = odometry(positions + np.array([5, 0, 0]), "map")
    overview, issues = feed_panel(panel, batch("/odom", odometry(positions, "odom")), batch("/truth", truth), tf=tf)
    (section,) = panel.sections(overview)
    text = text_of(section.body)
    assert "in map" in text and "in odom" not in text
    assert "/odom 10 m 0 to 1 m odom" in re.sub(r" +", " ", text)
    points = drawn_lines(section.body, "line s0")[0]
    assert np.ptp(points[:, 0]) <= 1 < 100 < np.ptp(points[:, 1])  # turned to the left, it runs north on the map
    assert issues.total == 0


def test_tf_lookup_uses_header_stamps_of_another_clock() -> None:
    """As when a simulation was recorded: its headers begin at 0, the log tells the time of day."""
    positions = odometry(np.array([[k, 0.0, 0.0] for k in range(11)]), "odom")
    for k, (_, message) in enumerate(positions):
        message.header.stamp.sec, message.header.stamp.nanosec = 50 + k, 0
    moves = [(START_NS, transforms(transform((50 + k) * SECOND, "map", "odom", (0, 3 * k, 0)))) for k in range(11)]
    moves.append((START_NS, transforms(transform(50 * SECOND, "odom", "base_link", (0, 0, 0)))))
    panel = TrajectoryPanel(Frames())
    overview, _ = feed_panel(panel, batch("/odom", positions), tf=[("/tf", moves)])
    text = re.sub(r" +", " ", text_of(panel.sections(overview)[0].body))
    assert "in map" in text
    assert "/odom 31.6 m" in text  # ten steps of one metre ahead and three to the left


def test_trajectories_in_disconnected_frames_have_separate_maps() -> None:
    positions = np.array([[k, k % 3, 0.0] for k in range(9)])
    panel = TrajectoryPanel(Frames())
    overview, _ = feed_panel(
        panel, batch("/one", odometry(positions, "odom")), batch("/two", odometry(positions, "mars"))
    )
    (section,) = panel.sections(overview)
    assert section.body.count('aria-label="map in ') == 2
    assert "in mars" in section.body


def test_still_poses_are_listed_as_numbers() -> None:
    panel = TrajectoryPanel(Frames())
    overview, _ = feed_panel(panel, batch("/tool", odometry(np.tile([1.25, -2.0, 0.5], (4, 1)), "arm")))
    (section,) = panel.sections(overview)
    assert "<svg" not in section.body
    assert "Standing still" in section.body and "1.25 \u22122 0.5" in section.body


def test_invalid_positions_are_reported_and_skipped() -> None:
    positions = np.array([[0.0, 0, 0], [np.nan, 0, 0], [2, 1e30, 0], [3, 0, 0]])
    panel = TrajectoryPanel(Frames())
    overview, issues = feed_panel(panel, batch("/odom", odometry(positions, "odom")))
    assert [f.message for f in issues.listed["position_left_out"]] == ["2 messages with a position that is none"]
    assert "3 m" in text_of(panel.sections(overview)[0].body)


def test_speed_is_from_twist_unless_unknown() -> None:
    positions = np.array([[2.0 * k, 0.0, 0.0] for k in range(30)])
    covariance = np.zeros(36)
    reported = odometry(positions, "odom", twist__twist__linear__x=0.5, twist__covariance=covariance)
    unknown = odometry(positions, "odom", twist__covariance=np.full(36, 1e6))
    for messages, labels in ((reported, ["0.48", "0.50", "0.52"]), (unknown, ["2.0"])):
        panel = TrajectoryPanel(Frames())
        overview, _ = feed_panel(panel, batch("/odom", messages))
        body = panel.sections(overview)[0].body
        assert "Speed" in body
        assert set(labels) <= set(drawn_labels(body))


def test_valid_fixes_are_drawn_east_and_north_of_first() -> None:
    rows = [(0, 45.0, 7.0, 2), (1, 45.0009, 7.0, 2), (2, np.nan, np.nan, -1), (3, 45.0009, 7.00127, 2)]
    messages = [
        (
            START_NS + k * SECOND,
            stamped_message(FIX, START_NS, "gps", latitude=a, longitude=o, altitude=100.0, status__status=s),
        )
        for k, a, o, s in rows
    ]
    panel = TrajectoryPanel(Frames())
    overview, issues = feed_panel(panel, batch("/fix", messages))
    text = text_of(panel.sections(overview)[0].body)
    assert "45.000000°, 7.000000°, 100.0\u00a0m" in text and "east to the right" in text
    assert issues.counts == {"position_left_out": 1}
    # 0.0009 degrees of latitude are 100.0 m, 0.00127 degrees of longitude 100.2 m at 45 degrees
    assert re.search(r"/fix +200 m", text)


def test_last_message_of_path_is_drawn() -> None:
    def path(count: int) -> Any:
        poses = [stamped_message(POSE, START_NS, "map", pose__position__x=float(k)) for k in range(count)]
        return stamped_message("nav_msgs/msg/Path", START_NS, "map", poses=poses)

    panel = TrajectoryPanel(Frames())
    overview, _ = feed_panel(panel, batch("/path", [(START_NS + k, path(k * 3)) for k in (1, 2, 4)]))
    assert re.search(r"/path +11 m", text_of(panel.sections(overview)[0].body))


def test_trajectory_falls_back_to_tf() -> None:
    panel = TrajectoryPanel(Frames())
    times = [START_NS + k * SECOND for k in range(5)]
    moves = [(time, transforms(transform(time, "odom", "base_link", (k, 0, 0)))) for k, time in enumerate(times)]
    tf = [("/tf", moves)]
    overview, _ = feed_panel(panel, tf=tf)
    assert re.search(r"tf: base_link +4 m", text_of(panel.sections(overview)[0].body))


def cloud(points: np.ndarray, *, frame: str = "lidar", kind: int = 7, height: int = 1, padding: int = 0) -> Any:
    """A PointCloud2 whose points have their coordinates in another order and something before them."""
    number = {7: "f4", 8: "f8", 2: "u1"}[kind]
    layout = np.dtype({"names": "xyz", "formats": [number] * 3, "offsets": [24, 8, 16], "itemsize": 32})
    records = np.zeros(len(points), layout)
    for axis, column in zip("xyz", points.T, strict=True):
        records[axis] = column
    rows = np.pad(records.view(np.uint8).reshape(height, -1), ((0, 0), (0, padding)))
    fields = [
        make(FIELD, name=axis, offset=offset, datatype=kind, count=1)
        for axis, offset in zip("xyz", (24, 8, 16), strict=True)
    ]
    width = len(points) // height
    return stamped_message(CLOUD, START_NS, frame, height=height, width=width, fields=fields, point_step=32,
                   row_step=rows.shape[1], data=rows.reshape(-1))  # fmt: skip


@pytest.mark.parametrize("message", [{}, {"kind": 8}, {"height": 2}, {"height": 2, "padding": 12}])
def test_points_are_read_for_any_field_layout(message: dict[str, int]) -> None:
    points = np.arange(18.0).reshape(6, 3) + 1
    assert points_from_cloud(cloud(points, **message)).tolist() == points.tolist()


def test_invalid_points_are_skipped() -> None:
    points = np.array([[1.0, 2, 3], [np.nan, 0, 0], [0, 0, 0], [4, 5, np.inf]])
    assert points_from_cloud(cloud(points)).tolist() == [[1.0, 2.0, 3.0]]


@pytest.mark.parametrize(
    ("change", "issue"),
    [
        ({"fields": []}, "expected the fields x y z, got none"),
        ({"data": np.zeros(8, np.uint8)}, "expected 1 x 6 points of 32 bytes, got 8 bytes"),
        ({"point_step": 10, "row_step": 60}, "expected x y z within 10 bytes"),
        ({"row_step": 3}, "expected 1 x 6 points"),
    ],
)
def test_unreadable_cloud_gives_reason(change: dict[str, Any], issue: str) -> None:
    message = cloud(np.ones((6, 3)))
    for name, value in change.items():
        setattr(message, name, value)
    with pytest.raises(ArchiveError, match=issue):
        points_from_cloud(message)


def test_relief_has_heights_only_where_points_are() -> None:
    grid = np.stack(np.meshgrid(np.arange(0, 10, 0.02), np.arange(0, 5, 0.02)), -1).reshape(-1, 2)
    points = np.column_stack([grid, grid[:, 0]])  # it rises to the east
    relief = relief_of_points(points, Plane(0.0, 20.0, 0.0, 10.0))
    assert relief is not None
    height, width = relief.pixels.shape[:2]
    assert (relief.low_m, relief.high_m) == pytest.approx((0.1, 9.9), abs=0.05)
    alpha = relief.pixels[:, :, 3]
    assert alpha[height * 3 // 4, width // 4] == 255  # the south west
    assert alpha[height // 4].max() == 0 and alpha[:, width * 3 // 4].max() == 0
    row = relief.pixels[height * 3 // 4, :, :3].astype(int).sum(axis=1)
    assert row[int(width * 0.45)] > row[int(width * 0.05)]  # bright is high
    assert relief_of_points(points, Plane(50.0, 60.0, 50.0, 60.0)) is None


def test_clouds_are_merged_by_tf_and_unreadable_ones_reported() -> None:
    wall = np.stack(np.meshgrid([3.0], np.linspace(-1, 1, 40), np.linspace(0, 1, 10)), -1).reshape(-1, 3)
    times = [START_NS + k * SECOND for k in range(5)]
    clouds = []
    for time in times:
        message = cloud(wall)
        message.header.stamp.sec = time // SECOND
        clouds.append((time, message))
    broken = stamped_message(CLOUD, times[-1] + SECOND, "lidar")
    moves = [(time, transforms(transform(time, "odom", "base_link", (2 * k, 0, 0)))) for k, time in enumerate(times)]
    mounted = [(START_NS, transforms(transform(START_NS, "base_link", "lidar", (0, 0, 1))))]
    panel = CloudPanel()
    everything = batch("/points", [*clouds, (times[-1] + SECOND, broken)])
    overview, issues = feed_panel(panel, everything, tf=[("/tf", moves), ("/tf_static", mounted)])
    (section,) = panel.sections(overview)
    text = text_of(section.body)
    assert "5 of 6 clouds in odom by tf" in text and section.body.count("<image") == 1
    assert [f.message for f in issues.listed["unreadable_cloud"]] == ["expected the fields x y z, got none"]
    alone = CloudPanel()
    overview, _ = feed_panel(alone, everything)
    (section,) = alone.sections(overview)
    assert "one cloud at 0 s, in lidar" in text_of(section.body) and section.body.count("<image") == 1


def test_scan_shows_echoes_as_points() -> None:
    ranges = np.array([1.0, np.inf, np.nan, 0.05, 2.0, 50.0], np.float32)
    message = stamped_message("sensor_msgs/msg/LaserScan", START_NS, "laser", angle_min=0.0, angle_increment=np.pi / 2,
                      range_min=0.1, range_max=30.0, ranges=ranges)  # fmt: skip
    panel = ScanPanel()
    overview, _ = feed_panel(panel, batch("/scan", [(START_NS, message)]))
    (section,) = panel.sections(overview)
    assert "2 of 6 beams at 0 s, in laser" in text_of(section.body)
    points = drawn_points(section.body, "dots s0").tolist()
    assert len(points) == 2  # one metre and two metres ahead: angles 0 and 4 * 90 degrees
    (x1, y1), (x2, y2) = sorted(points)
    assert y1 == pytest.approx(y2, abs=1e-3) and x2 > x1


def test_joints_are_drawn_by_name_and_nan_is_missing() -> None:
    names = [f"joint_{k}" for k in range(10)]
    values = np.arange(10.0)
    values[3] = np.nan
    message = stamped_message("sensor_msgs/msg/JointState", START_NS, "", name=names, position=values)
    other = stamped_message("sensor_msgs/msg/JointState", START_NS, "", name=["gripper"], position=np.array([np.inf]),
                    effort=np.array([2.0]))  # fmt: skip
    panel = JointPanel()
    overview, issues = feed_panel(panel, batch("/joints", [(START_NS, message), (START_NS + SECOND, other)]))
    text = text_of(panel.sections(overview)[0].body)
    assert all((name in text) == (name not in ("joint_3",)) for name in names)
    assert "effort, N m or N" in text and "velocity" not in text
    assert [f.message for f in issues.listed["not_finite"]] == ["1 infinite number as position of gripper"]


def test_joint_units_follow_description_of_dataset() -> None:
    held = {"velocity": np.array([24.0]), "effort": np.array([0.5])}
    message = stamped_message("sensor_msgs/msg/JointState", START_NS, "", name=["elbow"], **held)
    panel = JointPanel()
    overview, _ = feed_panel(panel, batch("/motors", [(START_NS, message)]))
    overview.subject = replace(overview.subject, units={"/motors": {"effort": "A"}})
    text = text_of(panel.sections(overview)[0].body)
    assert "effort, A" in text and "velocity, rad/s or m/s" in text


def test_measurements_have_charts_and_constant_zero_is_listed() -> None:
    imu = "sensor_msgs/msg/Imu"
    messages = [
        (
            START_NS + k * SECOND,
            stamped_message(imu, START_NS, "imu", linear_acceleration__z=9.81, orientation_covariance=np.full(9, -1.0)),
        )
        for k in range(4)
    ]
    messages[2][1].linear_acceleration.x = np.nan
    panel = SignalPanel()
    overview, issues = feed_panel(panel, batch("/imu", messages))
    (section,) = panel.sections(overview)
    text = text_of(section.body)
    assert "acceleration, m/s²" in text and "attitude" not in text
    assert "Zero throughout: /imu (turn rate)." in text
    assert [f.message for f in issues.listed["not_finite"]] == ["1 number of its acceleration"]


def test_attitude_is_unwrapped_beyond_half_turn() -> None:
    yaws = np.radians(np.arange(0, 720, 30))
    messages = [
        (
            START_NS + k * SECOND,
            stamped_message(
                "sensor_msgs/msg/Imu", START_NS, "imu",
                orientation__z=float(np.sin(yaw / 2)), orientation__w=float(np.cos(yaw / 2)),
            ),
        )
        for k, yaw in enumerate(yaws)
    ]  # fmt: skip
    panel = SignalPanel()
    for part in (messages[:10], messages[10:]):
        panel.add(batch("/imu", part))
    overview, _ = feed_panel(panel)
    assert "600" in drawn_labels(panel.sections(overview)[0].body)


def test_battery_may_have_missing_numbers() -> None:
    battery = stamped_message(
        "sensor_msgs/msg/BatteryState", START_NS, "", voltage=24.5, current=np.nan, percentage=np.nan
    )
    panel = SignalPanel()
    overview, issues = feed_panel(panel, batch("/battery", [(START_NS, battery)]))
    assert "voltage, V" in text_of(panel.sections(overview)[0].body)
    assert issues.total == 0


def test_code_fractions_are_shown_with_names() -> None:
    """As the kind of a satellite fix, of which RTK's share is the coverage."""
    panel, kind = SignalPanel(), "std_msgs/msg/UInt8"
    codes = [7] * 17 + [6] * 2 + [0]
    messages = [(START_NS + row * SECOND // 10, make(kind, data=code)) for row, code in enumerate(codes)]
    overview, _ = feed_panel(panel, batch("/gnss/fix_type", messages))
    note = "the device's own number: 0 no fix, 6 RTK float, 7 RTK fixed"
    overview.subject = replace(overview.subject, notes={"/gnss/fix_type": note})
    (section,) = panel.sections(overview)
    assert "RTK fixed 85.0 %, RTK float 10.0 %, no fix 5.0 %" in text_of(section.body)
