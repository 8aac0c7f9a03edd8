"""Diagrams of descriptions: what is drawn, what is told, and types at both ends of connections and of streams."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import cv2
import numpy as np
import pytest

from fieldplay_testing.reference_logs import (
    DFN,
    FORM_1,
    FORM_2,
    Run,
    runner,
    states,
    write_log,
)

SVG = "{http://www.w3.org/2000/svg}"
GREEN, RED = (0x2F, 0x85, 0x5A), (0xC8, 0x1E, 0x1E)
PIPELINES = Path(__file__).parents[2] / "config" / "dfpc"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


def written(folder: Path, text: str, name: str = "terrain.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def words_of(path: Path) -> list[str]:
    return [element.text or "" for element in ElementTree.parse(path).iter(f"{SVG}text")]


def has_colour(path: Path, colour: tuple[int, int, int]) -> bool:
    image = cv2.imread(str(path))
    assert image is not None
    return bool((image == np.array(colour[::-1])).all(axis=2).any())


def test_svg_names_all_that_is_in_description(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out.svg"
    code, printed, err = run("diagram", written(tmp_path, FORM_2), out)
    assert (code, err) == (0, "")
    assert printed == f"{out}: DFPC TerrainFromStereo: Plain, 3 DFNs, 6 connections, no faults\n"
    text = words_of(out)
    assert "TerrainFromStereo: Plain" in text
    assert "Terrain cloud from a stereo pair & more <all of it>" in text
    assert {"undistort", "stereo", "assemble", "leftImage", "rightImage", "pointCloud"} <= set(text)
    assert "ImageUndistortion, on image" in text
    assert "getCloud(maxPoints: int) gives void: the last cloud" in text
    assert {"pictures", "points", "grey: not connected"} <= set(text)
    assert "not as published" not in text


def test_nothing_leaves_image(run: Run, tmp_path: Path) -> None:
    run("diagram", written(tmp_path, FORM_2), tmp_path / "out.svg")
    root = ElementTree.parse(tmp_path / "out.svg").getroot()
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for frame in root.iter(f"{SVG}rect"):
        x, y, wide, tall = (float(frame.attrib[name]) for name in ("x", "y", "width", "height"))
        assert 0 <= x <= x + wide <= width
        assert 0 <= y <= y + tall <= height
    assert root.attrib["viewBox"] == f"0 0 {width:g} {height:g}"


def test_png_shows_same_in_twice_as_many_pixels(run: Run, tmp_path: Path) -> None:
    description = written(tmp_path, FORM_2)
    run("diagram", description, tmp_path / "out.svg")
    assert run("diagram", description, tmp_path / "out.png")[0] == 0
    root = ElementTree.parse(tmp_path / "out.svg").getroot()
    image = cv2.imread(str(tmp_path / "out.png"))
    assert image is not None
    assert image.shape == (2 * int(root.attrib["height"]), 2 * int(root.attrib["width"]), 3)
    assert has_colour(tmp_path / "out.png", GREEN)
    assert not has_colour(tmp_path / "out.png", RED)


def test_what_is_wrong_is_reported_with_its_line_and_drawn_in_red(run: Run, tmp_path: Path) -> None:
    description = written(tmp_path, FORM_2.replace("port: left}", "port: inLeft}"))
    code, printed, err = run("diagram", description, tmp_path / "out.png")
    assert (code, "1 fault" in printed) == (0, True)
    assert err == "fieldplay: terrain.yaml:26: StereoReconstruction (stereo) has no input inLeft: did you mean left?\n"
    assert has_colour(tmp_path / "out.png", RED)
    code, _, err = run("diagram", description, tmp_path / "strict.svg", "--strict")
    assert (code, "--strict: 1 fault; nothing is written" in err) == (1, True)
    assert not (tmp_path / "strict.svg").exists()


def test_implementation_is_chosen_by_its_name(run: Run, tmp_path: Path) -> None:
    description = written(tmp_path, FORM_1)
    assert run("diagram", description, tmp_path / "out.svg", "--implementation", "Other")[0] == 0
    assert "TerrainFromStereo: Other" in words_of(tmp_path / "out.svg")
    code, _, err = run("diagram", description, tmp_path / "no.svg", "--implementation", "None")
    assert (code, "has no implementation None; it has Plain, Other" in err) == (2, True)


def test_dfn_of_ones_own_is_drawn_and_may_be_used_in_chain(run: Run, tmp_path: Path) -> None:
    own = written(tmp_path, DFN, "edges.yaml")
    code, printed, _ = run("diagram", own, tmp_path / "dfn.svg")
    assert (code, "DFN EdgeFinder, no faults" in printed) == (0, True)
    chain = written(tmp_path, FORM_1.replace("ImageFiltering", "EdgeFinder"))
    assert "EdgeFinder is no published DFN" in run("diagram", chain, tmp_path / "a.svg")[2]
    assert run("diagram", chain, tmp_path / "b.svg", "--dfn", own)[2] == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["/no/such.yaml", "OUT.svg"], "there is no such folder or file"),
        (["FILE", "OUT.pdf"], "expected a name that ends in .svg or .png"),
        (["FILE", "FILE"], "expected a name that ends in .svg or .png"),
        (["FILE", "OUT.svg", "--dfn", "/no/such.yaml"], "/no/such.yaml: there is no such file"),
        (["FILE"], "required: OUT"),
    ],
)
def test_usage_error_exits_with_2(run: Run, tmp_path: Path, arguments: list[str], message: str) -> None:
    file = written(tmp_path, FORM_1)
    text = [word.replace("FILE", str(file)).replace("OUT", str(tmp_path / "out")) for word in arguments]
    code, out, err = run("diagram", *text)
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize("content", [b"", b"5", b"\xff\xfe\x00", b"name: [", b"name: a\ndoc: b\n"])
def test_file_that_is_no_description_exits_with_1(run: Run, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(content)
    code, _, err = run("diagram", path, tmp_path / "out.svg")
    assert (code, err.startswith("fieldplay: a.yaml")) == (1, True)
    assert not (tmp_path / "out.svg").exists()


FILTERING = """\
name: ImageFiltering
doc: gives points
input_ports: [{name: image, type: Frame, doc: picture}]
output_ports: [{name: image, type: asn1SccPointcloud, doc: points}]
"""
UNFIT = "undistort.image is Pointcloud, but stereo.left takes Frame"


def test_input_of_another_type_than_its_dfn_takes_is_reported_and_drawn_in_red(run: Run, tmp_path: Path) -> None:
    text = FORM_2.replace("leftImage, type: asn1SccFrame", "leftImage, type: asn1SccFramePair")
    description = written(tmp_path, text)
    code, printed, err = run("diagram", description, tmp_path / "out.svg")
    unfit = "leftImage is FramePair, but undistort.image takes Frame"
    assert (code, err) == (0, f"fieldplay: terrain.yaml:23: {unfit}\n")
    assert printed.endswith("6 connections, 1 fault\n")
    assert {unfit, "of another type"} <= set(words_of(tmp_path / "out.svg"))
    assert "not as published" not in words_of(tmp_path / "out.svg")
    assert run("diagram", description, tmp_path / "out.png")[0] == 0 and has_colour(tmp_path / "out.png", RED)
    assert run("diagram", description, tmp_path / "strict.svg", "--strict")[0] == 1


def test_connections_next_to_ports_are_compared_too(run: Run, tmp_path: Path) -> None:
    description = written(tmp_path, FORM_1.replace("asn1SccPointcloud", "asn1SccPose"))
    _, _, err = run("diagram", description, tmp_path / "out.svg")
    assert (
        err == "fieldplay: terrain.yaml:7: StereoReconstruction.pointcloud is Pointcloud, but pointCloud takes Pose\n"
    )


@pytest.mark.parametrize("spelling", ["", ", type: ''", ", type: frame", ", type: /base/samples/frame/Frame"])
def test_other_spellings_and_unknown_types_report_nothing(spelling: str, run: Run, tmp_path: Path) -> None:
    text = FORM_2.replace("{name: leftImage, type: asn1SccFrame", f"{{name: leftImage{spelling}")
    _, _, err = run("diagram", written(tmp_path, text), tmp_path / "out.svg")
    assert "takes" not in err


@pytest.mark.parametrize("name", ["ImageFiltering.yaml", "ImageFiltering_desc.yaml"])
def test_dfn_described_next_to_chain_counts_before_published_one(name: str, run: Run, tmp_path: Path) -> None:
    description = written(tmp_path, FORM_2)
    written(tmp_path, FILTERING, name)
    assert UNFIT in run("diagram", description, tmp_path / "out.svg")[2]


def test_file_next_to_chain_that_is_no_description_is_reported(run: Run, tmp_path: Path) -> None:
    description = written(tmp_path, FORM_2)
    written(tmp_path, "5", "ImageFiltering.yaml")
    code, _, err = run("diagram", description, tmp_path / "out.svg")
    assert (code, err.count("\n")) == (0, 1)
    assert err.startswith("fieldplay: ImageFiltering.yaml: it cannot be used: ImageFiltering.yaml: expected a descrip")


def test_streams_of_log_feed_inputs_that_they_are_called_as(run: Run, tmp_path: Path) -> None:
    log = write_log(tmp_path / "a.msg", {"/unit/left/image": ("Frame", []), "/unit/right/image": states(2)})
    description = written(tmp_path, FORM_2)
    out = tmp_path / "out.svg"
    code, _, err = run("diagram", description, out, "--log", log)
    unfit = "/unit/right/image is RigidBodyState, but rightImage takes Frame"
    assert (code, err) == (0, f"fieldplay: terrain.yaml:5: {unfit}\n")
    text = words_of(out)
    assert {unfit, "by /unit/left/image: Frame", "by /unit/right/image: RigidBodyState", "of another type"} <= set(text)
    positions = [tuple(each.attrib[name] for name in "xy") for each in ElementTree.parse(out).iter(f"{SVG}text")]
    assert len(set(positions)) == len(positions)  # no words upon others


def test_stream_feeds_input_that_user_names(run: Run, tmp_path: Path) -> None:
    log = write_log(tmp_path / "a.msg", {"/dgps.imu_pose": states(2)})
    command = ("diagram", written(tmp_path, FORM_2), tmp_path / "out.svg", "--overwrite", "--log", log)
    note = f"fieldplay: note: no stream of {log} is called as an input; --stream PORT=STREAM names one\n"
    assert run(*command)[2] == note
    err = run(*command, "--stream", "leftImage=dgps.imu_pose")[2]
    assert err == "fieldplay: terrain.yaml:4: /dgps.imu_pose is RigidBodyState, but leftImage takes Frame\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--stream", "leftImage=/a"], "--stream names a stream of a log: --log names that"),
        (["--log", "LOG", "--stream", "leftImage"], "--stream: expected PORT=STREAM, got 'leftImage'"),
        (["--log", "LOG", "--stream", "left=/a"], "TerrainFromStereo has no input left; it has leftImage, rightImage"),
        (["--log", "LOG", "--stream", "leftImage=/b"], "there is no stream /b; there are /a"),
        (["--log", "/no/such.msg"], "/no/such.msg: there is no such folder or file"),
    ],
)
def test_invalid_arguments_are_usage_errors(arguments: list[str], message: str, run: Run, tmp_path: Path) -> None:
    log = write_log(tmp_path / "a.msg", {"/a": states(1)})
    own = [word.replace("LOG", str(log)) for word in arguments]
    code, _, err = run("diagram", written(tmp_path, FORM_2), tmp_path / "out.svg", *own)
    assert (code, message in err) == (2, True)
    assert not (tmp_path / "out.svg").exists()


def test_what_run_measured_stands_on_steps(run: Run, tmp_path: Path) -> None:
    step = {"name": "stereo", "calls": 3, "failures": 1, "wall_s": {"mean": 0.0125}, "cpu_s": {"mean": 0.02}}
    idle = {"name": "assemble", "calls": 0, "failures": 0}
    stats = written(tmp_path, json.dumps({"steps": [step, idle]}), "stats.json")
    assert run("diagram", written(tmp_path, FORM_2), tmp_path / "out.svg", "--stats", stats)[::2] == (0, "")
    text = words_of(tmp_path / "out.svg")
    assert {"3 calls, 1 failed", "12.5 ms, CPU 20.0 ms", "no calls"} <= set(text)
    code, _, err = run("diagram", tmp_path / "terrain.yaml", tmp_path / "no.svg", "--stats", tmp_path / "terrain.yaml")
    assert (code, "expected statistics, as fieldplay fuse --stats writes them" in err) == (2, True)


@pytest.mark.parametrize("file", sorted(PIPELINES.glob("*.yaml")), ids=lambda file: file.stem)
def test_pipelines_of_workspace_are_drawn_without_issues(run: Run, tmp_path: Path, file: Path) -> None:
    code, printed, err = run("diagram", file, tmp_path / "out.svg")
    assert (code, "no faults" in printed, err) == (0, True, "")
