"""`fieldplay slam`: methods that behave well and badly, played by scripts, on a small bag; and KISS-ICP itself."""

import csv
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from scipy.spatial.transform import Rotation

import fieldplay
from fieldplay.benchmark.batch.batch_jobs import (
    jobs_of,
    previous_outcome,
    run_job,
    steps_of,
)
from fieldplay.benchmark.batch.batch_results import write_results
from fieldplay.benchmark.slam.methods import fill_template, load_method, method_files
from fieldplay.benchmark.slam.slam_run import (
    environment_of,
    is_ready,
    methods_folder,
    prepare_environment,
)
from fieldplay.benchmark.slam.slam_sensors import (
    Known,
    frames_of,
    sensors_of,
    template_values,
)
from fieldplay.cli.main import main
from fieldplay.core.errors import UserError
from fieldplay.core.resources import own_version
from fieldplay.recording import open_as_archive
from fieldplay.trajectories.trajectory import Trajectory, tum_lines
from fieldplay_testing.reference_messages import (
    START_NS,
    make,
    stamped_message,
    transform,
    transforms,
    write_bag,
)
from fieldplay_testing.reference_trajectories import headings
from fieldplay_testing.reference_trajectories import transforms as poses_of
from support.tiny_rosario import START, TinyRosario

SCANS, SCAN_NS, POINTS = 30, 10**8, 3000
ROOM_M = np.array([14.0, 10.0, 6.0])
CLOUD, IMU, ODOMETRY = "sensor_msgs/msg/PointCloud2", "sensor_msgs/msg/Imu", "nav_msgs/msg/Odometry"
LIDAR_XYZ, TURN = (0.3, 0.0, 0.8), (0.0, 0.0, float(np.sin(0.5)), float(np.cos(0.5)))  # turned by 1 rad about z
IMU_XYZ = (0.0, 0.2, 0.0)
Slam = Callable[..., tuple[int, list[dict[str, Any]], str]]


def way() -> Trajectory:
    """The body in the room, 3 m with a bend."""
    fraction = np.linspace(0.0, 1.0, SCANS)
    position = np.stack([4.0 + 3.0 * fraction, 4.0 + fraction**2, np.full(SCANS, 1.0)], axis=1)
    return Trajectory(
        stamp_ns=START_NS + np.arange(SCANS) * SCAN_NS, poses=poses_of(headings(0.5 * fraction), position)
    )


def base_t_lidar() -> np.ndarray:
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = Rotation.from_quat(TURN).as_matrix(), LIDAR_XYZ
    return matrix


def scan(room_t_lidar: np.ndarray, seed: int) -> np.ndarray:
    """Points (n, 3) of the walls as the lidar sees them."""
    random = np.random.default_rng(seed)
    points = random.uniform(0, 1, (POINTS, 3))
    axis = random.integers(0, 3, POINTS)
    points[np.arange(POINTS), axis] = random.integers(0, 2, POINTS)
    back = np.linalg.inv(room_t_lidar)
    return (points * ROOM_M) @ back[:3, :3].T + back[:3, 3]


def cloud(stamp_ns: int, points: np.ndarray) -> Any:
    fields = [
        make("sensor_msgs/msg/PointField", name=name, offset=4 * index, datatype=7, count=1)
        for index, name in enumerate("xyz")
    ]
    return stamped_message(
        CLOUD, stamp_ns, "lidar", height=1, width=len(points), fields=fields, point_step=12, is_dense=True,
        row_step=12 * len(points), data=np.frombuffer(points.astype(np.float32).tobytes(), np.uint8),
    )  # fmt: skip


