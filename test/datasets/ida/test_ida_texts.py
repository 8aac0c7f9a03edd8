"""IDA's text files: states, histories and parameters, whole and damaged."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags.typesys import Stores, get_typestore

from fieldplay.cli.main import main
from fieldplay.datasets.ida.calibration import sets_of_lines
from fieldplay.datasets.ida.ida_products import name_from_file, reading_ns
from fieldplay.datasets.registry import open_dataset
from fieldplay.io.key_values import lines_of_text, plain_key
from fieldplay.topics.archive_topics import archive_topic_streams
from fieldplay.topics.selection import Selection
from fieldplay_testing.reference_messages import messages_of_span
from support import tiny_ida as tiny
from support.ida_messages import (
    Messages,
    defects_of,
    messages_of,
    notes_of,
    places_of,
)
from support.tiny_ida import Motion, TinyIda

TYPES = get_typestore(Stores.ROS2_JAZZY)
STATUS, HISTORY, PARAMETERS = "006_arm_float.txt", "000_system_float.txt", "012.txt"
GEOMETRY = Selection(topics="geometry|joint_states$")


@pytest.fixture
def bundle(tmp_path: Path) -> TinyIda:
    return TinyIda(tmp_path / "bundle")


def statuses(result: Messages, name: str) -> list[tuple[int, Any]]:
    return [(at, status) for at, m in result["/diagnostics"] for status in m.status if status.name == f"ida: {name}"]


def values(status: Any) -> dict[str, str]:
    return {value.key: value.value for value in status.values}


def test_status_file_gives_joints_poses_and_diagnostics_at_its_times(bundle: TinyIda) -> None:
    bundle.write_text(89, STATUS, tiny.arm_status("615088547.25") + tiny.system_status("615088547.5"))
    messages = messages_of(bundle.root)
    ((stamp, joints),) = messages["status/joint_states"]
    assert stamp == tiny.utc_ns("615088547.25")
    assert joints.position.tolist() == [-0.1, -0.32, 1.01, 0.134]
    assert messages["status/joint_states_pot"][0][1].position.tolist() == [-0.1005, -0.3205, 1.0105, 0.1345]
    ((stamp, pose),) = messages["status/via_pose"]
    position = pose.pose.position
    assert (stamp, position.x, position.y, position.z) == (tiny.utc_ns("615088547.5"), 0.210, 0.036, -1.580)
    assert messages["status/target_joints"][0][1].position.tolist() == [0.026, -0.389, 1.378, 0.125]
    ((_, arm),) = statuses(messages, "arm status")
    ((_, system),) = statuses(messages, "system status")
    assert values(arm)["ra_status.mtr.pwr_on"] == "[ 1 0 0 0 ]"
    assert values(system)["sys_status.task_args"] == "23 RA_SEND_DATA"
    assert (arm.level, system.level, system.message) == (0, 0, "no fault")
    assert defects_of(bundle.root) == []


def test_faults_and_over_currents_raise_level(bundle: TinyIda) -> None:
    arm = tiny.arm_status("615088547.25", over_current="0 1 0 0")
    bundle.write_text(89, STATUS, arm + tiny.system_status("615088547.5", issue="0 40"))
    messages = messages_of(bundle.root)
    levels = [(s.level, s.message) for name in ("arm status", "system status") for _, s in statuses(messages, name)]
    assert levels == [(1, "mtr.over_current"), (2, "fault_status")]


@pytest.mark.parametrize(
    ("issue", "level", "message"),
    [
        ("0 4A", 2, "fault_status"),
        ("4A 0", 2, "fault_status"),
        ("0x0 0x00000100", 2, "fault_status"),
        ("0 E1", 2, "fault_status"),
        ("00 0", 0, "no fault"),
        ("0 ?", 1, "fault_status is not readable"),
    ],
)
def test_fault_codes_are_hexadecimal(bundle: TinyIda, issue: str, level: int, message: str) -> None:
    bundle.write_text(89, STATUS, tiny.system_status("615088547.5", issue=issue))
    ((_, system),) = statuses(messages_of(bundle.root), "system status")
    assert (system.level, system.message) == (level, message)


def test_several_blocks_in_file_are_distinguished_though_some_lack_keys(bundle: TinyIda) -> None:
    short = tiny.arm_status("615088549").replace("ra_status.ace.calib_OK = 1\n", "")
    blocks = [tiny.arm_status("615088547"), tiny.arm_status("615088548"), short, tiny.arm_status("615088550")]
    bundle.write_text(89, STATUS, "".join(blocks))
    stamps = [stamp for stamp, _ in messages_of(bundle.root)["status/joint_states"]]
    assert stamps == [tiny.utc_ns(str(615088547 + second)) for second in range(4)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\n", "\r\n"),
        ("\n", "\r"),
        ("_", " "),
        ("_", ""),
        ("-0.1 ", "- 0.1 "),
        ("ace.calib", "ace.ca1ib"),
        ("ra_status.ace.calib_OK = 1", "ra_status.ace.calib_OK = 1 \xb0C"),
        (" = ", "="),
        ("[ -0.1 -0.32", "[ -0.1\n   -0.32"),
        ("1.01 0.134", "l.0l 0.134"),
        ("[", ""),
    ],
)
def test_damages_of_text_versions_cost_nothing(bundle: TinyIda, old: str, new: str) -> None:
    text = tiny.arm_status("615088547.25")
    assert old in text
    bundle.write_text(89, STATUS, text.replace(old, new))
    assert defects_of(bundle.root) == []
    ((stamp, joints),) = messages_of(bundle.root)["status/joint_states"]
    assert (stamp, joints.position.tolist()) == (tiny.utc_ns("615088547.25"), [-0.1, -0.32, 1.01, 0.134])


def test_keys_without_their_prefix_are_understood(bundle: TinyIda) -> None:
    bundle.write_text(89, STATUS, tiny.arm_status("615088547.25").replace("ra_status.", ""))
    bundle.write_text(85, HISTORY, tiny.system_status("615088547.5").replace("sys_status.", ""))
    messages = messages_of(bundle.root)
    assert messages["status/joint_states"][0][0] == tiny.utc_ns("615088547.25")
    assert messages["status/via_pose"][0][0] == tiny.utc_ns("615088547.5")


@pytest.mark.parametrize(
    ("old", "new", "kind", "line"),
    [
        ("ra_status.time = 615088547.25\n", "", "implausible_time", 1),
        ("615088547.25", "yesterday", "implausible_time", 7),
        ("615088547.25", "12.5", "implausible_time", 7),
        ("[ -0.1 -0.32 1.01 0.134 ]", "[ -0.1 -0.32 ]", "not_a_number", 5),
        ("[ -0.1 -0.32 1.01 0.134 ]", "[ -0.1 -0.32 1.01 abc ]", "not_a_number", 5),
        ("ra_status.mtr.pwr_on = ", "\x00\x01garbage ", "not_key_value", 3),
    ],
)
def test_what_is_wrong_in_block_is_reported_with_its_line(
    bundle: TinyIda, old: str, new: str, kind: str, line: int
) -> None:
    text = tiny.arm_status("615088547.25")
    assert old in text
    path = bundle.write_text(89, STATUS, text.replace(old, new) + tiny.arm_status("615088548"))
    assert places_of(defects_of(bundle.root)) == [(kind, path.name, line)]
    messages = messages_of(bundle.root)
    assert messages["status/joint_states_pot"][-1][0] == tiny.utc_ns("615088548")


def test_history_counts_down_to_latest(bundle: TinyIda) -> None:
    bundle.write_text(85, HISTORY, tiny.history(range(299, -1, -1), latest_s=615089000.0))
    messages = messages_of(bundle.root)
    assert len(messages["status/via_joints"]) == len(statuses(messages, "system status")) == 300
    assert messages["status/via_joints"][0][0] == tiny.utc_ns("615088701")
    assert defects_of(bundle.root) == []


def test_points_that_history_lacks_are_reported(bundle: TinyIda) -> None:
    points = [299, 298, 295, 294, 293]
    path = bundle.write_text(85, HISTORY, tiny.history(points, latest_s=615089000.0))
    defects = defects_of(bundle.root)
    block = tiny.history([299], latest_s=615089000.0).count("\n")
    assert places_of(defects) == [("missing_points", path.name, 1 + position * block) for position in (2, 4)]
    assert "expected 297 points before the latest, got 295" in defects[0].message
    assert "its end 293 before" in defects[1].message
    assert len(messages_of(bundle.root)["status/via_joints"]) == 5


def test_state_that_several_files_hold_counts_once(bundle: TinyIda) -> None:
    bundle.write_text(89, STATUS, tiny.system_status("615088998"))
    bundle.write_text(85, HISTORY, tiny.history(range(9, -1, -1), latest_s=615089000.0))
    bundle.write_text(85, HISTORY, tiny.history(range(9, -1, -1), latest_s=615089004.0), start_s=615088600)
    stamps = [stamp for stamp, _ in messages_of(bundle.root)["status/via_joints"]]
    assert stamps == [tiny.utc_ns(str(second)) for second in range(615088991, 615089005)]
    assert any(note.endswith("counted once: 7") for note in notes_of(bundle.root))


def test_newest_parameters_before_data_stand_at_their_start_and_later_ones_at_their_time(
    bundle: TinyIda,
) -> None:
    bundle.write_motion(Motion())
    for start, length in ((614000000, "0.1"), (615000000, "0.029609"), (615088548, "0.3")):
        text = tiny.PARAMETERS.replace("615000000.500", f"{start}.500").replace("0.029609", length)
        bundle.write_text(86, PARAMETERS, text, start_s=start)
    rows = messages_of(bundle.root, GEOMETRY)["arm/geometry"]
    assert [stamp for stamp, _ in rows] == [tiny.utc_ns("615088547"), tiny.utc_ns("615088548.5")]
    assert [message.data[0] for _, message in rows] == [0.029609, 0.3]
    assert any(
        "_0209_615000000_" in n and "the lengths of the arm are those of 'sis'" in n for n in notes_of(bundle.root)
    )


def test_notes_describe_numbers_that_hold_at_first_row_of_motion(bundle: TinyIda) -> None:
    bundle.write_motion(Motion())
    bundle.write_text(89, STATUS, tiny.arm_status("602047160"), start_s=602047157)  # months before
    bundle.write_text(86, PARAMETERS, tiny.PARAMETERS)
    later = tiny.PARAMETERS.replace("615000000.500", "615088548.500").replace("0.029609", "0.3")
    path = bundle.write_text(86, PARAMETERS, later, start_s=615088548)
    notes = notes_of(bundle.root)
    assert any("the lengths of the arm are those of 'sis'" in note for note in notes)
    assert not any("no parameter file" in note or "naif" in note for note in notes)
    assert any(path.name in note and "holds from its own time on; its lengths are of neither" in note for note in notes)
    with open_dataset(bundle.root) as archive:
        assert archive.spec.constants["rotor"]["warmth_k_per_j"] == 0.2


def test_numbers_of_parameter_file_stand_in_their_order(bundle: TinyIda) -> None:
    bundle.write_text(86, PARAMETERS, tiny.PARAMETERS)
    ((_, message),) = messages_of(bundle.root)["arm/geometry"]
    data = message.data
    assert len(data) == 295
    np.testing.assert_array_equal(data[:8], [0.029609, 0.976664007, 0.857989013, 0, -0.056456, -0.140837997, 0, 0])
    np.testing.assert_array_equal(data[12:16], [-0.01501, 0, 0.105240002, 0])
    np.testing.assert_array_equal(data[24:28], [-0.560000002, -0.055, -0.150000006, 1.570799947])
    assert data[36] == 0.2993 and np.isnan(data[[16, 20, 28, 32, 37]]).all()
    np.testing.assert_array_equal(data[40:44], [3.711, 0.046825, -0.051123, 0.997594])
    assert np.isnan(data[44:48]).all()
    np.testing.assert_array_equal(data[48:52], [np.nan, np.nan, 1.4944, np.nan])
    np.testing.assert_array_equal(data[52 + 6 : 52 + 9], [0.481, 0.031, -0.017])
    third = data[64 + 18 : 64 + 27]
    np.testing.assert_array_equal(third.reshape(3, 3)[1], [3.94e-28, 2.52613e-4, -2.83e-24])
    assert np.isnan(data[64:82]).all() and np.isnan(data[91:288]).all()
    np.testing.assert_array_equal(data[288:], [np.nan, np.nan, np.nan, 1, 0, 0, 0])


def test_without_parameters_nothing_is_reported_for_arm_and_notes_report_whose_lengths_hold(bundle: TinyIda) -> None:
    bundle.write_motion(Motion())
    ((stamp, message),) = messages_of(bundle.root, GEOMETRY)["arm/geometry"]
    assert stamp == tiny.utc_ns("615088547") and np.isnan(message.data).all()
    assert any("the named set 'naif'" in note for note in notes_of(bundle.root))
    assert any("the named set 'sis', as dh_set says" in note for note in notes_of(bundle.root, dh_set="sis"))


@pytest.mark.parametrize(
    ("old", "new"),
    [("_", " "), ("\n", "\r\n"), ("[ -0.056456", "[ - 0.056456"), ("dh.alpha", "dh.a1pha"), ("[", ""), (" = ", "=")],
)
def test_parameters_in_damaged_print_are_same(bundle: TinyIda, old: str, new: str) -> None:
    bundle.write_text(86, PARAMETERS, tiny.PARAMETERS)
    expected = messages_of(bundle.root)["arm/geometry"][0][1].data
    assert old in tiny.PARAMETERS
    bundle.write_text(86, PARAMETERS, tiny.PARAMETERS.replace(old, new))
    assert defects_of(bundle.root) == []
    np.testing.assert_array_equal(messages_of(bundle.root)["arm/geometry"][0][1].data, expected)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("acc_g = 3.711", "acc_g = about 3.7", 12),
        ("gravity_params.acc_g = 3.711", "?!", 12),
        ("[ 1 0 0 0 ]", "[ 1 0 0 ö ]", 10),
    ],
)
def test_parameter_that_is_none_is_reported_with_its_line(bundle: TinyIda, old: str, new: str, line: int) -> None:
    path = bundle.write_text(86, PARAMETERS, tiny.PARAMETERS.replace(old, new))
    assert places_of(defects_of(bundle.root)) == [("not_a_parameter", path.name, line)]
    assert messages_of(bundle.root)["arm/geometry"][0][1].data[0] == 0.029609


def test_file_without_any_set_is_reported(bundle: TinyIda) -> None:
    bundle.write_motion(Motion())
    path = bundle.write_text(86, PARAMETERS, "nothing\n")
    assert places_of(defects_of(bundle.root)) == [("unreadable_parameters", path.name, None)]


def test_names_and_readings_of_clock_are_parsed() -> None:
    name = name_from_file("x/A0089_0062_602047157_602052923_190129195008_006_arm_float.txt")
    assert name is not None
    assert (name.apid, name.sol, name.start_s, name.end_s) == (89, 62, 602047157, 602052923)
    assert (name.tag, name.product) == ("190129195008", "006_arm_float")
    assert name_from_file("A0087_eu.csv") is None
    assert reading_ns("1/0615088547-32768") == 615088547_500000000
    assert reading_ns("615088547") == 615088547_000000000
    assert reading_ns("p") is None


def test_what_file_reports_of_joints_and_rotors_is_in_description(bundle: TinyIda) -> None:
    more = "Parameter Set: RA_JOINT_PARAMS\nq_min = [ -1 -2 -3 -4 ]\ngear_ratio = [ 1 2 3 4 ]\n"
    bundle.write_text(86, PARAMETERS, tiny.PARAMETERS + more)
    with open_dataset(bundle.root) as archive:
        constants = archive.spec.constants
    assert (constants["rotor"]["warmth_k_per_j"], constants["rotor"]["loss_w_per_k"]) == (0.2, 0.0885)
    assert constants["arm_limits"] == {"q_min_rad": [-1, -2, -3, -4], "q_max_rad": [1.4585, 1.307, 4.0478, 3.5887]}
    assert constants["encoder"]["gear_ratio"] == [1, 2, 3, 4]


CUT = "dh.alpha = [ 1.570799947 0 0 1.5"


@pytest.mark.parametrize("end", ["", "\r\n"])
def test_value_that_end_of_file_cuts_is_reported_and_not_used(bundle: TinyIda, end: str) -> None:
    path = bundle.write_text(86, PARAMETERS, tiny.PARAMETERS.partition("dh.alpha")[0] + CUT + end)
    (defect,) = defects_of(bundle.root)
    assert places_of([defect]) == [("not_a_parameter", path.name, 5)]
    assert "dh.alpha: expected ']' behind '[ 1.570799947 0 0 1.5', got the end of the file" in defect.message
    data = messages_of(bundle.root)["arm/geometry"][0][1].data
    assert np.isnan(data[8:12]).all() and data[0] == 0.029609


def test_bracket_that_is_lost_is_reported_and_numbers_count(bundle: TinyIda) -> None:
    path = bundle.write_text(86, PARAMETERS, tiny.PARAMETERS.replace("-0.140837997 0 0 ]", "-0.140837997 0 0"))
    assert places_of(defects_of(bundle.root)) == [("not_a_parameter", path.name, 4)]
    assert messages_of(bundle.root)["arm/geometry"][0][1].data[5] == -0.140837997


@pytest.mark.parametrize(
    ("old", "new", "line", "expected"),
    [
        ("0.857989013 0 ]", "0.857989013 ]", 3, "RA_ARM_PARAMS.dh.a: expected 4 numbers, got 3"),
        ("0 0 0.2993 0", "0 0.2993", 8, "dist_grapple: expected a vector whose third element is the distance, got 2"),
        ("= 3.711", "= UNKNOWN", 12, "RA_GRAVITY.gravity_params.acc_g: expected one number, got 'UNKNOWN'"),
        ("-4.83e-8 9.85e-27 1.019379e-3\n", "", 21, "link 3: vCf: expected 9 numbers, got 6"),
        ("[ 0.2 0.2 0.2 0.2 ]", "[ 0.2 0.2 ]", 25, "RA_THERMAL.CM_r: expected 4 numbers, got 2"),
    ],
)
def test_value_of_another_number_of_numbers_is_reported_and_not_used(
    bundle: TinyIda, old: str, new: str, line: int, expected: str
) -> None:
    assert old in tiny.PARAMETERS
    path = bundle.write_text(86, PARAMETERS, tiny.PARAMETERS.replace(old, new))
    (defect,) = defects_of(bundle.root)
    lost = sum(part.count("\n") for part in (old, new)) if line > 24 else 0
    assert places_of([defect]) == [("not_a_parameter", path.name, line - lost)]
    assert expected in defect.message and "it is not used" in defect.message


def test_third_element_of_distance_counts_and_others_must_be_zero(bundle: TinyIda) -> None:
    for vector, message in (("[ 0 0 0.35 0 ]", ""), ("[ 0 0 0.35 ]", ""), ("0.35", ""), ("[ 0 0.1 0.35 0 ]", "zeros")):
        bundle.write_text(86, PARAMETERS, tiny.PARAMETERS.replace("[ 0 0 0.2993 0 ]", vector))
        defects = [defect.message for defect in defects_of(bundle.root)]
        assert len(defects) == bool(message) and all(
            f"expected {message} except for the third" in text for text in defects
        )
        assert messages_of(bundle.root)["arm/geometry"][0][1].data[36] == 0.35


def test_gravity_is_read_with_and_without_name_of_its_group(bundle: TinyIda) -> None:
    for text in (tiny.PARAMETERS, tiny.PARAMETERS.replace("gravity_params.", "")):
        bundle.write_text(86, PARAMETERS, text.replace("= 3.711", "= 9.9"))
        data = messages_of(bundle.root)["arm/geometry"][0][1].data
        np.testing.assert_array_equal(data[40:44], [9.9, 0.046825, -0.051123, 0.997594])


def test_lines_that_repeat_names_of_columns_are_rows_of_table(bundle: TinyIda) -> None:
    path = bundle.write_text(86, PARAMETERS, tiny.PARAMETERS)
    sets = sets_of_lines(lines_of_text(path.read_bytes()))
    (table,) = sets[plain_key("RA_TASK_ALGO")].values()
    assert table.numbers is not None and table.numbers.tolist() == [[11, 3, 3], [18, 3, 3], [22, 1, 2]]
    assert main(["convert", str(bundle.root), str(bundle.root.with_name("bag")), "--strict"]) == 0


def test_last_number_without_line_end_counts_and_is_noted(bundle: TinyIda) -> None:
    bundle.write_text(86, PARAMETERS, tiny.PARAMETERS.partition("\ngravity_params.grav_vect")[0])
    assert defects_of(bundle.root) == []
    assert any(
        "line 12, 'gravity_params.acc_g = 3.711': the file ends in it without a line end" in n
        for n in notes_of(bundle.root)
    )


def test_what_parameter_file_does_not_give_is_noted(bundle: TinyIda) -> None:
    bundle.write_motion(Motion())
    text = tiny.PARAMETERS.replace("dh.a = [ 0.029609 0.976664007 0.857989013 0 ]\n", "")
    bundle.write_text(86, PARAMETERS, text, start_s=615000000)
    notes = "\n".join(notes_of(bundle.root))
    assert "the lengths of the arm are incomplete, not used" in notes
    assert "lengths of the arm: the named set 'naif'" in notes
    assert "of RA_ARM_PARAMS.dh.a, RA_ARM_PARAMS.x_blade_2," in notes


def test_state_that_lacks_bracket_or_is_cut_in_its_numbers_is_reported(bundle: TinyIda) -> None:
    whole = tiny.arm_status("615088547.25").replace("0.134 ]", "0.134")
    cut = tiny.arm_status("615088548.25").partition("ra_status.jnt.pot")[0].replace("0.134 ]\n", "0.1")
    path = bundle.write_text(89, STATUS, whole + cut)
    defects = defects_of(bundle.root)
    assert places_of(defects[:2]) == [("not_a_number", path.name, 5), ("not_a_number", path.name, 12)]
    assert "without ']'" in defects[0].message and "and the end of the file" in defects[1].message
    assert len(messages_of(bundle.root)["status/joint_states"]) == 1


@pytest.mark.parametrize("rest", ["", "ra_status.time", "ra_status.time = 61", "ra_status.time = "])
def test_last_state_without_its_time_has_end_that_name_gives(bundle: TinyIda, rest: str) -> None:
    text = tiny.arm_status("615088540") + tiny.arm_status("#").replace("ra_status.time = #\n", rest)
    path = bundle.write_text(89, STATUS, text)
    messages = messages_of(bundle.root)["status/joint_states"]
    assert [stamp for stamp, _ in messages] == [tiny.utc_ns("615088540"), tiny.utc_ns("615088547")]
    matches = [defect for defect in defects_of(bundle.root) if defect.kind == "implausible_time"]
    (row,) = (defect.row for defect in matches)
    assert row in (8, 14) and Path(matches[0].file).name == path.name
    assert "it is put at 615088547, where the file ends by its name" in matches[0].message


def test_last_state_without_its_time_is_left_out_where_name_cannot_give_it(bundle: TinyIda) -> None:
    text = tiny.arm_status("615088547.5") + tiny.arm_status("#").replace("ra_status.time = #\n", "")
    bundle.write_text(89, STATUS, text)
    assert len(messages_of(bundle.root)["status/joint_states"]) == 1
    (defect,) = defects_of(bundle.root)
    assert defect.kind == "implausible_time" and "the state is left out" in defect.message


def test_block_of_arm_and_system_without_any_time_has_end_that_name_gives(bundle: TinyIda) -> None:
    text = (tiny.arm_status("#") + tiny.system_status("#")).replace("ra_status.time = #\n", "")
    bundle.write_text(89, STATUS, text.replace("sys_status.time = #\n", ""))
    messages = messages_of(bundle.root)
    assert messages["status/joint_states"][0][0] == messages["status/via_pose"][0][0] == tiny.utc_ns("615088547")
    assert [defect.kind for defect in defects_of(bundle.root)] == ["implausible_time"] * 2


ON_DECK = """Parameter Set: PAYLOAD_COL_PARAMS
seis_q = [ 0 0 0.177944 0.984041 ]
seis_t = [ -0.408 -0.319 -0.334 ]
wts_q = [ 0 0 0 1 ]
wts_t = [ -0.996 -0.459 -0.261 ]
hp3_q = [ 0 0 -0.175796 0.984427 ]
hp3_t = [ -0.861 -0.008 -0.455 ]
"""


def static_edges(bundle: TinyIda, **parameters: Any) -> dict[str, Any]:
    with open_dataset(bundle.root, parameters=parameters) as archive:
        (feed,) = (feed for feed in archive_topic_streams(archive, Selection()) if feed.topic == "/tf_static")
        ((_, data),) = messages_of_span(feed, 0)
    return {edge.child_frame_id: edge for edge in TYPES.deserialize_cdr(data, feed.msgtype).transforms}


def test_what_stands_on_deck_has_its_static_frames(bundle: TinyIda) -> None:
    bundle.write_motion(Motion())
    bundle.write_text(86, PARAMETERS, tiny.PARAMETERS + ON_DECK)
    edges = static_edges(bundle)
    assert {edges[name].header.frame_id for name in ("seis", "wts", "hp3")} == {"payload"}
    at, turn = edges["seis"].transform.translation, edges["seis"].transform.rotation
    assert (at.x, at.y, at.z) == (-0.408, -0.319, -0.334)
    assert (turn.x, turn.y, turn.z, turn.w) == pytest.approx((0, 0, 0.177944, 0.984041), abs=1e-6)
    assert edges["hp3"].transform.rotation.z == pytest.approx(-0.175796, abs=1e-6)
    assert static_edges(bundle, deck_frames="lander")["wts"].header.frame_id == "lander"
    assert any("seis 0.334 m, wts 0.261 m, hp3 0.455 m" in note for note in notes_of(bundle.root))
    (warning,) = (n for n in notes_of(bundle.root, deck_frames="lander") if n.startswith("warning: heights of frames"))
    assert "seis 1.290 m" in warning and "--set deck_frames=payload" in warning


def test_parameter_file_after_first_motion_positions_deck_too_and_another_deck_is_warning(
    bundle: TinyIda,
) -> None:
    bundle.write_motion(Motion())
    later = (tiny.PARAMETERS + ON_DECK).replace("615000000.500", "615088548.500")
    bundle.write_text(86, PARAMETERS, later, start_s=615088548)
    assert {"seis", "wts", "hp3"} <= set(static_edges(bundle))
    bundle.write_text(86, PARAMETERS, tiny.PARAMETERS + ON_DECK.replace("-0.408", "-0.5"), start_s=615000000)
    assert static_edges(bundle)["seis"].transform.translation.x == -0.5
    assert any("places other things on the deck" in note for note in notes_of(bundle.root))


def test_quaternion_that_lost_number_or_its_norm_is_reported_and_not_used(bundle: TinyIda) -> None:
    bundle.write_motion(Motion())
    text = tiny.PARAMETERS + ON_DECK.replace("wts_q = [ 0 0 0 1 ]", "wts_q = [ 0 0 1 ]").replace("0.984427", "0.9")
    path = bundle.write_text(86, PARAMETERS, text)
    assert places_of(defects_of(bundle.root)) == [("not_a_parameter", path.name, row) for row in (29, 31)]
    assert set(static_edges(bundle)) & {"seis", "wts", "hp3"} == {"seis"}
    assert any("does not place wts, hp3 on the deck" in note for note in notes_of(bundle.root))


def test_arm_s_base_of_parameter_file_moves_tools(bundle: TinyIda) -> None:
    bundle.write_motion(Motion())
    bundle.write_text(86, PARAMETERS, tiny.PARAMETERS)
    selection = Selection(topics="tcp$", derived=True)
    before = messages_of(bundle.root, selection)["tcp"][0][1].pose.position
    moved = tiny.PARAMETERS.replace("RA_LANDER_TO_RA\n", "RA_LANDER_TO_RA\nframe.x = [ 0.5 0 -0.25 ]\n")
    bundle.write_text(86, PARAMETERS, moved)
    after = messages_of(bundle.root, selection)["tcp"][0][1].pose.position
    assert (after.x - before.x, after.y - before.y, after.z - before.z) == pytest.approx((0.5, 0, -0.25), abs=1e-12)
    assert any("RA_LANDER_TO_RA puts the arm's base at 0.5, 0, -0.25 m" in note for note in notes_of(bundle.root))


def test_stowed_and_unstowed_links_each_have_their_numbers(bundle: TinyIda) -> None:
    more = "".join(
        f"Parameter Set: RA_DEFL_LINK_{name}\nmass = {mass}\n"
        for name, mass in (("3_STOWED", 2.5), ("4_STOWED", 0.1), ("4_UNSTOWED", 0.7))
    )
    bundle.write_text(86, PARAMETERS, tiny.PARAMETERS + more)
    data = messages_of(bundle.root)["arm/geometry"][0][1].data
    np.testing.assert_array_equal(data[48:52], [np.nan, np.nan, 1.4944, 0.1])
    np.testing.assert_array_equal(data[208:210], [2.5, 0.7])


def test_all_parameters_and_what_changes_between_uploads_are_shown(
    bundle: TinyIda, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle.write_text(86, PARAMETERS, tiny.PARAMETERS)
    later = tiny.PARAMETERS.replace("615000000.500", "615088548.500").replace("0.029609", "0.3").replace("dh.d", "dh d")
    path = bundle.write_text(86, PARAMETERS, later.replace("CM_r = [ 0.2 0.2 0.2 0.2 ]\n", ""), start_s=615088548)
    assert main(["info", str(bundle.root), "--parameters"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(not line.startswith(" ") for line in lines) == 2
    assert {line.strip() for line in lines if line.startswith("  RA_")} == {
        "RA_ARM_PARAMS", "RA_LANDER_TO_RA", "RA_GRAVITY", "RA_TASK_ALGO", "RA_DEFL_LINK_3U", "RA_THERMAL",
    }  # fmt: skip
    assert "    [op_code algo_code delta_via_code] = [ 11 3 3 ] [ 18 3 3 ] [ 22 1 2 ]" in lines
    changes = lines[lines.index("  2 changes") + 1 :]
    assert changes[0].startswith("    RA_ARM_PARAMS dh.a = [ 0.3 ") and ", before [ 0.029609 " in changes[0]
    assert changes[1] == "    RA_THERMAL CM_r = (none), before [ 0.2 0.2 0.2 0.2 ]"
    assert main(["info", str(bundle.root), "--parameters", "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["parameters"]
    assert first["changes"] == [] and first["sets"]["RA_GRAVITY"]["gravity_params.acc_g"] == "3.711"
    assert second["stamp_ns"] == tiny.utc_ns("615088548.5") and second["file"].endswith(path.name)
    assert [(change["set"], change["key"]) for change in second["changes"]] == [
        ("RA_ARM_PARAMS", "dh.a"),
        ("RA_THERMAL", "CM_r"),
    ]


def test_archive_without_parameter_files_reports_it(bundle: TinyIda, capsys: pytest.CaptureFixture[str]) -> None:
    bundle.write_motion(Motion())
    assert main(["info", str(bundle.root), "--parameters"]) == 1
    assert "no parameter files" in capsys.readouterr().out
