"""IDA from its files to messages: the numbers of the dataset's facts."""

import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fieldplay.datasets.registry import detect_spec, open_dataset
from fieldplay.topics import topic_checks as checking
from fieldplay.topics.selection import Selection
from fieldplay_samples.write_sample import SampleOptions
from support import tiny_ida as tiny
from support.ida_messages import (
    Messages,
    defects_of,
    messages_of,
    notes_of,
)
from support.sampled import sampled
from support.tiny_ida import Motion, TinyIda

JOINTS = ["shoulder_yaw", "shoulder_pitch", "elbow", "wrist"]
TOPICS = [
    "joint_states",
    "joint_states_pot",
    "motors",
    "heater",
    "archived/tool_enc",
    "archived/tool_pot",
    "archived/tool_enc_defl",
    "archived/tool_pot_defl",
    "grapple/temperature",
]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> TinyIda:
    """A bundle that no test changes."""
    archive = TinyIda(tmp_path_factory.mktemp("ida") / "insight_ida")
    archive.write_all()
    return archive


@pytest.fixture(scope="module")
def messages(written: TinyIda) -> Messages:
    return messages_of(written.root)


@pytest.fixture
def empty(tmp_path: Path) -> TinyIda:
    return TinyIda(tmp_path / "bundle")


def expected_ns(index: int) -> int:
    return tiny.utc_ns(f"{tiny.START_S + index // 10}.{index % 10}")


def xyzw(quaternion: Any) -> list[float]:
    return [quaternion.x, quaternion.y, quaternion.z, quaternion.w]


def test_whole_archive_has_no_defects_and_every_row_plays_on_every_topic(written: TinyIda, messages: Messages) -> None:
    assert defects_of(written.root) == []
    expected = dict.fromkeys(TOPICS, 30) | {"wrench": 24, "tool": 2, "grapple/phase": 2, "arm/geometry": 1}
    expected |= {f"{joint}/{part}_temperature": 30 for joint in JOINTS for part in ("case", "rotor")}
    expected |= {f"status/{name}": 1 for name in ("joint_states", "joint_states_pot")}
    expected |= {f"status/{name}": 4 for name in ("via_joints", "via_pose", "target_joints", "target_pose")}
    actual = {topic: len(of_topic) for topic, of_topic in messages.items()}
    assert {topic: actual[topic] for topic in expected} == expected
    assert set(actual) == set(expected) | {"/diagnostics", "/tf_static"}


def test_stamps_are_clock_s_readings_as_utc_exactly(messages: Messages) -> None:
    for topic in TOPICS:
        assert [stamp for stamp, _ in messages[topic]] == [expected_ns(index) for index in range(30)]
    stamp = messages["joint_states"][7][1].header.stamp
    assert stamp.sec * 10**9 + stamp.nanosec == expected_ns(7)


def test_joints_carry_encoders_rates_and_torques(messages: Messages) -> None:
    _, message = messages["joint_states"][3]
    assert message.name == JOINTS
    np.testing.assert_allclose(message.position, [0.103, 0.203, 0.303, 0.403], atol=1e-12)
    np.testing.assert_allclose(message.velocity, [0.450003, 0.460003, 0.470003, 0.480003])
    np.testing.assert_allclose(message.effort, [49.003, 50.003, 51.003, 52.003])
    _, message = messages["joint_states_pot"][3]
    np.testing.assert_allclose(message.position, [0.1035, 0.2035, 0.3035, 0.4035], atol=1e-12)


def test_currents_are_amperes_and_voltages_volts(messages: Messages) -> None:
    _, message = messages["motors"][0]
    np.testing.assert_allclose(message.effort, [0.019, 0.020, 0.021, 0.022])
    np.testing.assert_allclose(message.velocity, [23, 24, 25, 26])
    assert messages["heater"][0][1].effort.tolist() == [0.0015]
    assert messages["elbow/rotor_temperature"][0][1].temperature == 16
    assert messages["shoulder_yaw/case_temperature"][0][1].temperature == 10


