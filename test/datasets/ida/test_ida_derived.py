"""InSight's arm in batch: what `--derived` writes of a sample, and what `check` measures of it."""

import csv
import shutil
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rosbags.typesys import Stores, get_typestore

from fieldplay.datasets.archive import Archive
from fieldplay.datasets.ida.checks import reading_of
from fieldplay.datasets.registry import open_dataset
from fieldplay.kinematics.insight_arm import gravity_moments, tool_force_from_moments
from fieldplay.messages import records
from fieldplay.streams.stream import Stream
from fieldplay.topics.archive_topics import archive_topic_streams
from fieldplay.topics.selection import Selection
from fieldplay.topics.topic_checks import check_settings
from fieldplay_samples.write_sample import SampleOptions, write_sample
from fieldplay_testing.reference_messages import messages_of_span
from support.written import derived_messages, numbers

POSES = ("tcp", "tcp_pot", "tcp_deflected", "tcp_error")
TYPES = get_typestore(Stores.ROS2_JAZZY)
ROUNDED_M = 3e-4  # joints and places have four decimals


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("ida") / "bundle"
    write_sample("ida", root, SampleOptions(seconds=6, seed=3, workers=1))
    return root


@pytest.fixture
def archive(bundle: Path) -> Iterator[Archive]:
    with open_dataset(bundle) as opened:
        yield opened


def derived(archive: Archive, selection: Selection) -> dict[str, list[Any]]:
    """All messages of what is derived, by topic."""
    by_name = defaultdict(list)
    for feed in archive_topic_streams(archive, selection):
        if feed.stream == "derived":
            for index in range(len(feed.spans)):
                messages = messages_of_span(feed, index)
                by_name[feed.topic] += [TYPES.deserialize_cdr(data, feed.msgtype) for _, data in messages]
    return by_name


def places(messages: list[Any]) -> np.ndarray:
    return np.array(
        [[message.pose.position.x, message.pose.position.y, message.pose.position.z] for message in messages]
    )


def stamps(messages: list[Any]) -> np.ndarray:
    return np.array([message.header.stamp.sec * 10**9 + message.header.stamp.nanosec for message in messages])


def test_each_row_has_its_poses_which_are_sample_s_true_ones(bundle: Path, archive: Archive) -> None:
    result = derived(archive, Selection(derived=True))
    with Path(f"{bundle}.truth.csv").open() as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    truth = np.array([[float(row[name]) for name in ("tool_x_m", "tool_y_m", "tool_z_m")] for row in rows])
    times = np.array([int(row["stamp_ns"]) for row in rows])
    for topic in POSES:
        assert len(result[f"/ida/{topic}"]) == len(rows), topic
    bent = result["/ida/tcp_deflected"]
    np.testing.assert_allclose(stamps(bent), times, atol=2e6)
    assert np.linalg.norm(places(bent) - truth, axis=1).max() < 2 * ROUNDED_M
    straight = np.linalg.norm(places(result["/ida/tcp"]) - truth, axis=1)
    assert straight.min() > 1e-3 and straight.max() < 0.02
    errors = np.array([numbers(message.vector) for message in result["/ida/tcp_error"]])
    assert 0 < np.abs(errors).max() < ROUNDED_M


def test_arm_hangs_down_where_it_bends(archive: Archive) -> None:
    result = derived(archive, Selection(derived=True))
    sunk = (places(result["/ida/tcp_deflected"]) - places(result["/ida/tcp"])) @ [0.046825, -0.051123, 0.997594]
    assert (sunk > 0).all() and 1e-4 < sunk.max() < 0.05


def test_torques_and_gravity_give_archive_s_forces(archive: Archive) -> None:
    """Forces and torques have four decimals; the yaw axis, over which the stowed arm stands, says little of them."""
    (arm,) = archive.spec.derived
    reading, joints = reading_of(arm.settings, archive.streams), archive.streams["joint_states"]
    compared = 0
    for index in range(len(joints.spans)):
        rows, record, wrench = (
            reading.rows(joints.load(index)),
            joints.load(index),
            archive.streams["wrench"].load(index),
        )
        _, ours, theirs = np.intersect1d(rows.stamp_ns, wrench.stamp_ns, return_indices=True)
        for code in {0, 2} & set(rows.tools[ours].tolist()):
            chosen = rows.tools[ours] == code
            model, angles = reading.model(0), rows.angles[ours][chosen]
            gravity = gravity_moments(model.arm, model.stowed.masses, angles, payload_kg=np.zeros(len(angles)))
            tool_force = tool_force_from_moments(
                model.arm,
                model.arm.numbering[code],
                angles,
                moments=record.effort[ours][chosen] + gravity,
                powered=np.ones_like(angles, bool),
            )
            np.testing.assert_allclose(tool_force, wrench.force_n[theirs][chosen] * [1, -1, 1], atol=0.01)
            compared += len(tool_force)
    assert compared > 50


