"""Samples of each kind become the numbers that the facts of the framework name, in all spellings and forms."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from fieldplay.core.errors import ArchiveError
from fieldplay_cdff.logs import log_images, type_table
from fieldplay_cdff.logs.sample_rows import SampleRows, field
from fieldplay_testing import tiny_sherpatt as tiny

START_NS = tiny.START_US * 1000
STAMPS = np.array(tiny.times(), np.int64) * 1000


def of_times(make: Any, **others: Any) -> SampleRows:
    return SampleRows([make(time, **others) for time in tiny.times()])


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("/base/samples/RigidBodyState_m", type_table.STATE), ("asn1SccRigidBodyState", type_table.STATE),
        ("rigid_body_state", type_table.STATE), ("/gps/Solution", type_table.FIX),
        ("/base/samples/frame/Frame", type_table.FRAME), ("Image", type_table.FRAME),
        ("asnlSccTransformWithCovariance", type_table.TRANSFORM), ("/int32_t", type_table.INTEGER),
        ("/double", type_table.NUMBER), ("/uint64_t", type_table.LONG),
        ("/aggregator/TimestampEstimatorStatus", "TimestampEstimatorStatus"),
    ],
)  # fmt: skip
def test_types_are_recognised_in_every_spelling(name: str, kind: str) -> None:
    assert type_table.canonical_type(name) == kind


@pytest.mark.parametrize(
    ("sample", "kind"),
    [
        (tiny.state(tiny.START_US), type_table.STATE), (tiny.rock_state(tiny.START_US), type_table.STATE),
        (tiny.joints(tiny.START_US), type_table.JOINTS), (tiny.frame(tiny.START_US), type_table.FRAME),
        (tiny.rock_frame(tiny.START_US), type_table.FRAME), (tiny.old_frame(tiny.START_US), type_table.FRAME),
        (tiny.depth_map(tiny.START_US), type_table.DEPTHS), (tiny.cloud(tiny.START_US), type_table.CLOUD),
        (tiny.laser_scan(tiny.START_US), type_table.SCAN), (tiny.imu(tiny.START_US), type_table.IMU),
        (tiny.solution(tiny.START_US), type_table.FIX), (tiny.transform(tiny.START_US), type_table.TRANSFORM),
        ({"pos": [0, 0, 0], "orient": [0, 0, 0, 1]}, type_table.POSE),
        ({"left": {}, "right": {}, "baseline": 0.1}, type_table.PAIR), ({"x": 1}, ""), (3, type_table.LONG), ("x", ""),
    ],
)  # fmt: skip
def test_kinds_are_recognised_by_fields_without_type(sample: Any, kind: str) -> None:
    assert type_table.kind_of("", sample) == kind


def test_velocity_in_target_frame_is_rotated_into_source_frame() -> None:
    for make in (tiny.state, tiny.rock_state, tiny.snake_case_state):
        rows = of_times(make)
        record = type_table.odometry_from_states(rows, STAMPS)
        assert not rows.issues
        np.testing.assert_allclose(record.linear_velocity_m_s, np.tile([0.0, -1.0, 0.0], (5, 1)), atol=1e-12)
        np.testing.assert_array_equal(record.angular_velocity_rad_s[0], [0.01, 0.02, 0.3])
        np.testing.assert_allclose(record.position_m[:, 0], [0, 0.1, 0.2, 0.3, 0.4])
        assert not record.pose_covariance.any() and not record.twist_covariance.any()


def test_rotated_covariances_match_scipy() -> None:
    rng = np.random.default_rng(2)
    turns = Rotation.from_quat(rng.normal(size=(5, 4)))
    covariances = [(lambda a: a @ a.T)(rng.normal(size=(3, 3))) for _ in range(5)]
    names = ("cov_position", "cov_orientation", "cov_velocity", "cov_angular_velocity")
    samples = [
        tiny.state(time, orient=turn.as_quat().tolist(), **dict.fromkeys(names, cov.tolist()))
        for time, turn, cov in zip(tiny.times(), turns, covariances, strict=True)
    ]
    record = type_table.odometry_from_states(SampleRows(samples), STAMPS)
    for row, (turn, cov) in enumerate(zip(turns, covariances, strict=True)):
        matrix = turn.as_matrix()
        np.testing.assert_allclose(record.pose_covariance[row, :3, :3], cov, atol=1e-12)
        np.testing.assert_allclose(record.pose_covariance[row, 3:, 3:], matrix @ cov @ matrix.T, atol=1e-12)
        np.testing.assert_allclose(record.twist_covariance[row, :3, :3], matrix.T @ cov @ matrix, atol=1e-12)
        np.testing.assert_allclose(record.twist_covariance[row, 3:, 3:], cov, atol=1e-12)


def test_missing_state_fields_are_zero_with_large_variance() -> None:
    nan3, nan4 = tiny.flat(sides=3), tiny.flat(sides=4)
    rows = of_times(tiny.state, velocity=nan3, angular_velocity=nan3, orient=nan4)
    record = type_table.odometry_from_states(rows, STAMPS)
    assert not rows.issues
    assert not record.linear_velocity_m_s.any() and not record.angular_velocity_rad_s.any()
    assert (record.orientation_xyzw == [0, 0, 0, 1]).all()
    np.testing.assert_array_equal(record.twist_covariance[0], np.eye(6) * 1e6)
    np.testing.assert_array_equal(np.diag(record.pose_covariance[0]), [0, 0, 0, 1e6, 1e6, 1e6])


@pytest.mark.parametrize(
    ("issue", "message"),
    [
        ({"pos": [0.0, math.nan, 0.0]}, "position: expected numbers, got NaN"),
        ({"pos": [0.0, math.inf, 0.0]}, "position: expected numbers, got NaN"),
        ({"pos": [0.0, 1.0]}, "pos: expected 3 numbers, got 2"),
        ({"pos": "text"}, "pos: expected 3 numbers, got str"),
        ({"orient": [0.0, 0.0, 0.0, 0.5]}, "expected a unit quaternion"),
        ({"orient": [0.0, 0.0, 0.0, 0.0]}, "expected a unit quaternion"),
        ({"velocity": [math.inf, 0.0, 0.0]}, "velocity: expected numbers"),
        ({name: [math.nan] * n for name, n in (("pos", 3), ("orient", 4), ("velocity", 3), ("angular_velocity", 3))},
         "expected a pose or a motion, got neither"),
    ],
)  # fmt: skip
def test_state_issue_is_reported_for_its_row_only(issue: dict[str, Any], message: str) -> None:
    samples = [tiny.state(time) for time in tiny.times()]
    samples[3] |= issue
    rows = SampleRows(samples)
    record = type_table.odometry_from_states(rows, STAMPS)
    assert list(rows.issues) == [3] and message in rows.issues[3]
    assert np.isfinite(record.only(rows.good).linear_velocity_m_s).all()


def test_state_with_only_velocity_gives_no_message() -> None:
    rows = of_times(tiny.state, pos=[math.nan] * 3, orient=[math.nan] * 4, angular_velocity=[math.nan] * 3)
    type_table.odometry_from_states(rows, STAMPS)
    assert set(rows.issues.values()) == {"expected an orientation, by which its velocity is turned, got none"}


def test_w_first_applies_to_list_quaternions() -> None:
    turned = [tiny.ROOT_HALF, 0.0, 0.0, tiny.ROOT_HALF]
    record = type_table.odometry_from_states(of_times(tiny.state, orient=turned), STAMPS, w_first=True)
    np.testing.assert_allclose(record.orientation_xyzw[0], [0, 0, tiny.ROOT_HALF, tiny.ROOT_HALF])
    of_rock = type_table.odometry_from_states(of_times(tiny.rock_state), STAMPS, w_first=True)
    np.testing.assert_array_equal(of_rock.orientation_xyzw, record.orientation_xyzw)


def test_transform_is_child_in_parent() -> None:
    record = type_table.odometry_from_transforms(of_times(tiny.transform), STAMPS)
    np.testing.assert_array_equal(record.position_m[0], [1, 2, 3])
    np.testing.assert_array_equal(record.pose_covariance[0], np.eye(6) * 0.5)
    np.testing.assert_array_equal(record.twist_covariance[0], np.eye(6) * 1e6)


def test_joints_keep_names_and_drop_fields_nobody_has() -> None:
    record = type_table.joints_from_samples(of_times(tiny.joints), STAMPS)
    assert record.names == tuple(tiny.JOINT_NAMES) and record.effort is None
    assert record.position is not None and record.velocity is not None
    np.testing.assert_allclose(record.position[2], [0.2, 0.2, math.nan])
    np.testing.assert_allclose(record.velocity[2], [0.5, math.nan, math.nan])


def test_late_joints_are_unknown_before() -> None:
    samples = [tiny.joints(time) for time in tiny.times()]
    samples[4]["names"].append("arm_joint_2")
    samples[4]["elements"].append({"position": 1.5})
    record = type_table.joints_from_samples(SampleRows(samples), STAMPS)
    assert record.position is not None and record.names[-1] == "arm_joint_2"
    np.testing.assert_array_equal(record.position[:, 3], [math.nan] * 4 + [1.5])


def test_scan_of_hokuyo_has_its_times_and_codes() -> None:
    record = type_table.scans_from_samples(of_times(tiny.laser_scan), STAMPS)
    assert record.count.tolist() == [1081] * 5
    assert record.time_increment_s[0] == pytest.approx(1.7360932e-5, rel=1e-6)
    assert record.scan_time_s[0] == pytest.approx(0.02499974, rel=1e-6)
    assert record.angle_min_rad[0] == -2.356194490
    span = record.angle_increment_rad[0] * (record.count[0] - 1)
    assert span == pytest.approx(4.712389, abs=1e-6)
    np.testing.assert_array_equal(
        record.ranges_m[0, :9], [math.nan, math.inf, -math.inf, math.nan, math.nan, math.inf, 0.023, 1.5, 60.0]
    )
    assert (record.range_min_m[0], record.range_max_m[0]) == (0.023, 60.0)


def test_remission_of_scan_becomes_its_intensities() -> None:
    assert type_table.scans_from_samples(of_times(tiny.laser_scan), STAMPS).intensities is None
    samples = [tiny.laser_scan(time) for time in tiny.times()]
    samples[1] |= {"ranges": [500, 600, 700], "remission": [10.0, 20.5, 30.0]}
    samples[2] |= {"ranges": [500, 600], "remission": [1, 2]}
    samples[3] |= {"ranges": [500, 600, 700], "remission": [10.0]}
    samples[4] |= {"ranges": [500, 600, 700], "remission": ["x", "y", "z"]}
    rows = SampleRows(samples)
    record = type_table.scans_from_samples(rows, STAMPS)
    assert not rows.issues and len(rows.notes) == 2
    assert record.intensities is not None
    np.testing.assert_array_equal(record.intensities[1:3, :3], [[10, 20.5, 30], [1, 2, math.nan]])
    assert np.isnan(record.intensities[[0, 3, 4]]).all()


def test_scanner_without_speed_has_no_times() -> None:
    record = type_table.scans_from_samples(of_times(lambda time: tiny.laser_scan(time) | {"speed": 0.0}), STAMPS)
    assert not record.time_increment_s.any() and not record.scan_time_s.any()


def test_imu_is_converted_unchanged() -> None:
    record = type_table.imu_from_samples(of_times(tiny.imu), STAMPS)
    np.testing.assert_array_equal(record.linear_acceleration_m_s2[0], [0.1, -0.2, 9.86])
    np.testing.assert_array_equal(record.angular_velocity_rad_s[0], [0.01, 0.02, 0.03])
    assert record.orientation_xyzw is None


def test_fix_covariance_is_squared_deviations_east_first() -> None:
    record = type_table.fixes_from_samples(of_times(tiny.solution), STAMPS)
    assert record.covariance_m2 is not None
    np.testing.assert_allclose(record.covariance_m2[0], np.diag([0.0001, 0.0004, 0.0025]))
    assert record.status.tolist() == [2] * 5
    none = type_table.fixes_from_samples(of_times(tiny.solution, kind="NO_SOLUTION"), STAMPS)
    assert none.status.tolist() == [-1] * 5


def test_plain_numbers_are_unchanged() -> None:
    rows = SampleRows([1, -2, 1 << 40, True, "x"])
    assert type_table.integers_from_samples(rows, STAMPS).values.tolist() == [1, -2, 1 << 40, 1, 0]
    assert list(rows.issues) == [4]
    rows = SampleRows([0.5, math.nan, 3, None, True])
    np.testing.assert_array_equal(type_table.plain_numbers(rows, STAMPS).values[:3], [0.5, math.nan, 3.0])
    assert list(rows.issues) == [3, 4]


@pytest.mark.parametrize(
    ("projection", "across", "down", "expected"),
    [
        ("polar", 0.2, -0.1, (1.950340655, 0.395353623, 0.199666833)),
        ("POLAR", 0.2, -0.1, (1.950340655, 0.395353623, 0.199666833)),
        ("planar", 0.2, -0.1, (1.951428481, -0.390285696, 0.199007438)),
        ("PLANAR", 0.2, -0.1, (1.951428481, -0.390285696, 0.199007438)),
    ],
)
def test_depth_gives_point_of_its_projection(
    projection: str, across: float, down: float, expected: tuple[float, float, float]
) -> None:
    sample = tiny.depth_map(
        tiny.START_US, vertical_projection=projection, horizontal_projection=projection, vertical_interval=[down],
        horizontal_interval=[across], vertical_size=1, horizontal_size=1, distances=[2.0], timestamps=[],
    )  # fmt: skip
    (point,) = log_images.points_from_depth_map(sample, START_NS, 1000)
    np.testing.assert_allclose([point[axis] for axis in "xyz"], expected, atol=1e-7)
    assert point.dtype.names == ("x", "y", "z", "ring")


def test_depth_map_has_rings_from_below_and_times_by_columns() -> None:
    points = log_images.points_from_depth_map(tiny.depth_map(tiny.START_US), START_NS, 1000)
    assert points["ring"].tolist() == [1, 0, 0]
    np.testing.assert_allclose(points["time"], [0.0, 0.001, 0.002], atol=1e-9)
    ranges = np.sqrt(sum(points[axis].astype(float) ** 2 for axis in "xyz"))
    np.testing.assert_allclose(ranges, [2.0, 3.0, 4.0], rtol=1e-6)
    np.testing.assert_allclose(np.arctan2(points["y"], points["x"]), [0.2, 0.0, -0.2], atol=1e-6)
    assert points["z"][0] > 0 > points["z"][1]


@pytest.mark.parametrize(
    ("count", "expected"),
    [(0, None), (1, None), (2, [0.0, 0.0005, 0.001]), (6, [0.0, 0.004, 0.005])],
)
def test_times_of_depth_map_are_by_points_or_between_two(count: int, expected: list[float] | None) -> None:
    stamps = [{"microseconds": tiny.START_US + 1000 * index} for index in range(count)]
    points = log_images.points_from_depth_map(tiny.depth_map(tiny.START_US, timestamps=stamps), START_NS, 1000)
    if expected is None:
        assert "time" not in (points.dtype.names or ())
    else:
        np.testing.assert_allclose(points["time"], expected, atol=1e-9)


def test_full_turn_is_divided_evenly() -> None:
    sample = tiny.depth_map(tiny.START_US, horizontal_interval=[0.5, 0.5], distances=[1.0] * 6, timestamps=[])
    points = log_images.points_from_depth_map(sample, START_NS, 1000)
    azimuth = np.arctan2(points["y"][:3], points["x"][:3])
    np.testing.assert_allclose(azimuth, [0.5, 0.5 - np.pi, 0.5], atol=1e-6)


@pytest.mark.parametrize(
    "issue",
    [
        {"distances": [1.0]}, {"vertical_size": 0}, {"vertical_size": 1 << 40}, {"horizontal_interval": [1, 2, 3, 4]},
        {"distances": ["x"] * 6}, {"timestamps": [{"microseconds": 1}] * 4}, {"vertical_interval": []},
    ],
)  # fmt: skip
def test_inconsistent_depth_map_is_reported(issue: dict[str, Any]) -> None:
    with pytest.raises(ArchiveError, match="expected"):
        log_images.points_from_depth_map(tiny.depth_map(tiny.START_US, **issue), START_NS, 1000)


def test_clouds_are_dense_in_all_forms() -> None:
    sample = tiny.cloud(tiny.START_US)
    raw_points = sample["data"]["points"]
    forms = [
        sample,
        {"time": 1, "points": [{"data": point} for point in raw_points], "colors": []},
        {"time": 1, "points": {"data": raw_points}},
        {"time": 1, "points": np.array(raw_points)},
    ]
    for form in forms:
        points = log_images.points_from_cloud(form)
        assert [tuple(point) for point in points] == [(1.0, 2.0, 3.0), (-1.0, 0.5, 0.25)]
    with_intensity = tiny.cloud(tiny.START_US)
    with_intensity["data"]["intensity"] = [1, 2, 3]
    assert log_images.points_from_cloud(with_intensity)["intensity"].tolist() == [1.0, 3.0]
    assert log_images.is_far(log_images.points_from_cloud({"points": [[2e4, 0.0, 0.0]]}))


def test_images_are_equal_in_all_formats() -> None:
    for make in (tiny.frame, tiny.rock_frame, tiny.old_frame):
        image = log_images.image_of_frame(make(tiny.times()[2]))
        assert not isinstance(image, bytes)
        assert (image.width, image.height, image.step) == (tiny.WIDTH, tiny.HEIGHT, tiny.WIDTH)
        assert image.encoding == "mono8" and list(image.data) == tiny.pixels(2)


@pytest.mark.parametrize(
    ("mode", "depth", "channels", "encoding", "item"),
    [
        ("mode_GRAY", "depth_16U", 1, "mono16", 2), ("mode_GRAY", "depth_32F", 1, "32FC1", 4),
        ("mode_RGB", "depth_8U", 3, "rgb8", 1), ("mode_BGR", "depth_8U", 3, "bgr8", 1),
        ("mode_RGBA", "depth_8U", 4, "rgba8", 1), ("mode_BGRA", "depth_8U", 4, "bgra8", 1),
        ("mode_Bayer_RGGB", "depth_8U", 1, "bayer_rggb8", 1), ("mode_Bayer_GBRG", "depth_8U", 1, "bayer_gbrg8", 1),
        ("mode_UYVY", "depth_8U", 2, "uyvy", 1), ("mode_HSV", "depth_8U", 3, "8UC3", 1),
        ("mode_UNDEF", "depth_8U", 1, "mono8", 1), ("mode_UNDEF", "depth_64F", 1, "64FC1", 8),
        ("mode_GRAY", "depth_16S", 1, "16SC1", 2), ("mode_XYZ", "depth_32F", 3, "32FC3", 4),
    ],
)  # fmt: skip
def test_every_mode_and_depth_has_its_encoding(mode: str, depth: str, channels: int, encoding: str, item: int) -> None:
    step = tiny.WIDTH * channels * item
    data = [value % 256 for value in range(step * tiny.HEIGHT)]
    sample = tiny.frame(tiny.START_US, depth=depth, channels=channels, rowSize=step, data=data)
    sample["metadata"]["mode"] = mode
    image = log_images.image_of_frame(sample)
    assert not isinstance(image, bytes)
    assert image.encoding == encoding and list(image.data) == data


def test_pixels_are_accepted_as_integers() -> None:
    values = [300 * index for index in range(tiny.WIDTH * tiny.HEIGHT)]
    sample = tiny.frame(tiny.START_US, depth="depth_16U", rowSize=2 * tiny.WIDTH, data=values)
    image = log_images.image_of_frame(sample)
    assert not isinstance(image, bytes)
    assert np.frombuffer(image.data, "<u2").tolist() == values


@pytest.mark.parametrize("mode", ["mode_JPEG", "mode_PNG", "mode_PJPG"])
def test_encoded_files_are_unchanged(mode: str) -> None:
    sample = tiny.frame(tiny.START_US, data=[0xFF, 0xD8, 0xFF, 0x00], rowSize=0)
    sample["metadata"]["mode"] = mode
    assert log_images.image_of_frame(sample) == b"\xff\xd8\xff\x00"


def test_depth_of_rock_images_follows_from_row_size() -> None:
    sample = tiny.rock_frame(tiny.START_US) | {"row_size": 2 * tiny.WIDTH, "image": [1, 2] * tiny.WIDTH * tiny.HEIGHT}
    image = log_images.image_of_frame(sample)
    assert not isinstance(image, bytes) and image.encoding == "mono16"


@pytest.mark.parametrize(
    "issue",
    [{"rows": 0}, {"rows": -1}, {"cols": 1 << 20}, {"rowSize": 2}, {"channels": 9}, {"depth": "depth_7U"},
     {"data": "x"}, {"data": [1]}, {"data": [1000] * 24}, {"data": None}, {"rows": "4"}, {"data": [[1, 2], [3]]}],
)  # fmt: skip
def test_inconsistent_image_is_reported(issue: dict[str, Any]) -> None:
    with pytest.raises(ArchiveError, match="expected"):
        log_images.image_of_frame(tiny.frame(tiny.START_US, **issue))


NOISE = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 300) | st.floats() | st.text(max_size=3) | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["data", "im", "re", "x"]), inner),
    max_leaves=6,
)
MAKERS = [tiny.state, tiny.joints, tiny.laser_scan, tiny.imu, tiny.solution, tiny.transform, tiny.depth_map, tiny.cloud,
          tiny.frame, tiny.rock_frame]  # fmt: skip


@given(st.sampled_from(MAKERS), st.integers(0, 30), NOISE)
def test_any_value_in_any_field_is_reported_or_harmless(make: Any, index: int, noise: Any) -> None:
    sample = make(tiny.START_US)
    inner = sample["data"] if make in (tiny.frame, tiny.cloud, tiny.transform) and index % 2 else sample
    inner[list(inner)[index % len(inner)]] = noise
    rows, stamp = SampleRows([sample]), STAMPS[:1]
    converters = (
        type_table.odometry_from_states, type_table.odometry_from_transforms, type_table.poses_from_samples,
        type_table.joints_from_samples, type_table.scans_from_samples, type_table.imu_from_samples,
        type_table.fixes_from_samples,
    )  # fmt: skip
    with np.errstate(all="ignore"):
        for convert in converters:
            assert len(convert(rows, stamp)) == 1
    convert_or_report(lambda: log_images.points_from_depth_map(sample, START_NS, 1000))
    convert_or_report(lambda: log_images.points_from_cloud(sample))
    convert_or_report(lambda: log_images.image_of_frame(sample))
    log_images.intrinsics_of_frame(sample)
    type_table.kind_of("", sample)


def convert_or_report(make: Any) -> None:
    try:
        make()
    except ArchiveError as error:
        assert "expected" in str(error)


def test_fields_are_read_in_all_spellings() -> None:
    for name in ("sourceFrame", "source_frame", "source-frame", "SourceFrame"):
        assert field({name: "x"}, "sourceframe") == "x"
    assert field({"a": {"bC": 1}}, "a.bc") == 1
    assert field({"a": 3}, "a.bc", default=7) == 7