def test_archived_pose_points_down_by_th_in_heading_of_first_joint(messages: Messages) -> None:
    _, message = messages["archived/tool_enc"][0]
    assert message.header.frame_id == "payload"
    position = message.pose.position
    assert (position.x, position.y, position.z) == (0.29, 0.30, 0.31)
    axes = Rotation.from_quat(xyzw(message.pose.orientation)).as_matrix()
    down, yaw = 0.9740, 0.1
    expected = [np.cos(down) * np.cos(yaw), np.cos(down) * np.sin(yaw), np.sin(down)]
    np.testing.assert_allclose(axes[:, 2], expected, atol=1e-12)
    np.testing.assert_allclose(axes[:, 1], [np.sin(yaw), -np.cos(yaw), 0], atol=1e-12)


def test_orientation_of_blade_is_effector_s(empty: TinyIda) -> None:
    q, expected = (-0.6975, 0.1385, 0.7723, 2.3427), [-0.052558, 0.019111, 0.938330, 0.341189]
    th = q[1] + q[2] + q[3] - 1.570799947
    empty.write_motion(Motion(change=lambda row: row | {"enc1": str(q[0]), "th_enc": str(th)}))
    _, message = messages_of(empty.root, Selection(topics="archived/tool_enc$"))["archived/tool_enc"][0]
    np.testing.assert_allclose(xyzw(message.pose.orientation), expected, atol=2e-6)


def test_forces_are_vector_of_their_frame_and_row_marked_invalid_is_not_sent(
    written: TinyIda, messages: Messages
) -> None:
    assert [stamp for stamp, _ in messages["wrench"]] == [expected_ns(i) for i in range(30) if i % 5 != 4]
    force = messages["wrench"][1][1].wrench.force
    assert (force.x, force.y, force.z) == (53.001, -54.001, 55.001)
    assert messages["wrench"][0][1].header.frame_id == "tool_cylindrical"
    turned = messages_of(written.root, Selection(topics="wrench$"), force_sign=-1, tangential_sign=1)["wrench"][1][1]
    assert (turned.wrench.force.x, turned.wrench.force.y, turned.wrench.force.z) == (-53.001, -54.001, -55.001)


def test_tangential_force_points_along_wrist_s_axis_when_it_is_transformed(written: TinyIda) -> None:
    """Ft counts along the wrist's axis, y of the effector."""
    messages = messages_of(written.root, Selection(topics="wrench$|tf$", derived=True))
    stamp, wrench = messages["wrench"][1]
    edges = {
        edge.child_frame_id: Rotation.from_quat(xyzw(edge.transform.rotation))
        for at, message in messages["/tf"]
        for edge in message.transforms
        if at == stamp
    }
    in_payload = edges["tool_cylindrical"].apply([0, wrench.wrench.force.y, 0])
    effector = edges["link_1"] * edges["link_2"] * edges["link_3"] * edges["effector"]
    np.testing.assert_allclose(in_payload, 54.001 * effector.as_matrix()[:, 1], atol=1e-3)


def test_tool_and_phase_are_sent_first_and_when_they_change_before_joints(messages: Messages) -> None:
    assert [(stamp, message.data) for stamp, message in messages["tool"]] == [(expected_ns(0), 2), (expected_ns(15), 5)]
    phases = [(stamp, message.data) for stamp, message in messages["grapple/phase"]]
    assert phases == [(expected_ns(0), 2), (expected_ns(25), 3)]
    topics = list(messages)
    assert topics.index("tool") < topics.index("joint_states")


def statuses(message: Any) -> dict[str, Any]:
    return {status.name: status for status in message.status}


def values(status: Any) -> dict[str, str]:
    return {value.key: value.value for value in status.values}


def test_diagnostics_give_bits_of_each_joint_grapple_and_tool(messages: Messages) -> None:
    by_time = {stamp: statuses(message) for stamp, message in messages["/diagnostics"]}
    first, second = by_time[expected_ns(0)], by_time[expected_ns(10)]  # 0x0F001, 0x0E111
    yaw = {"motor": "on", "direction": "positive", "over current": "no", "brake": "off", "heater": "off"}
    assert values(first["ida: shoulder_yaw"]) == yaw
    assert values(first["ida: elbow"]) == yaw | {"motor": "off"}
    over = {"direction": "negative", "over current": "yes", "brake": "on"}
    assert values(second["ida: shoulder_yaw"]) == yaw | over
    assert (first["ida: shoulder_yaw"].level, second["ida: shoulder_yaw"].level) == (0, 1)
    assert values(first["ida: grapple"])["phase"] == "OK to open"
    assert values(first["ida: tool"]) == {"tool": "scoop", "number": "2"}
    assert expected_ns(15) in by_time and expected_ns(25) in by_time


