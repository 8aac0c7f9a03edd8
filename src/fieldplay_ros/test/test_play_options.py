"""What may be asked of the player, and how what may not is refused."""

import re
from pathlib import Path
from typing import Any

import pytest

from fieldplay.bags.storage import Qos
from fieldplay.core.errors import UsageError
from fieldplay.player.options import OPTIONS, PlayOptions
from fieldplay.player.qos_overrides import PublisherQos, apply_override, overrides_from_file
from fieldplay.topics.selection import Selection
from fieldplay_ros.player_node import options_of_parameters, switches_of_parameters

DEFAULTS = {name: option.default for name, option in OPTIONS.items()}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": 0.0}, "rate: expected a number above 0, from 1e-06 to 1e+06, got 0.0"),
        ({"rate": float("inf")}, "rate: expected a number above 0, from 1e-06 to 1e+06, got inf"),
        ({"rate": 1e-7}, "rate: expected a number above 0, from 1e-06 to 1e+06, got 1e-07"),
        ({"clock_hz": -1.0}, "clock_hz: expected 0 or more"),
        ({"skip_gaps_s": -0.5}, "skip_gaps_s: expected 0 or more"),
        ({"wait_timeout_s": float("nan")}, "wait_timeout_s: expected 0 or more"),
        ({"read_ahead_mb": 0}, "read_ahead_mb: expected a number above 0"),
        ({"loop_stamps": "grow"}, "loop_stamps: expected one of restart, continue, got 'grow'"),
        ({"on_end": "loop"}, "on_end: expected one of exit, pause"),
        ({"selection": Selection(start_s=-1.0)}, "start: expected 0 s or more"),
        ({"selection": Selection(topics="[")}, "topics: expected a regular expression"),
    ],
)
def test_invalid_options_are_rejected(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        PlayOptions(**options)


def test_node_defaults_equal_play_defaults_except_images_and_wait() -> None:
    options = options_of_parameters(DEFAULTS, None)
    assert options == PlayOptions(selection=Selection(images="raw", joints_tf=True), wait_timeout_s=30.0)


def test_values_of_parameters_become_options() -> None:
    values = DEFAULTS | {
        "rate": 2, "start": 1, "duration": 3, "clock": 100, "images": "both", "topics": "/a imu", "skip_gaps": 5,
        "exclude_topics": 5, "remap": "/a:=/b c:=d",
        "qos_overrides": "/q.yaml",
        "dataset_parameters": ["gyro_unit:=rad/s", "steering_zero_deg:=90"],
    }  # fmt: skip
    options = options_of_parameters(values, "rover")
    assert options.selection == Selection(
        start_s=1.0,
        duration_s=3.0,
        topics=("/a", "imu"),
        exclude_topics=("5",),
        remap={"/a": "/b", "/c": "/d"},
        images="both",
        namespace="rover",
        joints_tf=True,
        parameters={"gyro_unit": "rad/s", "steering_zero_deg": 90},
    )
    assert (options.rate, options.clock_hz, options.skip_gaps_s) == (2.0, 100.0, 5.0)
    assert options.qos_overrides == Path("/q.yaml")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rate": "fast"}, "rate: expected a number, got 'fast'"),
        ({"rate": True}, "rate: expected a number, got True"),
        ({"loop": 1}, "loop: expected true or false, got 1"),
        ({"wait_for_subscribers": 1.5}, "wait_for_subscribers: expected a whole number, got 1.5"),
        ({"images": "none"}, "images: expected one of raw, compressed, both, got 'none'"),
        ({"remap": "/a=/b"}, "remap: expected OLD:=NEW, got '/a=/b'"),
        ({"topics": "["}, "topics: expected a regular expression"),
        ({"dataset_parameters": "gyro_unit=rad/s"}, "dataset_parameters: expected name:=value"),
        ({"dataset_parameters": "gyro_unit:=["}, "dataset_parameters: gyro_unit: "),
    ],
)
def test_invalid_parameter_values_are_rejected(values: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        options_of_parameters(DEFAULTS | values, None)


def test_switches_are_on_or_off() -> None:
    assert switches_of_parameters({"nav_tf": False, "odom_tf": True}) == {"nav_tf": False, "odom_tf": True}
    with pytest.raises(UsageError, match="nav_tf: expected true or false, got 'no'"):
        switches_of_parameters({"nav_tf": "no"})


def test_override_replaces_what_it_names(tmp_path: Path) -> None:
    path = tmp_path / "qos.yaml"
    path.write_text(
        "/a:\n  reliability: best_effort\n  depth: 5\n  deadline: {sec: 1, nsec: 500}\n"
        "/b:\n  history: keep_all\n  durability: transient_local\n  avoid_ros_namespace_conventions: true\n"
    )
    overrides = overrides_from_file(path)
    assert apply_override(Qos(depth=200), overrides["/a"]) == PublisherQos(
        qos=Qos(reliability="best_effort", depth=5), deadline_ns=1_000_000_500
    )
    assert apply_override(Qos(depth=200), overrides["/b"]) == PublisherQos(
        qos=Qos(durability="transient_local", history="keep_all", depth=200), avoid_ros_namespace_conventions=True
    )
    assert apply_override(Qos(depth=200), overrides.get("/c", {})) == PublisherQos(qos=Qos(depth=200))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- /a", "expected topics, each with its policies"),
        ("/a: [", "while parsing"),
        ("a: {depth: 5}", "expected a topic with its leading slash, got 'a'"),
        ("/a: 5", "/a: expected policies, got 5"),
        ("/a: {reliability: sure}", "/a.reliability: expected one of reliable, best_effort, got 'sure'"),
        ("/a: {depth: -1}", "/a.depth: expected a whole number, 0 or more, got -1"),
        ("/a: {deadline: {sec: 1}}", "/a.deadline: expected sec and nsec, both whole numbers"),
        ("/a: {dept: 1}", "/a.dept: there is no such policy; there are reliability"),
    ],
)
def test_overrides_file_is_rejected_with_its_location(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "qos.yaml"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        overrides_from_file(path)


def test_missing_overrides_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"qos_overrides: .*nowhere\.yaml"):
        overrides_from_file(tmp_path / "nowhere.yaml")
