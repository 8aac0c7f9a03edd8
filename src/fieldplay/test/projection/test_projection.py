"""Times as people write them, rows nearest to a time, and frames that do not move."""

from collections.abc import Sequence
from datetime import datetime, timezone

import numpy as np
import pytest

from fieldplay.core.errors import ArchiveError, UsageError
from fieldplay.core.timestamps import time_difference_text, time_of_text, time_text
from fieldplay.datasets.registry import dataset_files
from fieldplay.datasets.spec import spec_from_file
from fieldplay.geometry.frames import Frames
from fieldplay.messages.records import Record, Temperature
from fieldplay.projection.frame_motion import fixed_frame, motion_of_sensor, transform_at
from fieldplay.projection.projection import nearest_rows, overlay_parameters
from fieldplay.streams.stream import Span

START_NS = 1_224_050_945_437_000_000
STILL = [0.0, 0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("text", "expected_ns"),
    [
        ("0", START_NS),
        ("12.000000001", START_NS + 12_000_000_001),
        ("-1.5", START_NS - 1_500_000_000),
        ("1224050945.437", START_NS),
        ("2008-10-15T06:09:05.437Z", START_NS),
        ("2008-10-15 06:09:05,437", START_NS),
        ("2008-10-15t06:09:05.437000000+00:00", START_NS),
        ("2008-10-15T06:09", START_NS - 5_437_000_000),
    ],
)
def test_times_are_parsed_exactly_in_every_form(text: str, expected_ns: int) -> None:
    assert time_of_text(text, START_NS) == expected_ns


@pytest.mark.parametrize(
    "text", ["noon", "", "2008-10-15", "2008-10-15T06:09:05+11:00", "2008-02-30T00:00:00", "nan", "1e99"]
)
def test_invalid_time_is_rejected(text: str) -> None:
    with pytest.raises(UsageError):
        time_of_text(text, START_NS)


def test_times_are_formatted_exactly() -> None:
    seconds = datetime(2008, 10, 15, 6, 9, 5, tzinfo=timezone.utc).timestamp()
    assert time_text(START_NS) == f"2008-10-15T06:09:05.437000000Z ({seconds:.0f}.437000000)"
    assert time_difference_text(3_000_000, 1_000_000, "it") == "0.002000 s after it"
    assert time_difference_text(0, 1_500_000_000, "it") == "1.500000 s before it"
    assert time_difference_text(7, 7, "it") == "at it"


class Spans:
    """A stream whose spans overlap, and that counts what is loaded."""

    def __init__(self, stamps: Sequence[Sequence[int]]) -> None:
        self._stamps = stamps
        self.spans = [Span(part[0], part[-1], len(part)) for part in stamps]
        self.loaded: list[int] = []

    def load(self, index: int) -> Record:
        self.loaded.append(index)
        stamp_ns = np.array(self._stamps[index], np.int64)
        return Temperature(stamp_ns=stamp_ns, temperature_deg_c=np.zeros(len(stamp_ns)))


def test_nearest_rows_come_from_all_spans_with_few_loads() -> None:
    stream = Spans([[0, 10, 20], [100, 110, 125], [15, 40, 95], [500, 600]])
    stamps = [row.stamp_ns for row in nearest_rows(stream, 97, 3)]
    assert stamps == [95, 100, 110]
    assert sorted(stream.loaded) == [1, 2]
    assert [row.stamp_ns for row in nearest_rows(stream, 15, 1)] == [15]
    assert [row.stamp_ns for row in nearest_rows(stream, 105, 1)] == [100]  # of two as near the earlier
    assert len(nearest_rows(stream, 0, 99)) == 11


def tree() -> Frames:
    """A base that goes forward by 1 m/s in odom, a laser on it, and a camera on an arm that nobody has moved."""
    frames = Frames()
    times = np.arange(0, 2_000_000_000, 100_000_000)
    values = np.tile(STILL, (len(times), 1))
    values[:, 0] = times / 1e9
    frames.add("odom", "base_link", is_static=False, stamp_ns=times, values=values)
    frames.add("base_link", "laser", is_static=True, stamp_ns=times[:1], values=np.array([STILL]))
    frames.add("hand", "camera", is_static=True, stamp_ns=times[:1], values=np.array([STILL]))
    return frames


def test_motion_is_compensated_in_root_frame_unless_disabled() -> None:
    frames, then_ns = tree(), np.array([1_000_000_000, 1_250_000_000])
    motion = motion_of_sensor(frames, "laser", 1_500_000_000, then_ns=then_ns, fixed="auto")
    np.testing.assert_allclose(motion.now_t_then[:, 0, 3], [-0.5, -0.25])
    assert (motion.frame, motion.moved_m) == ("odom", pytest.approx(0.5))
    still = motion_of_sensor(frames, "laser", 1_500_000_000, then_ns=then_ns, fixed="none")
    np.testing.assert_array_equal(still.now_t_then, np.tile(np.eye(4), (2, 1, 1)))
    assert fixed_frame(frames, "camera", "auto") == ""  # which does not move in its root


def test_unknown_motion_is_ignored_or_rejected_if_requested() -> None:
    then_ns = np.array([9_000_000_000])
    assert motion_of_sensor(tree(), "laser", 9_100_000_000, then_ns=then_ns, fixed="auto").frame == ""
    with pytest.raises(ArchiveError, match="where laser was in odom is not known"):
        motion_of_sensor(tree(), "laser", 9_100_000_000, then_ns=then_ns, fixed="odom")
    with pytest.raises(UsageError, match="there is no frame 'moon'; there are base_link, camera,"):
        fixed_frame(tree(), "laser", "moon")


def test_disconnected_frames_are_named_in_error() -> None:
    with pytest.raises(ArchiveError, match=r"nothing joins laser \(below odom\) and camera \(below hand\)"):
        transform_at(tree(), "camera", "laser", 0)


def test_node_parameters_have_topics_and_extrinsics_of_dataset() -> None:
    acfr, ameds = (spec_from_file(dataset_files()[name]) for name in ("acfr", "ameds"))
    parameters = overlay_parameters(acfr, "laser_port, visual_camera", image_format="raw")
    assert (parameters["scan"], parameters["image"]) == ("laser_port/scan", "visual_camera/image_raw")
    assert len(parameters["camera_t_sensor"]) == 16
    parameters = overlay_parameters(ameds, "lidar,main_cam", image_format="compressed")
    assert parameters == {"cloud": "lidar/points", "image": "main_cam/image_raw/compressed"}
    with pytest.raises(UsageError, match="expected LASER,CAMERA, got 'lidar'"):
        overlay_parameters(ameds, "lidar", image_format="raw")