def test_computed_wrench_is_archived_one(archive: Archive) -> None:
    compared = 0
    for index in range(len(archive.streams["wrench"].spans)):
        theirs, ours = (archive.streams[name].load(index) for name in ("wrench", "wrench_computed"))
        np.testing.assert_array_equal(ours.stamp_ns, theirs.stamp_ns)
        far = np.abs(ours.force_n - theirs.force_n)
        assert (far < 0.2).all()  # the yaw axis magnifies what four decimals lose
        assert (far < 1e-3).sum() >= far.size / 2
        compared += len(ours)
    assert compared > 100
    check_settings(archive)
    assert any("Fr, Ft, Fz by torques (Appendix D): 0.000 N apart" in note for note in archive.notes)


def test_forces_that_torques_do_not_give_are_reported(bundle: Path, tmp_path: Path) -> None:
    root = tmp_path / "bundle"
    shutil.copytree(bundle, root)
    for path in root.rglob("*.txt"):
        if path.name.endswith("_012.txt"):
            path.write_text(path.read_text().replace("mass = 1.4944", "mass = 3.4944"))
    with open_dataset(root) as archive:
        check_settings(archive)
        (defect,) = (result for result in archive.defects.listed if result.kind == "force_mismatch")
    assert (defect.stream, Path(defect.file).suffix) == ("wrench_computed", ".csv")


def test_torque_constants_and_no_load_currents_are_measured(archive: Archive) -> None:
    check_settings(archive)
    matches = [note for note in archive.notes if "Ka is" in note]
    assert len(matches) >= 3 and all(note.startswith("measured: ") for note in matches)
    assert any("shoulder_pitch: Ka is 574.79" in note and "no-load current 51.0 mA" in note for note in matches)
    assert any("RA_TAU_PARAMS: the form of the no-load current's fit" in note for note in archive.notes)


def test_torque_constant_that_currents_do_not_fit_is_warning(bundle: Path, tmp_path: Path) -> None:
    root = tmp_path / "bundle"
    shutil.copytree(bundle, root)
    for path in root.rglob("*_012.txt"):
        path.write_text(path.read_text().replace("c_ka_0 = [ 468.72 574.79", "c_ka_0 = [ 468.72 287.4"))
    with open_dataset(root) as archive:
        check_settings(archive)
        (warning,) = (note for note in archive.warnings if "Ka is" in note)
    assert "shoulder_pitch: Ka is 574.79" in warning and "287.40 by RA_TAU_PARAMS2" in warning


def test_part_of_archive_knows_tool_that_was_chosen_before_it(bundle: Path, archive: Archive) -> None:
    whole, part = (derived(archive, Selection(derived=True, start_s=start)) for start in (0.0, 2.0))
    np.testing.assert_array_equal(places(part["/ida/tcp"]), places(whole["/ida/tcp"])[-len(part["/ida/tcp"]) :])


def test_frames_and_topics_take_their_prefix_and_namespace(archive: Archive) -> None:
    result = derived(archive, Selection(derived=True, frame_prefix="nsyt/", namespace="insight"))
    assert {f"/insight/{topic}" for topic in POSES} < set(result)
    edges = {edge.child_frame_id: edge.header.frame_id for edge in result["/tf"][0].transforms}
    assert edges["nsyt/link_1"] == "nsyt/payload" and edges["nsyt/scoop"] == "nsyt/effector"
    assert result["/insight/tcp"][0].header.frame_id == "nsyt/payload"


def test_parameter_of_dataset_is_setting_of_that_name(bundle: Path, archive: Archive) -> None:
    auto = places(derived(archive, Selection(derived=True))["/ida/tcp"])
    with open_dataset(bundle, parameters={"dh_set": "naif"}) as other:
        moved = np.linalg.norm(places(derived(other, Selection(derived=True))["/ida/tcp"]) - auto, axis=1)
    assert moved.min() > 0.004 and moved.max() < 0.015