@pytest.fixture(scope="module")
def bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    truth = way()
    edges = transform(START_NS, "base", "lidar", LIDAR_XYZ, TURN), transform(START_NS, "base", "imu", IMU_XYZ)
    messages = [("/tf_static", START_NS, transforms(*edges))]
    for row, (stamp_ns, pose) in enumerate(zip(truth.stamp_ns.tolist(), truth.poses, strict=True)):
        turn = Rotation.from_matrix(pose[:3, :3]).as_quat()
        by_name = {f"pose__pose__position__{axis}": value for axis, value in zip("xyz", pose[:3, 3], strict=True)}
        by_name |= {f"pose__pose__orientation__{axis}": value for axis, value in zip("xyzw", turn, strict=True)}
        messages.append(
            ("/truth", stamp_ns, stamped_message(ODOMETRY, stamp_ns, "map", child_frame_id="base", **by_name))
        )
        messages.append(("/points", stamp_ns, cloud(stamp_ns, scan(pose @ base_t_lidar(), row))))
        messages += [
            ("/imu", at, stamped_message(IMU, at, "imu")) for at in range(stamp_ns, stamp_ns + SCAN_NS, SCAN_NS // 4)
        ]
    return write_bag(tmp_path_factory.mktemp("slam") / "bag", messages)


@pytest.fixture
def write(tmp_path: Path, bag: Path) -> Callable[..., str]:
    """Writes a method that is a script, and files of poses that it may copy from its parent's folder."""
    lidar = way().of_frame(base_t_lidar())
    lines = list(tum_lines(lidar))
    (tmp_path / "good").write_text("".join(lines))
    (tmp_path / "half").write_text("".join(lines[: SCANS // 2]))
    (tmp_path / "some_nan").write_text("".join([lines[0], "0 nan nan nan 0 0 0 1\n", *lines[2:]]))
    (tmp_path / "all_nan").write_text("0 nan nan nan 0 0 0 1\n" * SCANS)

    def method(name: str, script: str, **more: Any) -> str:
        by_name = {
            "about": "a script",
            "version": "1",
            "needs": {"lidar": {"types": [CLOUD], "fields": ["x", "y", "z"], "least_hz": 5}},
            "command": ["sh", "-c", script.replace("HERE", str(tmp_path)).replace("BAG", str(bag))],
            "trajectory": {"path": "poses.tum", "form": "tum"},
            "frame": "{lidar.frame}",
            "scans": "lidar",
        }
        path = tmp_path / f"{name}.yaml"
        path.write_text(yaml.safe_dump({**by_name, **more}))
        return str(path)

    return method


@pytest.fixture
def slam(bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Slam:
    def run(*arguments: str) -> tuple[int, list[dict[str, Any]], str]:
        code = main(["slam", str(bag), *arguments, "--out", str(tmp_path / "out"), "--json"])
        output = capsys.readouterr()
        return code, json.loads(output.out), output.err

    return run


def test_methods_that_end_badly_are_reported_and_others_are_evaluated(
    write: Callable[..., str], slam: Slam, tmp_path: Path
) -> None:
    methods = {
        "good": "echo hello; cp HERE/good poses.tum",
        "crash": "cp HERE/good poses.tum; echo the map is too large; exit 3",
        "killed": "kill -SEGV $$",
        "nothing": "true",
        "two": "cp HERE/good poses1.tum; cp HERE/good poses2.tum",
        "all_nan": "cp HERE/all_nan poses.tum",
        "some_nan": "cp HERE/some_nan poses.tum",
        "half": "cp HERE/half poses.tum",
        "words": "printf 'no poses at all' > poses.tum",
    }
    more = {"two": {"trajectory": {"path": "poses?.tum", "form": "tum"}}}
    files = [write(name, script, **more.get(name, {})) for name, script in methods.items()]
    code, results, _ = slam(*files, write("absent", "", command=["no_such_program"]))
    assert code == 1
    by_name = {one["method"]: one for one in results}
    assert list(by_name) == [*methods, "absent"]
    errors = {name: one["error"] for name, one in by_name.items() if one["status"] == "failed"}
    assert errors == {
        "crash": "sh ended with code 3: the map is too large",
        "killed": "sh was ended by SIGSEGV",
        "nothing": "expected one file poses.tum of poses, got none",
        "two": "expected one file poses?.tum of poses, got poses1.tum and poses2.tum",
        "all_nan": "poses.tum, row 1: expected numbers, got '0 nan nan nan 0 0 0 1': no row holds a pose",
        "words": "poses.tum: no pose in it; expected a sample's truth.csv, EuRoC (ns, x, y, z, qw, qx, qy, qz), "
        "TUM (t x y z qx qy qz qw), KITTI (12 numbers)",
        "absent": "cannot start no_such_program: No such file or directory",
    }
    notes = {name: one["notes"] for name, one in by_name.items() if one["notes"]}
    assert notes == {
        "some_nan": ["poses.tum, row 2: no pose; 1 of 30 rows is left out", "29 poses for 30 scans"],
        "half": ["15 poses for 30 scans"],
    }
    good = by_name["good"]
    assert (good["scans"], good["poses"], good["pairs"], good["truth"]) == (30, 30, 30, "/truth")
    assert good["ate_rmse_m"] < 1e-6 and good["drift_percent"] < 1e-3 and good["seconds_per_s"] > 0
    assert [over["length_m"] for over in good["rpe"]] == [0.5, 1.0]
    folder = tmp_path / "out" / "good"
    assert sorted(path.name for path in folder.iterdir()) == ["log.txt", "result.json", "trajectory.tum"]
    assert "hello\n" in (folder / "log.txt").read_text()
    assert json.loads((folder / "result.json").read_text()) == good
    assert "the map is too large" in (tmp_path / "out" / "crash" / "log.txt").read_text()
    assert not [path for path in (tmp_path / "out").iterdir() if path.name.startswith(".")]


def test_method_that_hangs_is_ended_with_all_that_it_started(
    write: Callable[..., str], slam: Slam, tmp_path: Path
) -> None:
    hangs = write("hangs", "sleep 60 & echo $! > HERE/child; wait")
    code, (result,), _ = slam(hangs, "--time-limit", "0.4")
    assert code == 1
    assert result["error"] == "not done after 0.4 s (--time-limit)"
    assert 0.4 <= result["seconds"] < 60
    state = Path("/proc", (tmp_path / "child").read_text().strip(), "stat")
    assert not state.exists() or state.read_text().split()[2] == "Z"


def test_batch_has_row_for_each_method_and_gives_those_that_end_badly(
    write: Callable[..., str], bag: Path, tmp_path: Path
) -> None:
    scripts = {
        "crash": "echo too large; exit 3",
        "all_nan": "cp HERE/all_nan poses.tum",
        "hangs": "sleep 60",
        "half": "cp HERE/half poses.tum",
        "good": "cp HERE/good poses.tum",
    }
    files = [write(name, script) for name, script in scripts.items()]
    files.append(write("unfit", "true", needs={"lidar": {"types": [CLOUD], "fields": ["ring"]}}))
    jobs = jobs_of([bag], steps_of({"slam": ["--time-limit", "0.4"]}, files), tmp_path / "board")
    actual = [run_job(job, main, own_version()) for job in jobs]
    assert [outcome.is_well for outcome in actual] == [False, False, False, True, True, True]
    assert [previous_outcome(job) is not None for job in jobs] == [outcome.is_well for outcome in actual]
    write_results(tmp_path / "board", actual)
    with (tmp_path / "board" / "methods.csv").open() as file:
        rows = {row["method"]: row for row in csv.DictReader(file)}
    assert set(list(rows)[:2]) == {"good", "half"} and set(rows) == {*scripts, "unfit"}  # what has no error stands last
    assert {name: row["status"] for name, row in rows.items() if row["status"] != "failed"} == {
        "good": "done",
        "half": "done",
        "unfit": "skipped",
    }
    assert (rows["unfit"]["log"], rows["unfit"]["MB"]) == ("", "")
    assert rows["crash"]["told"] == "sh ended with code 3: too large"
    assert rows["hangs"]["told"] == "not done after 0.4 s (--time-limit)"
    assert (rows["half"]["poses"], rows["half"]["told"]) == ("15 of 30", "15 poses for 30 scans")
    assert (
        float(rows["good"]["ATE m"]) < 1e-6
        and float(rows["good"]["CPU s per s"]) >= 0
        and rows["good"]["over m"] == "1.0"
    )
    with (tmp_path / "board" / "results.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert row["failed"] == "slam_crash, slam_all_nan, slam_hangs"
    assert (row["crash ATE m"], row["good ATE m"]) == ("", rows["good"]["ATE m"])
    assert "too large" in (tmp_path / "board" / "bag" / "slam" / "crash" / "log.txt").read_text()
    page = (tmp_path / "board" / "index.html").read_text()
    assert 'href="bag/slam/crash/log.txt"' in page
    assert "crash ATE m" not in page  # a column without any number


def test_programs_next_to_method_are_ended_with_it(write: Callable[..., str], slam: Slam, tmp_path: Path) -> None:
    paired = [["sh", "-c", f"echo $$ > {tmp_path}/beside; exec sleep 60"]]
    waits = f"until [ -s {tmp_path}/beside ]; do :; done; cp {tmp_path}/good poses.tum"
    code, (result,), _ = slam(write("waits", waits, background=paired))
    assert code == 0 and result["ate_rmse_m"] < 1e-6
    state = Path("/proc", (tmp_path / "beside").read_text().strip(), "stat")
    assert not state.exists() or state.read_text().split()[2] == "Z"


def test_bag_holds_what_is_needed_and_files_are_given_extrinsics(
    write: Callable[..., str], slam: Slam, tmp_path: Path
) -> None:
    """The method's poses may be a topic of a bag, too."""
    method = write(
        "lio",
        "cp -r {bag} HERE/kept; cp -r BAG poses",
        needs={"lidar": {"types": [CLOUD]}, "imu": {"types": [IMU], "least_hz": 20}},
        files={"own.yaml": "imu: {imu.topic}\nmatrix: {lidar_T_imu.matrix}\nturn: {imu_T_lidar.xyzw_xyz}\n"},
        trajectory={"path": "poses", "topic": "/truth"},
        frame="base",
    )
    code, (result,), _ = slam(method, "--keep-work")
    assert code == 0 and result["ate_rmse_m"] < 1e-6 and result["poses"] == SCANS
    with fieldplay.open(tmp_path / "kept") as remaining:
        assert sorted(remaining.topics) == ["/imu", "/points", "/tf_static"]
    own = yaml.safe_load((tmp_path / "out" / "lio" / "work" / "own.yaml").read_text())
    base_t_imu = np.eye(4)
    base_t_imu[:3, 3] = IMU_XYZ
    lidar_t_imu = np.linalg.inv(base_t_lidar()) @ base_t_imu
    assert own["imu"] == "/imu" and np.array(own["matrix"]) == pytest.approx(lidar_t_imu, abs=1e-8)
    assert own["turn"] == pytest.approx([*TURN, *np.linalg.inv(lidar_t_imu)[:3, 3]], abs=1e-8)


def test_what_does_not_fit_is_reported_before_anything_runs(
    write: Callable[..., str], slam: Slam, tmp_path: Path, capsys: pytest.CaptureFixture[str], bag: Path
) -> None:
    eager = write("eager", "touch HERE/ran")
    unfit = {
        "no_camera": {"left": {"types": ["sensor_msgs/msg/Image"]}},
        "no_times": {"lidar": {"types": [CLOUD], "fields": ["time|t"]}},
        "too_slow": {"lidar": {"types": [CLOUD], "least_hz": 50}},
    }
    files = [
        write(name, "touch HERE/ran", needs=needs, scans=next(iter(needs)), frame="x") for name, needs in unfit.items()
    ]
    code, results, output = slam(*files)
    assert code == 1 and not (tmp_path / "ran").exists() and not (tmp_path / "out").exists()
    assert {one["status"] for one in results} == {"skipped"}
    for wrong in (
        "no_camera does not fit: nothing feeds the input left: expected a topic of sensor_msgs/msg/Image",
        "no_times does not fit: /points: expected points with time or t, got x, y, z",
        "too_slow does not fit: /points: expected 50 Hz or more, got 10 Hz (30 messages)",
    ):
        assert f"fieldplay: {wrong}" in output
    assert slam(eager, files[0], "--input", "lidar=points")[0] == 1 and (tmp_path / "ran").exists()
    for text, wrong in (
        (["nobody"], "there is no method 'nobody'; there are kiss_icp, "),
        ([write("other", "true"), "--truth", "gps"], "no topic 'gps' with poses"),
        ([eager], "exists; --overwrite replaces it"),
    ):
        with pytest.raises(SystemExit) as end:
            slam(*text)
        assert end.value.code == 2 and wrong in capsys.readouterr().err


def test_dataset_gives_which_topics_are_its_sensors(
    write: Callable[..., str], few_images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """AMEDS has two Imus, and no stereo pair; its INS is the truth."""
    needs = {"lidar": {"types": [CLOUD]}, "imu": {"types": [IMU]}}
    files = {"own.yaml": "topics: [{lidar.topic}, {imu.topic}]\nplace: {imu_T_lidar.xyz}\n"}
    method = write("lio", "printf '1 0 0 0 0 0 0 1\\n2 0 0 0 0 0 0 1\\n' > poses.tum", needs=needs, files=files)
    arguments = ["slam", str(few_images), method, "visual_odometry", "--out", str(tmp_path / "out"), "--keep-work"]
    assert main([*arguments, "--json"]) == 1
    out, err = capsys.readouterr()
    far, unfit = json.loads(out)
    own = yaml.safe_load((tmp_path / "out" / "lio" / "work" / "own.yaml").read_text())
    assert own["topics"] == ["/ameds/lidar/points", "/ameds/imu/data_raw"]
    assert own["place"] == pytest.approx([-0.549, 0.0, 1.389], abs=1e-6)
    assert unfit["status"] == "skipped" and "it needs leftImage" in err and "and ameds has none" in err
    assert far["error"].startswith("expected poses of both at the same times, got the estimate from 1.000 to 2.000 s")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"scans": "imu"}, "scans: expected one of lidar, got 'imu'"),
        ({"trajectory": {"path": "a"}}, "expected a form of a file, or a topic of a bag"),
        ({"wants": 1}, "wants: there is no such entry"),
        ({"files": {"a": "{lidar.fx}"}}, "there is no word {lidar.fx}; there are bag, lidar.frame"),
    ],
)
def test_description_that_is_wrong_is_refused(
    write: Callable[..., str], bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: Any, message: str
) -> None:
    arguments = ["slam", str(bag), write("wrong", "true", **more), "--out", str(tmp_path / "out")]
    assert main(arguments) == 1
    assert message in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_each_method_that_comes_along_is_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["slam", "--list", "--json"]) == 0
    listed = {one["method"]: one for one in json.loads(capsys.readouterr().out)}
    assert list(listed) == list(method_files())
    assert {"kiss_icp", "rko_lio", "visual_odometry", "rtabmap", "openvins", "orb_slam3"} <= set(listed)
    for name in ("rtabmap", "openvins", "orb_slam3"):
        assert "not tested" in listed[name]["untested"] and not listed[name]["installed"]
    assert listed["visual_odometry"]["installed"]


def test_environment_is_made_once_and_what_fails_is_reported(
    write: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a Python that notes what it is asked to do."""
    monkeypatch.setenv("FIELDPLAY_WS", str(tmp_path / "state"))
    monkeypatch.setenv("PYTHONPATH", "/of/ours")
    method = load_method(write("piped", "true", install={"pip": ["some==1.0"]}))
    folder = methods_folder() / "piped"
    stub = tmp_path / "python"
    stub.write_text(
        f'#!/bin/sh\nset -e\necho "$@" PYTHONPATH=$PYTHONPATH >> {tmp_path}/asked\n'
        f'case "$3" in venv) mkdir -p "$4/bin"; cp "$0" "$4/bin/python";; '
        f'pip) [ ! -e {tmp_path}/offline ] || {{ echo "ERROR: No matching distribution"; exit 1; }};; esac\n'
    )
    stub.chmod(stub.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr("sys.executable", str(stub))
    messages: list[str] = []
    (tmp_path / "offline").touch()
    with pytest.raises(UserError, match="piped: its environment could not be made: ERROR: No matching distribution"):
        prepare_environment(method, report=messages.append)
    assert not is_ready(method)
    (tmp_path / "offline").unlink()
    for _ in range(2):
        prepare_environment(method, report=messages.append)
    assert messages == [f"piped: making its environment in {folder}, once: pip install some==1.0"] * 2
    requested = (tmp_path / "asked").read_text().splitlines()
    assert [line.split()[2] for line in requested] == ["venv", "pip"] * 2
    assert all(line.endswith("PYTHONPATH=") for line in requested) and requested[-1].split()[-2] == "some==1.0"
    variables = environment_of(method)
    assert variables["PATH"].split(os.pathsep)[0] == str(folder / "bin") and "PYTHONPATH" not in variables


def test_kiss_icp_localises_in_room(write: Callable[..., str], slam: Slam) -> None:
    """The program itself, from our environment instead of one of its own."""
    text = yaml.safe_load(method_files()["kiss_icp"].read_text())
    del text["install"]
    path = Path(write("kiss", "", **{**text, "offset": 0.0}))
    code, (result,), err = slam(str(path), "--truth", "/truth")
    assert code == 0, result["error"]
    assert result["poses"] == SCANS and result["ate_rmse_m"] < 0.05 and not result["notes"]
    assert 20 < result["rss_mb"] < 2000 and result["cpu_s"] > 0.1
    assert "runs on 30 messages of /points, 2.9 s" in err


NOISE = {
    "accelerometer_noise_density": 6.367367e-4, "accelerometer_random_walk": 2.643259e-4,
    "gyroscope_noise_density": 2.857994e-4, "gyroscope_random_walk": 7.544790e-5,
}  # fmt: skip


@pytest.fixture(scope="module")
def rosario(tmp_path_factory: pytest.TempPathFactory) -> Path:
    archive = TinyRosario(tmp_path_factory.mktemp("rosario") / "sequence01", seconds=1)
    archive.write_all()
    return archive.root


def filled_files(name: str, root: Path, **parameters: Any) -> dict[str, str]:
    """The files and commands of a method as an archive fills them."""
    method = load_method(name)
    with open_as_archive([root], None, parameters) as data:
        spec = data.archive.spec
        by_name = {port: (topic,) for port, topic in spec.fusion.items()} | dict(spec.sensors)
        known = Known(requested={}, described=by_name, dataset=spec.name, noise=data.archive.imu_noise)
        sensors = sensors_of(data, method, known)
        arguments = template_values(method, sensors, frames_of(data)) | {"bag": "BAG", "work": "WORK"}
    texts = {"command": " ".join(word for arguments in (*method.background, method.command) for word in arguments)}
    return {
        key: fill_template(text, arguments) for key, text in {**method.files, **texts, "frame": method.frame}.items()
    }


def test_methods_of_rectified_pairs_get_such_images_and_their_numbers(rosario: Path) -> None:
    for name in ("orb_slam3", "rtabmap"):
        result = filled_files(name, rosario)
        for side in ("left", "right"):
            assert f"/rosario/stereo/{side}/image_rect" in result["command"]
        assert "image_raw" not in result["command"] and result["frame"] == "left_camera_rectified"
    assert (
        "left_camera_info_topic:=/rosario/stereo/left/camera_info_rect" in filled_files("rtabmap", rosario)["command"]
    )
    numbers = yaml.safe_load(filled_files("orb_slam3", rosario)["settings.yaml"].partition("\n")[2])
    assert numbers["Camera1.fx"] == pytest.approx(351.0571, abs=0.01)
    assert numbers["Camera1.cy"] == pytest.approx(201.7099, abs=0.01)
    assert numbers["Stereo.b"] == pytest.approx(0.118718648, abs=1e-6)


def test_noise_of_imu_is_dataset_s_where_it_gives_one(rosario: Path, bag: Path) -> None:
    for factor in (1.0, 10.0):
        text = filled_files("openvins", rosario, imu_noise_factor=factor)["kalibr_imu_chain.yaml"]
        imu = yaml.safe_load(text.partition("\n")[2])["imu0"]
        assert {name: imu[name] for name in NOISE} == pytest.approx({n: factor * v for n, v in NOISE.items()}, rel=1e-5)
    need = load_method("openvins").needs["imu"]
    assert need.noise is not None and need.noise.accelerometer_noise_density == 2.0e-3


def test_method_s_bag_has_rectified_images(rosario: Path, tmp_path: Path) -> None:
    image = {"types": ["sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage"], "camera": True, "raw": True,
               "rectified": True}  # fmt: skip
    text = {
        "about": "a script", "version": "1", "needs": {"leftImage": image, "rightImage": image},
        "files": {"numbers.txt": "{rightImage.baseline_m} {leftImage.distortion} {leftImage_T_rightImage.xyz}"},
        "command": ["sh", "-c", f"cp {tmp_path}/poses.tum ."],
        "trajectory": {"path": "poses.tum", "form": "tum"}, "frame": "{leftImage.frame}", "scans": "leftImage",
    }  # fmt: skip
    (tmp_path / "script.yaml").write_text(yaml.safe_dump(text))
    lines = [f"{START + 0.2 * row:.6f} {0.02 * row**2} 0 {0.4 * row} 0 0 0 1\n" for row in range(5)]
    (tmp_path / "poses.tum").write_text("".join(lines))
    arguments = ["--truth", "ground_truth/odom", "--out", str(tmp_path / "out"), "--keep-work"]
    assert main(["slam", str(rosario), str(tmp_path / "script.yaml"), *arguments]) == 0
    work_folder = tmp_path / "out" / "script" / "work"
    with fieldplay.open(work_folder / "bag") as data:
        assert {name.removeprefix("/rosario/stereo/") for name in data.topics} == {
            "/tf_static", "left/image_rect", "left/camera_info_rect", "right/image_rect", "right/camera_info_rect",
        }  # fmt: skip
    baseline, numbers = (work_folder / "numbers.txt").read_text().split(" ", 1)
    bends, position = numbers.split("] ")
    assert float(baseline) == pytest.approx(0.118718648, abs=1e-6) and bends == "[0, 0, 0, 0"
    assert [float(value) for value in position.strip("[]").split(",")] == pytest.approx([0.119, 0, 0], abs=0.002)


def test_bag_of_ours_still_knows_noise_of_imu_and_rectifies(
    rosario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    needs = load_method("openvins").needs
    text = {
        "about": "a script", "version": "1", "scans": "leftImage", "frame": "{leftImage.frame}",
        "needs": {
            "imu": {"types": list(needs["imu"].types), "noise": dict.fromkeys(NOISE, 1.0)},
            "leftImage": {"types": list(needs["leftImage"].types), "camera": True, "rectified": True},
        },
        "files": {"noise.txt": " ".join(f"{{imu.{name}}}" for name in NOISE) + " {leftImage.topic}"},
        "command": ["sh", "-c", f"cp noise.txt {tmp_path}/noise.txt"],
        "trajectory": {"path": "poses.tum", "form": "tum"},
    }  # fmt: skip
    (tmp_path / "script.yaml").write_text(yaml.safe_dump(text))
    bag = tmp_path / "bag"
    arguments = ["--set", "imu_noise_factor=10"]
    assert main(["convert", str(rosario), str(bag), *arguments]) == 0
    main(
        ["slam", str(bag), str(tmp_path / "script.yaml"), "--truth", "ground_truth/odom", "--out", str(tmp_path / "o")]
    )
    *noise, topic = (tmp_path / "noise.txt").read_text().split()
    assert [float(value) for value in noise] == pytest.approx([10 * value for value in NOISE.values()], rel=1e-5)
    assert topic == "/rosario/stereo/left/image_rect/compressed"