def test_tools_2_and_3_may_be_numbered_as_in_flight(written: TinyIda) -> None:
    messages = messages_of(written.root, Selection(topics="diagnostics"), tool_numbering="flight")["/diagnostics"]
    first = next(statuses(message) for stamp, message in messages if stamp == expected_ns(0))
    assert first["ida: tool"].message == "idc"


@pytest.mark.parametrize("text", ["0x0000f001", "0X0000F001", '"61441"', " 61441", "61441.0"])
def test_motors_bits_may_be_hexadecimal(empty: TinyIda, text: str) -> None:
    empty.write_motion(Motion(change=lambda row: row | {"stat": text}))
    assert defects_of(empty.root) == []
    first = statuses(messages_of(empty.root, Selection(topics="diagnostics"))["/diagnostics"][0][1])
    assert values(first["ida: shoulder_yaw"])["motor"] == "on"
    assert values(first["ida: shoulder_pitch"])["brake"] == "off"


def test_bits_of_eight_digits_are_hexadecimal_without_mark(empty: TinyIda) -> None:
    empty.write_motion(Motion(change=lambda row: row | {"stat": "00001000"}))
    first = statuses(messages_of(empty.root, Selection(topics="diagnostics"))["/diagnostics"][0][1])
    assert [values(first[f"ida: {joint}"])["brake"] for joint in JOINTS] == ["off", "on", "on", "on"]


def test_seconds_of_no_clock_are_put_at_start_that_name_gives(empty: TinyIda) -> None:
    empty.write_motion(Motion(change=lambda row: row | {"time": f"{float(row['time']) - tiny.START_S + 42209.8:.1f}"}))
    messages = messages_of(empty.root, Selection(topics="joint_states$"))["joint_states"]
    assert [stamp for stamp, _ in messages] == [expected_ns(index) for index in range(30)]
    assert any("column 1 is not the spacecraft clock" in note for note in notes_of(empty.root))
    assert defects_of(empty.root) == []


def test_label_gives_start_where_name_does_not(empty: TinyIda) -> None:
    path = empty.write_motion(Motion(change=lambda row: row | {"time": f"{float(row['time']) - tiny.START_S:.1f}"}))
    text = path.with_suffix(".xml").read_text().replace(path.stem, "my_eu").replace(path.stem.lower(), "my_eu")
    path.with_name("my_eu.xml").write_text(text)
    path.rename(path.with_name("my_eu.csv"))
    path.with_suffix(".xml").unlink()
    assert messages_of(empty.root)["joint_states"][0][0] == expected_ns(0)
    path.with_name("my_eu.xml").unlink()
    (defect,) = (defect for defect in defects_of(empty.root) if defect.kind == "unreadable_table")
    assert "a name or label with the first one, got 0 s" in defect.message


def test_sols_and_local_mean_time_are_noted(written: TinyIda) -> None:
    notes = notes_of(written.root)
    assert "sols with data: 1 (209)" in notes
    (message,) = (note for note in notes if note.startswith("local mean time"))
    assert "from sol 209 14:28:11 to sol 209 14:28:15" in message  # a second and a half before 14:28:12
    assert any("the labels' UTC and that of their clock differ by 0.000 s" in note for note in notes)


def test_times_after_last_reading_of_clock_are_noted(empty: TinyIda) -> None:
    later = 70_000_000
    empty.write_motion(Motion(change=lambda row: row | {"time": f"{float(row['time']) + later:.1f}"}))
    assert any("after the last known reading of the lander's clock" in note for note in notes_of(empty.root))


