"""`fieldplay cdff diagram`: ends of connections, and streams of a log, that have different types."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from cdff_by_hand import Run, runner, states, write_log
from descriptions_by_hand import FORM_1, FORM_2
from test_cdff_diagram import RED, SVG, has_colour, words_of, written

FILTERING = """\
name: ImageFiltering
doc: gives points
input_ports: [{name: image, type: Frame, doc: picture}]
output_ports: [{name: image, type: asn1SccPointcloud, doc: points}]
"""
UNFIT = "undistort.image is Pointcloud, but stereo.left takes Frame"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


def test_an_input_of_another_type_than_its_dfn_takes_is_told_and_drawn_in_red(run: Run, tmp_path: Path) -> None:
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


def test_connections_beside_the_ports_are_compared_too(run: Run, tmp_path: Path) -> None:
    description = written(tmp_path, FORM_1.replace("asn1SccPointcloud", "asn1SccPose"))
    _, _, err = run("diagram", description, tmp_path / "out.svg")
    assert (
        err == "fieldplay: terrain.yaml:7: StereoReconstruction.pointcloud is Pointcloud, but pointCloud takes Pose\n"
    )


@pytest.mark.parametrize("spelling", ["", ", type: ''", ", type: frame", ", type: /base/samples/frame/Frame"])
def test_other_spellings_and_unknown_types_say_nothing(spelling: str, run: Run, tmp_path: Path) -> None:
    text = FORM_2.replace("{name: leftImage, type: asn1SccFrame", f"{{name: leftImage{spelling}")
    _, _, err = run("diagram", written(tmp_path, text), tmp_path / "out.svg")
    assert "takes" not in err


@pytest.mark.parametrize("name", ["ImageFiltering.yaml", "ImageFiltering_desc.yaml"])
def test_a_dfn_described_beside_the_chain_counts_before_the_published_one(name: str, run: Run, tmp_path: Path) -> None:
    description = written(tmp_path, FORM_2)
    written(tmp_path, FILTERING, name)
    assert UNFIT in run("diagram", description, tmp_path / "out.svg")[2]


def test_a_file_beside_the_chain_that_is_no_description_is_told(run: Run, tmp_path: Path) -> None:
    description = written(tmp_path, FORM_2)
    written(tmp_path, "5", "ImageFiltering.yaml")
    code, _, err = run("diagram", description, tmp_path / "out.svg")
    assert (code, err.count("\n")) == (0, 1)
    assert err.startswith("fieldplay: ImageFiltering.yaml: it cannot be used: ImageFiltering.yaml: expected a descrip")


def test_streams_of_a_log_feed_the_inputs_that_they_are_called_as(run: Run, tmp_path: Path) -> None:
    log = write_log(tmp_path / "a.msg", {"/unit/left/image": ("Frame", []), "/unit/right/image": states(2)})
    description = written(tmp_path, FORM_2)
    out = tmp_path / "out.svg"
    code, _, err = run("diagram", description, out, "--log", log)
    unfit = "/unit/right/image is RigidBodyState, but rightImage takes Frame"
    assert (code, err) == (0, f"fieldplay: terrain.yaml:5: {unfit}\n")
    words = words_of(out)
    assert {unfit, "by /unit/left/image: Frame", "by /unit/right/image: RigidBodyState", "of another type"} <= set(
        words
    )
    places = [tuple(each.attrib[name] for name in "xy") for each in ElementTree.parse(out).iter(f"{SVG}text")]
    assert len(set(places)) == len(places)  # no words upon others


def test_a_stream_feeds_the_input_that_the_user_names(run: Run, tmp_path: Path) -> None:
    log = write_log(tmp_path / "a.msg", {"/dgps.imu_pose": states(2)})
    command = ("diagram", written(tmp_path, FORM_2), tmp_path / "out.svg", "--overwrite", "--log", log)
    note = f"fieldplay: note: no stream of {log} is called as an input; --stream PORT=STREAM names one\n"
    assert run(*command)[2] == note
    err = run(*command, "--stream", "leftImage=dgps.imu_pose")[2]
    assert err == "fieldplay: terrain.yaml:4: /dgps.imu_pose is RigidBodyState, but leftImage takes Frame\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--stream", "leftImage=/a"], "--stream names a stream of a log: --log names that"),
        (["--log", "LOG", "--stream", "leftImage"], "--stream: expected PORT=STREAM, got 'leftImage'"),
        (["--log", "LOG", "--stream", "left=/a"], "TerrainFromStereo has no input left; it has leftImage, rightImage"),
        (["--log", "LOG", "--stream", "leftImage=/b"], "there is no stream /b; there are /a"),
        (["--log", "/no/such.msg"], "/no/such.msg: there is no such folder or file"),
    ],
)
def test_wrong_words_are_wrong_usage(words: list[str], message: str, run: Run, tmp_path: Path) -> None:
    log = write_log(tmp_path / "a.msg", {"/a": states(1)})
    own = [word.replace("LOG", str(log)) for word in words]
    code, _, err = run("diagram", written(tmp_path, FORM_2), tmp_path / "out.svg", *own)
    assert (code, message in err) == (2, True)
    assert not (tmp_path / "out.svg").exists()
