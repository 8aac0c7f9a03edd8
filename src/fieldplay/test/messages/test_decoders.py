"""What the encoders write the decoders read: a record of every type goes out and comes back."""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from rosbags.typesys.stores.ros2_jazzy import sensor_msgs__msg__PointField as PointField

from fieldplay.messages import records
from fieldplay.messages.cdr_layout import typestore
from fieldplay.messages.codec import MARKERS, MESSAGES
from fieldplay.messages.message_batches import Part, parts_of_lengths
from fieldplay.messages.record_decoder import CLOUD, RecordDecoder
from fieldplay.messages.records import Record, _shapes
from fieldplay.messages.stream_spec import StreamSpec
from fieldplay.streams.topic_stream import messages_of_record
from fieldplay_testing.reference_messages import block_messages

ROWS = 5
STAMPS = 1_700_000_000_123_456_789 + np.arange(ROWS) * 50_000_000
LOG_NS = STAMPS + 7
TF = "tf2_msgs/msg/TFMessage"
POSES = records.Pose(
    stamp_ns=STAMPS, position_m=np.arange(15.0).reshape(5, 3), orientation_xyzw=np.arange(20.0).reshape(5, 4)
)
STATES = ((records.State("arm", 0, "fine", (("load", "3 %"),)), records.State("leg", 1, "stiff")),)
COLUMNS: dict[str, Any] = {
    "names": ("left", "right"), "parents": ("odom", "base"), "children": ("base", "arm"), "source": "gps",
    "shapes": (1, 3), "paths": (POSES,), "path_index": np.zeros(ROWS, np.int64),
    "state_index": np.zeros(ROWS, np.int64), "count": np.full(ROWS, 3),
}  # fmt: skip


def record_of(kind: type[Record]) -> Record:
    """A record with other numbers in each place."""
    random = np.random.default_rng(3)
    names = {field.name for field in fields(kind)}
    columns: dict[str, Any] = {name: value for name, value in COLUMNS.items() if name in names}
    lengths = {name: len(value) for name, value in columns.items() if isinstance(value, tuple)}
    for name, shape in _shapes(kind).items():
        sides = tuple(3 if side is None else lengths[side] if isinstance(side, str) else side for side in shape.sides)
        columns.setdefault(name, random.integers(1, 90, (ROWS, *sides)).astype(float))
    whole = {"time_ns": np.int64, "code": np.uint8, "status": np.int8}
    columns |= {name: columns[name].astype(whole[name]) for name in whole if name in columns}
    if kind is records.Integers:
        columns["values"] = np.array([0, 1, 1, 0, 1])
    if kind is records.Diagnostics:
        columns["states"] = STATES
    columns["known"] = None
    return kind(**{"stamp_ns": STAMPS, **{k: v for k, v in columns.items() if k in names - {"stamp_ns", "order_ns"}}})


def messages_of(record: Record, msgtype: str) -> list[bytes]:
    spec = StreamSpec(id="a", topic="a", type=msgtype, frame="here", child_frame="there")
    block, is_valid = messages_of_record(record, spec).encode(np.arange(len(record)))
    assert is_valid.all()
    return block_messages(block)