def test_without_archive_s_own_numbers_settings_hold(archive: Archive) -> None:
    (arm,) = archive.spec.derived
    streams = tuple(name for name in arm.streams if name != "arm_geometry")
    archive.spec = replace(archive.spec, derived=(replace(arm, streams=streams),))
    del archive.streams["arm_geometry"]
    result = derived(archive, Selection(derived=True))
    errors = np.array([numbers(message.vector) for message in result["/ida/tcp_error"]])
    assert np.linalg.norm(errors, axis=1).min() > 0.004  # NAIF's lengths, the sample has those of the document


def test_what_converting_writes_is_in_order_of_time(bundle: Path, tmp_path: Path) -> None:
    result = derived_messages(bundle, tmp_path / "bag", [f"/ida/{topic}" for topic in POSES])
    for topic in POSES:
        assert (np.diff(stamps(result[f"/ida/{topic}"])) > 0).all()


def measured(archive: Archive) -> str:
    check_settings(archive)
    return "\n".join(note for note in archive.notes if note.startswith("measured:"))


def test_check_gives_how_well_each_tool_and_rotors_fit(archive: Archive) -> None:
    measurement = measured(archive)
    assert not archive.defects.total
    for line in (
        "the tools 2 and 3 are scoop and idc (table14), 0.",
        "lengths of auto 0.",
        "grapple by its joints, tool_enc: 0.",
        "scoop by its joints, tool_pot_defl: 0.",
        "rotor of wrist by its current: 0.00 deg C",
    ):
        assert line in measurement


@pytest.mark.parametrize(
    ("parameters", "kind", "message"),
    [
        ({"tool_numbering": "flight"}, "tool_numbering_mismatch", "fit tool_numbering=table14, chosen is flight"),
        ({"dh_set": "naif"}, "arm_lengths_mismatch", "the tools' positions fit dh_set=auto"),
        ({"dh_set": "naif"}, "pose_mismatch", "grapple by its joints, tool_enc: "),
    ],
)
def test_check_reports_choice_that_does_not_fit(
    bundle: Path, parameters: dict[str, Any], kind: str, message: str
) -> None:
    with open_dataset(bundle, parameters=parameters) as archive:
        measured(archive)
        matches = [defect for defect in archive.defects.listed if defect.kind == kind]
        assert message in "\n".join(defect.message for defect in matches)
        assert all(defect.file.endswith("eu.csv") for defect in matches)


def moved_stream(stream: Stream, by_m: list[float]) -> Any:
    """Poses that lie elsewhere."""

    def load(index: int) -> records.Pose:
        pose = stream.load(index)
        assert isinstance(pose, records.Pose)
        return replace(pose, position_m=pose.position_m + by_m)

    return SimpleNamespace(spans=stream.spans, load=load)


def test_check_gives_no_advice_on_lengths_where_none_fits(bundle: Path) -> None:
    with open_dataset(bundle, parameters={"dh_set": "naif"}) as archive:
        archive.streams["archived_tool_enc"] = moved_stream(archive.streams["archived_tool_enc"], [0.003, 0, 0])
        assert "none of them fits" in measured(archive)
        kinds = {defect.kind for defect in archive.defects.listed}
    assert "pose_mismatch" in kinds and "arm_lengths_mismatch" not in kinds


def test_check_settles_numbers_of_tools_before_lengths(bundle: Path) -> None:
    with open_dataset(bundle, parameters={"tool_numbering": "flight"}) as archive:
        measurement = measured(archive)
        assert "error of known tool positions by the arm lengths of auto 0." in measurement
        assert "arm_lengths_mismatch" not in {defect.kind for defect in archive.defects.listed}
    with open_dataset(bundle) as archive:
        archive.streams["archived_tool_enc"] = moved_stream(archive.streams["archived_tool_enc"], [0, 0, 2.0])
        assert "the tools 2 and 3 fit neither" in measured(archive)
        assert {defect.kind for defect in archive.defects.listed} == {"pose_mismatch"}


def test_check_reports_rotors_that_are_warmer_than_their_currents_make_them(archive: Archive) -> None:
    hot = {**archive.spec.constants["rotor"], "resistance_ohm": 42000}
    archive.spec = replace(archive.spec, constants={**archive.spec.constants, "rotor": hot})
    measured(archive)
    by_name = {defect.stream: defect for defect in archive.defects.listed if defect.kind == "rotor_mismatch"}
    assert by_name["elbow_rotor_temperature"].file.endswith("eu.csv")
