"""The sample of the lander's arm: its arm against the published numbers, its files against the published layout."""

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from fieldplay_samples.data import numbers_of
from fieldplay_samples.motion.rotations import quaternion_from_rotation, transform_points
from fieldplay_samples.robots.insight import (
    SoftArm,
    angles_to_reach,
    bent_pose,
    gravity_moments,
    lander_arm,
    rigid_pose,
)
from fieldplay_samples.write_sample import SampleOptions, write_sample
from fieldplay_samples.writers.ida.motion_table import below_ground_m

NUMBERS, SETS = numbers_of("ida"), numbers_of("ida_parameters")
NAIF = {"a": [0.0248, 0.9753, 0.8568], "d": [-0.0599, -0.1384]}
ATTACHED = np.array([0.0, -0.0409, 0.0])
GRAVITY = np.array([0.046825, -0.051123, 0.997594])
# angles, wrist with NAIF's and with the published lengths, turn of the hand (x y z w)
WRIST = [
    ([0, 0, 0, 0], [1.856900, 0.138400, -0.059899], [1.864262, 0.140838, -0.056455], [1, 0, 0, 0]),
    (
        [-0.829, -1.64, 0.23, 0],
        [0.165911, 0.023811, -1.878612],
        [0.171023, 0.021842, -1.877703],
        [0.697117, -0.306726, -0.593156, -0.260987],
    ),
    (
        [-0.6975, 0.1385, 0.7723, 2.3427],
        [1.250890, -0.867707, 0.751615],
        [1.257736, -0.870263, 0.756187],
        [-0.052558, 0.019111, 0.938330, 0.341189],
    ),
]


def arm(lengths: dict[str, list[float]]) -> SoftArm:
    return lander_arm({**NUMBERS["arm"], **lengths}, SETS, NUMBERS["gravity"])


@pytest.mark.parametrize(("angles", "naif", "published", "turn"), WRIST)
def test_wrist_pose_matches_archive_sources(
    angles: list[float], naif: list[float], published: list[float], turn: list[float]
) -> None:
    row = np.array([angles], float)
    for lengths, expected in ((NAIF, naif), ({}, published)):
        pose = rigid_pose(arm(lengths), row).effector[0]
        assert pose[:3, 3] == pytest.approx(expected, abs=1e-5)  # they print pi/2 as 1.570799947
        xyzw = quaternion_from_rotation(pose[None, :3, :3])[0]
        assert abs(xyzw @ turn) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("payload_kg", "moved_mm"), [(0.0, [-1.322685, -1.276053, 3.353218]), (8.9, [-11.015274, -9.387336, 21.164884])]
)
def test_arm_bends_by_its_compliances(payload_kg: float, moved_mm: list[float]) -> None:
    angles = np.array([[-0.12, -0.5, 1.51, 0.0]])
    rigid = rigid_pose(arm(NAIF), angles)
    attached = transform_points(rigid.effector, ATTACHED)
    bent = bent_pose(arm(NAIF), angles, np.array([payload_kg]), attached + 0.2993 * GRAVITY)
    assert (transform_points(bent.effector, ATTACHED) - attached)[0] * 1000 == pytest.approx(moved_mm, abs=1e-3)


def test_own_weight_deflects_joints() -> None:
    angles, none = np.array([[-0.12, -0.5, 1.51, 0.0]]), np.zeros(1)
    moments = gravity_moments(arm(NAIF), rigid_pose(arm(NAIF), angles), none, np.zeros((1, 3)))
    assert moments[0] == pytest.approx([-0.522639, 9.694968, 1.410635, 0.035327], abs=5e-6)


def test_inverse_kinematics_angles_reach_position() -> None:
    rng = np.random.default_rng(3)
    angles = np.column_stack([rng.uniform(low, high, 50) for low, high in ((-3, 1), (-1, 1), (0.1, 3), (0, 3))])
    offset = np.array([0.0779, 0.0, 0.1129])
    rigid = rigid_pose(arm({}), angles)
    tip = transform_points(rigid.effector, offset)
    away = np.hypot(tip[:, 0], tip[:, 1]) > 0.4  # nearer, the azimuth may be the other way round
    solution = angles_to_reach(arm({}), tip, angles[:, 1:].sum(axis=1), offset)
    assert away.sum() > 20
    assert transform_points(rigid_pose(arm({}), solution).effector, offset)[away] == pytest.approx(tip[away], abs=1e-9)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("ida") / "bundle"
    return write_sample("ida", out, SampleOptions(seconds=12.0)).path