def test_zip_file_its_label_and_folder_give_same(written: TinyIda, messages: Messages, tmp_path: Path) -> None:
    packed = tmp_path / "ida.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for path in written.root.rglob("*.*"):
            archive.write(path, path.relative_to(written.root))
    assert {topic: len(result) for topic, result in messages_of(packed).items()} == {
        topic: len(result) for topic, result in messages.items()
    }
    table = written.root / "data_raw_calibrated" / f"{Motion().stem}.csv"
    for path in (table, table.with_suffix(".xml"), table.parent):
        result = messages_of(path, Selection(topics="joint_states$"))["joint_states"]
        assert [stamp for stamp, _ in result] == [stamp for stamp, _ in messages["joint_states"]]
        assert np.array_equal(result[5][1].position, messages["joint_states"][5][1].position)


def test_product_plays_without_its_label(written: TinyIda, messages: Messages, tmp_path: Path) -> None:
    source = written.root / "data_raw_calibrated" / f"{Motion().stem}.csv"
    alone = tmp_path / source.name
    shutil.copy(source, alone)
    assert len(messages_of(alone)["joint_states"]) == 30
    assert len(messages_of(alone)["wrench"]) == 24


def test_tree_of_frames_has_lander_and_is_right_handed(messages: Messages) -> None:
    ((_, message),) = messages["/tf_static"]
    edges = {(item.header.frame_id, item.child_frame_id): item.transform for item in message.transforms}
    assert {("map", "local_level"), ("local_level", "payload"), ("payload", "lander")} <= set(edges)
    position = edges["payload", "lander"].translation
    np.testing.assert_allclose([position.x, position.y, position.z], [-0.775084, -0.283360, -0.956056], atol=1e-9)
    level = Rotation.from_quat(xyzw(edges["local_level", "payload"].rotation)).as_matrix()
    np.testing.assert_allclose(level[2], [0.04682533, -0.05112297, 0.99759402], atol=1e-7)
    enu = Rotation.from_quat(xyzw(edges["map", "local_level"].rotation)).as_matrix()
    np.testing.assert_allclose(enu @ [1, 0, 0], [0, 1, 0], atol=1e-7)
    np.testing.assert_allclose(enu @ [0, 0, 1], [0, 0, -1], atol=1e-7)


def test_archive_s_own_place_of_lander_counts(written: TinyIda, tmp_path: Path) -> None:
    shutil.copytree(written.root, tmp_path / "copy")
    path = tmp_path / "copy" / "data_ancillary" / "ida_sc_coordinates.csv"
    path.write_text("x_coord(mm),y_coord(mm),z_coord(mm)\n-776.084,-283.360,-956.056\n")
    ((_, message),) = messages_of(tmp_path / "copy", Selection(topics="joint_states$"))["/tf_static"]
    (position,) = (item.transform.translation for item in message.transforms if item.child_frame_id == "lander")
    assert position.x == pytest.approx(-0.776084, abs=1e-9)
    assert any("up to 1.000 mm from the paper's" in note for note in notes_of(tmp_path / "copy"))


def test_other_people_s_labels_and_tables_are_not_taken_for_it(tmp_path: Path, written: TinyIda) -> None:
    (tmp_path / "strange_eu.csv").write_text("a,b\n1,2\n")
    (tmp_path / "other.xml").write_text(
        "<Product_Observational><logical_identifier>urn:x:y</logical_identifier></Product_Observational>"
    )
    with pytest.raises(Exception, match="no dataset that fieldplay knows"):
        detect_spec(tmp_path)
    assert detect_spec(written.root).name == "ida"


def test_diagnostics_stand_outside_of_every_namespace(written: TinyIda) -> None:
    messages = messages_of(written.root, Selection(namespace="mars/arm", topics="diagnostics|tool$"))
    assert set(messages) == {"/diagnostics", "/mars/arm/tool", "/tf_static"}


def test_sample_has_no_defects_by_its_files_nor_by_its_numbers(tmp_path: Path) -> None:
    sample = sampled("ida", tmp_path, SampleOptions(seconds=12.0))
    with open_dataset(sample.archive) as archive:
        assert checking.check(archive, Selection()) == []
        assert any("the lengths of the arm are those of" in note for note in archive.notes)
