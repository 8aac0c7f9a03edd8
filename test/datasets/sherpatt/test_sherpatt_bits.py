"""Streams of packed bits play as the ordinary samples that they hold; what is wrong with one of them leaves it out."""

import json
import math
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fieldplay_testing import tiny_sherpatt as tiny
from fieldplay_testing.packed_by_asn1tools import BUFFERS, pack_sample
from fieldplay_testing.reference_logs import Run, runner
from support.sherpatt_messages import (
    defects_of,
    messages_of,
    notes_of,
    raw_of,
    stamp_ns,
)

US_PER_S = 1_000_000
PLAIN, PACKED = "/task.plain", "/task.packed"


def whole(sample: Any) -> Any:
    """A sample with what ASN.1 wants of each time."""
    if isinstance(sample, dict):
        filled = {name: whole(inner) for name, inner in sample.items()}
        return filled | ({"usecPerSec": US_PER_S} if "microseconds" in sample else {})
    return [whole(inner) for inner in sample] if isinstance(sample, list) else sample


def transform(time: int) -> tiny.Sample:
    own = whole(tiny.transform(time))
    return own | {"metadata": own["metadata"] | {"msgVersion": 1}}


MAKERS: dict[str, Any] = {
    "TransformWithCovariance": transform,
    "RigidBodyState": lambda time: whole(tiny.state(time)),
    "Joints": lambda time: whole(tiny.joints(time)),
    "IMUSensors": lambda time: whole(tiny.imu(time)),
    "LaserScan": lambda time: whole(tiny.laser_scan(time) | {"remission": [1.0]}),
    "Pose": lambda time: {"pos": [1.0, 2.0, 0.001 * (time % 7)], "orient": [0.0, 0.0, 0.0, 1.0]},
}


def packed_log(path: Path, kind: str, samples: list[Any]) -> Path:
    streams: tiny.Streams = {PACKED: ("asn1_bitstream", samples)}
    return tiny.write(path, tiny.log_of(streams))


def transforms() -> list[Any]:
    return [pack_sample("TransformWithCovariance", transform(time), size=1360) for time in tiny.times()]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("is_whole_buffer", [True, False])
def test_packed_bits_of_each_type_become_messages_of_plain_samples(
    kind: str, is_whole_buffer: bool, tmp_path: Path
) -> None:
    samples = [MAKERS[kind](time) for time in tiny.times()]
    size = BUFFERS.get(kind, 0) if is_whole_buffer else 0
    packed = [pack_sample(kind, sample, size=size) for sample in samples]
    log = tiny.log_of({PLAIN: (kind, samples), PACKED: ("asn1_bitstream", packed)})
    root = tiny.write(tmp_path / "x_Logger.msg", log)
    raw_messages = raw_of(root)
    plain, bits = (
        [(stamp, raw) for stamp, topic, raw in raw_messages if topic == f"/sherpatt/task/{name}"]
        for name in ("plain", "packed")
    )
    assert len(plain) == tiny.COUNT
    assert bits == plain
    assert not defects_of(root)


def test_packed_samples_leave_by_their_own_time(tmp_path: Path) -> None:
    root = packed_log(tmp_path / "x.msg", "TransformWithCovariance", transforms())
    messages = messages_of(root)["task/packed"]
    assert [stamp for stamp, _ in messages] == [time * 1000 for time in tiny.times()]
    assert [stamp_ns(message) for _, message in messages] == [time * 1000 for time in tiny.times()]
    logged = messages_of(root, order="log")["task/packed"]
    assert [stamp for stamp, _ in logged] == [(time + tiny.LATE_US) * 1000 for time in tiny.times()]


def test_quaternions_in_packed_bits_have_w_last_in_older_logs_too(tmp_path: Path) -> None:
    """The converter that wrote w first never had them in its hands."""
    old_us, turn = 1_500_000_000_000_000, [0.0, 0.0, tiny.ROOT_HALF, tiny.ROOT_HALF]
    states = [whole(tiny.state(old_us + step * tiny.STEP_US, orient=turn)) for step in range(tiny.COUNT)]
    root = packed_log(tmp_path / "x.msg", "RigidBodyState", [pack_sample("RigidBodyState", own) for own in states])
    messages = messages_of(root)["task/packed"][0][1].pose.pose.orientation
    assert [messages.x, messages.y, messages.z, messages.w] == pytest.approx(turn)


def test_joints_of_whole_buffer_of_older_form_are_read_by_it(tmp_path: Path) -> None:
    samples = [pack_sample("OldJoints", MAKERS["Joints"](time), size=9677) for time in tiny.times()]
    for sample in samples:
        sample["type"] = "asn1SccJoints"
    root = packed_log(tmp_path / "x.msg", "Joints", samples)
    messages = messages_of(root)["task/packed"]
    assert [message.name for _, message in messages] == [tiny.JOINT_NAMES] * tiny.COUNT
    assert not defects_of(root)


def no_bytes(sample: Any) -> None:
    sample["data"][7] = 256


def cut(sample: Any) -> None:
    del sample["data"][100:]


def too_long(sample: Any) -> None:
    sample["data"] += [0]


def other_method(sample: Any) -> None:
    sample["serialization_method"] = 1


def other_type(sample: Any) -> None:
    sample |= pack_sample("Pose", MAKERS["Pose"](0))