def alike(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if isinstance(one, Record):
        return all(alike(getattr(one, f.name), getattr(other, f.name)) for f in fields(one) if f.name != "order_ns")
    if isinstance(one, tuple) and one and isinstance(one[0], Record):
        return all(alike(*pair) for pair in zip(one, other, strict=True))
    return bool(one == other)


PAIRS = [(entry.record, msgtype) for msgtype, entry in MESSAGES.items()]


@pytest.mark.parametrize(("kind", "msgtype"), PAIRS, ids=[msgtype.rpartition("/")[2] for _, msgtype in PAIRS])
def test_encoded_record_decodes_to_itself(kind: type[Record], msgtype: str) -> None:
    record = record_of(kind)
    messages = messages_of(record, msgtype)
    decoder = RecordDecoder(msgtype)
    ((decoded, frame, child),) = decoder.records(parts_of_lengths(LOG_NS, messages))
    assert (type(decoded), decoder.failed) == (kind, 0)
    assert messages_of(decoded, msgtype) == messages
    has_header = "header" in dict(typestore().fielddefs[msgtype][1])
    assert (frame, child) == (
        "here" if has_header or msgtype == MARKERS else "",
        "there" if msgtype.endswith(("Odometry", "TransformStamped")) else "",
    )
    assert decoded.leaves_ns.tolist() == LOG_NS.tolist()
    assert decoded.stamp_ns.tolist() == (STAMPS if has_header or msgtype in (TF, MARKERS) else LOG_NS).tolist()
    if kind not in (records.Batteries, records.Paths, records.Twist, records.Pose) and has_header:
        assert alike(record, decoded)


def test_type_without_record_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a type of messages that become records, got std_msgs/msg/String"):
        RecordDecoder("std_msgs/msg/String")


def test_missing_columns_decode_as_none() -> None:
    joints = records.Joints(stamp_ns=STAMPS, names=("a",), velocity=np.ones((ROWS, 1)))
    messages = messages_of(joints, "sensor_msgs/msg/JointState")
    ((record, *_),) = RecordDecoder("sensor_msgs/msg/JointState").records(parts_of_lengths(LOG_NS, messages))
    assert isinstance(record, records.Joints)
    assert (record.position, record.effort) == (None, None) and record.velocity is not None
    imu = records.Imu(
        stamp_ns=STAMPS, angular_velocity_rad_s=np.ones((ROWS, 3)), linear_acceleration_m_s2=np.ones((ROWS, 3))
    )
    ((turned, *_),) = RecordDecoder("sensor_msgs/msg/Imu").records(
        parts_of_lengths(LOG_NS, messages_of(imu, "sensor_msgs/msg/Imu"))
    )
    assert isinstance(turned, records.Imu) and turned.orientation_xyzw is None


def test_messages_with_different_texts_become_separate_records() -> None:
    parts = [records.Joints(stamp_ns=STAMPS, names=(name,), position=np.ones((ROWS, 1))) for name in ("a", "b")]
    messages = [message for part in parts for message in messages_of(part, "sensor_msgs/msg/JointState")]
    record = list(RecordDecoder("sensor_msgs/msg/JointState").records(parts_of_lengths(np.arange(10), messages)))
    assert [(one.record.names, len(one.record)) for one in record] == [(("a",), ROWS), (("b",), ROWS)]


def test_unknown_transforms_are_left_out_and_known_sets_share_a_message() -> None:
    known = np.array([[True, True], [True, False], [True, True], [False, True], [True, False]])
    zeros = {"translation_m": np.zeros((ROWS, 2, 3)), "rotation_xyzw": np.ones((ROWS, 2, 4))}
    tf = records.Transforms(stamp_ns=STAMPS, parents=("a", "a"), children=("b", "c"), known=known, **zeros)
    messages = [typestore().deserialize_cdr(data, TF).transforms for data in messages_of(tf, TF)]
    children = ["".join(one.child_frame_id for one in message) for message in messages]
    assert children == ["bc", "b", "bc", "c", "b"]
    assert [message[0].header.stamp.nanosec for message in messages] == (STAMPS % 10**9).tolist()


def test_cloud_has_all_fields_and_damaged_message_is_counted() -> None:
    points = np.zeros(4, [("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("ring", "<u2")])
    points["x"], points["ring"] = [1, 2, 3, np.nan], [5, 6, 7, 8]
    kinds = (("x", 0, 7), ("y", 4, 7), ("z", 8, 7), ("ring", 12, 4))
    store, types = typestore(), typestore().types
    header = types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](3, 4), "lidar")
    cloud = types[CLOUD](
        header, 1, 4, [PointField(name, offset, kind, 1) for name, offset, kind in kinds], False, 14, 56,
        np.frombuffer(points.tobytes(), np.uint8), False,
    )  # fmt: skip
    data = np.frombuffer(store.serialize_cdr(cloud, CLOUD), np.uint8)
    decoder = RecordDecoder(CLOUD)
    ((record, frame, _),) = decoder.records([Part(np.array([9]), data[None]), Part(np.array([9]), data[None, :30])])
    assert (frame, record.stamp_ns.tolist(), decoder.failed) == ("lidar", [3_000_000_004], 1)
    assert isinstance(record, records.Clouds)
    assert record.load(0).dtype == points.dtype
    assert record.load(0).tobytes() == points.tobytes()


@pytest.mark.parametrize("position", [[0.1], [0.1, 0.2, 0.3]])
def test_joints_with_mismatched_names_are_refused_when_strict(position: list[float]) -> None:
    msgtype, types = "sensor_msgs/msg/JointState", typestore().types
    header = types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](3, 4), "")
    none = np.zeros(0)
    message = types[msgtype](header, ["a", "b"], np.array(position), none, none)
    part = Part(np.array([9]), np.frombuffer(typestore().serialize_cdr(message, msgtype), np.uint8)[None])
    ((record, *_),) = RecordDecoder(msgtype).records([part])
    assert isinstance(record, records.Joints) and record.position is not None and record.position.shape == (1, 2)
    with pytest.raises(ValueError, match=f"expected a position for each of 2 joints, got .{position[0]}"):
        next(RecordDecoder(msgtype, strict=True).records([part]))