def motion(bundle: Path, pattern: str) -> np.ndarray:
    (path,) = bundle.glob(f"data_raw_calibrated/{pattern}_eu.csv")
    return np.loadtxt(path, delimiter=",", skiprows=1)


def test_tables_match_their_labels(bundle: Path) -> None:
    space = {"pds": "http://pds.nasa.gov/pds4/pds/v1"}
    tables = sorted(bundle.glob("data_raw_calibrated/*_eu.csv"))
    assert len(tables) == 4
    for path in tables:
        label = ElementTree.parse(path.with_suffix(".xml"))
        (length,) = label.findall(".//pds:Header/pds:object_length", space)
        heading, rows = path.read_bytes()[: int(length.text)], path.read_bytes()[int(length.text) :]
        assert int(length.text) == 678
        assert heading.startswith(b"#time(s),elapsed_time(hr),enc1(rad)")
        assert heading.endswith(b"\r\n")
        assert {line.count(b",") for line in rows.splitlines()} == {57}
        (records,) = label.findall(".//pds:records", space)
        assert len(rows.splitlines()) == int(records.text)
        names = [field.text for field in label.findall(".//pds:Field_Delimited/pds:name", space)]
        assert [re.sub(r"\(.*", "", name).strip("#") for name in heading.decode().strip().split(",")] == names


def test_arm_presses_only_where_it_touches_ground(bundle: Path) -> None:
    rows = motion(bundle, "A0087_0209_*")
    z, force, tool = rows[:, 31], rows[:, 55], rows[:, 28]
    known = force > -99999
    touching = known & (z > NUMBERS["ground"]["z_m"] + 0.01) & (tool == 2)
    assert touching.any()
    assert force[touching] == pytest.approx(1500.0 * (z[touching] - NUMBERS["ground"]["z_m"]), abs=1.0)
    assert force[known & (z < NUMBERS["ground"]["z_m"])] == pytest.approx(0.0, abs=1.0)
    assert (~known).any()
    assert set(tool) == {0.0, 2.0}


def test_bent_tool_is_on_ground_at_contact(tmp_path: Path) -> None:
    settings = {"scene": "touch", "touches": 4}
    path = write_sample("ida", tmp_path / "touch", SampleOptions(seconds=25.0, settings=settings)).path
    with np.load(tmp_path / "touch.contacts.npz") as truth:
        tool, press, load_kg = (truth[name] for name in ("tool_m", "press_n", "load_kg"))
    assert len(tool) > 20 and 6.0 < press.max() < 12.0
    assert below_ground_m(path, tool) == pytest.approx(press / 8000.0, abs=1e-4)
    down = motion(path, "A0087_0420_*")[:, 55]
    assert down[:40] == pytest.approx(-float(load_kg) * 3.711 * 0.9976, abs=0.1), "the soil's weight, on the arm"
    assert down.max() == pytest.approx(press.max() - 2.22, abs=0.2)


def test_payload_weighs_on_arm(bundle: Path) -> None:
    rows = motion(bundle, "A0087_0022_*")
    sag_mm = (rows[:, 39] - rows[:, 31]) * 1000  # z of the bent arm and of the rigid one
    carries = rows[:, 57] == 3
    assert set(rows[:, 57]) == {2.0, 3.0}
    assert sag_mm[carries].min() > 2 * sag_mm[~carries].max()
    assert rows[:, 32] == pytest.approx(1.5014, abs=5e-5)


def test_history_has_300_blocks_and_ends_with_status(bundle: Path) -> None:
    (past,) = bundle.glob("data_ancillary/A0085_*_000_system_float.txt")
    (status,) = bundle.glob("data_ancillary/A0089_0420_*_006_arm_float.txt")
    blocks = re.split(r"\d+ points before latest \(index = \d+\):", past.read_text())
    assert len(blocks) == 301
    assert blocks[-1].strip() in status.read_text().replace("\r", "")


def test_parameter_file_has_all_sets(bundle: Path) -> None:
    (path,) = bundle.glob("data_ancillary/A0086_*_012.txt")
    assert path.read_text().count("Parameter Set: ") == 32


def test_same_seed_gives_same_bytes(bundle: Path, tmp_path: Path) -> None:
    again = write_sample("ida", tmp_path / "again", SampleOptions(seconds=12.0)).path
    names = sorted(path.relative_to(bundle) for path in bundle.rglob("*.*"))
    assert names == sorted(path.relative_to(again) for path in again.rglob("*.*"))
    assert all((bundle / name).read_bytes() == (again / name).read_bytes() for name in names)