def other_version(sample: Any) -> None:
    sample["data"][3:5] = [7, 0xFF]  # and no length of a text


def impossible(sample: Any) -> None:
    sample["data"][4] |= 0xFF  # the length of a text, 511


def more_behind(sample: Any) -> None:
    sample["data"] = [*sample["data"][:1000], 1]


@pytest.mark.parametrize(
    ("spoil", "issue"),
    [
        (cut, r"TransformWithCovariance in packed bits: .*\w at bit 7\d\d: expected \d+ bits, got \d+ up to the end"),
        (impossible, "metadata.producerId at bit 32: expected a number from 0 to 256, got 51"),
        (no_bytes, "data: expected numbers from 0 to 255, got others"),
        (too_long, "expected 1360 bytes of TransformWithCovariance at most, got 1361: another version of the type"),
        (other_method, r"serialization_method: expected 0 \(unaligned PER\), got 1"),
        (other_type, "expected packed bits of TransformWithCovariance, as the first sample's, got asn1SccPose"),
        (other_version, "metadata.msgVersion: expected version 1, the one that is defined, got 7"),
        (more_behind, r"expected 1001 bytes of values, got values up to bit \d+ and others behind"),
    ],
)
def test_sample_of_bits_that_is_not_sound_is_defect_and_others_play(spoil: Any, issue: str, tmp_path: Path) -> None:
    samples = transforms()
    spoil(samples[2])
    root = packed_log(tmp_path / "x.msg", "TransformWithCovariance", samples)
    defects = [defect for defect in defects_of(root) if defect.kind == "damaged_sample"]
    assert [(defect.file, defect.stream) for defect in defects] == [("x.msg", "task_packed")]
    assert defects[0].message.startswith("sample 2 of /task.packed at byte ")
    assert re.search(issue, defects[0].message)
    assert len(messages_of(root)["task/packed"]) == tiny.COUNT - 1


def test_first_sample_that_is_cut_off_leaves_others_their_frames(tmp_path: Path) -> None:
    samples = transforms()
    cut(samples[0])
    messages = messages_of(packed_log(tmp_path / "x.msg", "TransformWithCovariance", samples))["task/packed"]
    frames = {(message.header.frame_id, message.child_frame_id) for _, message in messages}
    assert (len(messages), frames) == (tiny.COUNT - 1, {("local_terrain_frame", "rover_body")})


def test_bits_that_are_not_decoded_are_reported_with_type_method_and_length(tmp_path: Path) -> None:
    other, method = {"serialization_method": 0, "type": "asn1SccMap", "data": [1] * 9}, transforms()
    for sample in method:
        other_method(sample)
    streams: tiny.Streams = {"/b.map": ("asn1_bitstream", [other] * 2), "/b.by": ("asn1_bitstream", method)}
    root = tiny.write(tmp_path / "x.msg", tiny.log_of(streams | {"/a.imu": ("IMUSensors", [tiny.imu(tiny.START_US)])}))
    text = "\n".join(notes_of(root))
    assert "/b.map: 2 samples of asn1_bitstream are not played: packed bits of asn1SccMap, 9 bytes each" in text
    assert (
        "/b.by: 5 samples of asn1_bitstream are not played: packed bits of asn1SccTransformWithCovariance "
        "by the method 1, not 0 (unaligned PER), 1360 bytes each" in text
    )
    assert not defects_of(root)


def test_tools_show_what_is_in_packed_bits(run: Run, tmp_path: Path) -> None:
    samples = transforms()
    cut(samples[3])
    root = packed_log(tmp_path / "x.msg", "TransformWithCovariance", samples)
    code, out, _ = run("info", root, "--json")
    (stream,) = json.loads(out)["streams"]
    assert (code, stream["type"]) == (0, "asn1_bitstream")
    assert stream["dialect"] == "packed by uPER, TransformWithCovariance"
    assert stream["lag_s"] == pytest.approx(tiny.LATE_US * 1e-6)
    shown = json.loads(run("show", root, PACKED, "--json")[1])["sample"]
    assert shown == transform(tiny.START_US)
    code, out, _ = run("show", root, PACKED, "--index", "3")
    assert "cannot be read: TransformWithCovariance in packed bits" in out
    run("export", root, PACKED, tmp_path / "out.parquet", "--lists", "data.translation")
    table = pl.read_parquet(tmp_path / "out.parquet")
    assert table["data.translation.1"].to_list() == [2.0, 2.0, 2.0, None, 2.0]


def test_chunk_of_packed_bits_holds_them_as_they_were(run: Run, tmp_path: Path) -> None:
    root = packed_log(tmp_path / "x.msg", "TransformWithCovariance", transforms())
    assert run("chunk", root, PACKED, "--start", "1", "--end", "3", tmp_path / "out.msg")[0] == 0
    assert tiny.pack(transforms()[1]) in (tmp_path / "out.msg").read_bytes()


def test_unknown_parts_stay_unknown_in_packed_bits(tmp_path: Path) -> None:
    sample = pack_sample("RigidBodyState", MAKERS["RigidBodyState"](tiny.START_US))
    ((_, message),) = messages_of(packed_log(tmp_path / "x.msg", "RigidBodyState", [sample]))["task/packed"]
    assert not any(message.pose.covariance) and math.isfinite(message.pose.pose.position.x)
