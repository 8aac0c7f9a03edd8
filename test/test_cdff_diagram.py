"""`fieldplay cdff diagram`: pictures of descriptions in SVG and PNG, and what is told beside them."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import cv2
import numpy as np
import pytest
from cdff_by_hand import Run, runner
from descriptions_by_hand import DFN, FORM_1, FORM_2

SVG = "{http://www.w3.org/2000/svg}"
GREEN, RED = (0x2F, 0x85, 0x5A), (0xC8, 0x1E, 0x1E)


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
    picture = cv2.imread(str(path))
    assert picture is not None
    return bool((picture == np.array(colour[::-1])).all(axis=2).any())


def test_the_svg_names_all_that_is_in_the_description(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out.svg"
    code, printed, err = run("diagram", written(tmp_path, FORM_2), out)
    assert (code, err) == (0, "")
    assert printed == f"{out}: DFPC TerrainFromStereo: Plain, 3 DFNs, 6 connections, no faults\n"
    words = words_of(out)
    assert "TerrainFromStereo: Plain" in words
    assert "Terrain cloud from a stereo pair & more <all of it>" in words
    assert {"undistort", "stereo", "assemble", "leftImage", "rightImage", "pointCloud"} <= set(words)
    assert "ImageUndistortion, on image" in words
    assert "getCloud(maxPoints: int) gives void: the last cloud" in words
    assert {"pictures", "points", "grey: not connected"} <= set(words)
    assert "not as published" not in words


def test_nothing_leaves_the_picture(run: Run, tmp_path: Path) -> None:
    run("diagram", written(tmp_path, FORM_2), tmp_path / "out.svg")
    root = ElementTree.parse(tmp_path / "out.svg").getroot()
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for frame in root.iter(f"{SVG}rect"):
        x, y, wide, tall = (float(frame.attrib[name]) for name in ("x", "y", "width", "height"))
        assert 0 <= x <= x + wide <= width
        assert 0 <= y <= y + tall <= height
    assert root.attrib["viewBox"] == f"0 0 {width:g} {height:g}"


def test_the_png_shows_the_same_in_twice_as_many_pixels(run: Run, tmp_path: Path) -> None:
    description = written(tmp_path, FORM_2)
    run("diagram", description, tmp_path / "out.svg")
    assert run("diagram", description, tmp_path / "out.png")[0] == 0
    root = ElementTree.parse(tmp_path / "out.svg").getroot()
    picture = cv2.imread(str(tmp_path / "out.png"))
    assert picture is not None
    assert picture.shape == (2 * int(root.attrib["height"]), 2 * int(root.attrib["width"]), 3)
    assert has_colour(tmp_path / "out.png", GREEN)
    assert not has_colour(tmp_path / "out.png", RED)


def test_what_is_wrong_is_told_with_its_line_and_drawn_in_red(run: Run, tmp_path: Path) -> None:
    description = written(tmp_path, FORM_2.replace("port: left}", "port: inLeft}"))
    code, printed, err = run("diagram", description, tmp_path / "out.png")
    assert (code, "1 fault" in printed) == (0, True)
    assert err == "fieldplay: terrain.yaml:26: StereoReconstruction (stereo) has no input inLeft: did you mean left?\n"
    assert has_colour(tmp_path / "out.png", RED)
    code, _, err = run("diagram", description, tmp_path / "strict.svg", "--strict")
    assert (code, "--strict: 1 fault; nothing is written" in err) == (1, True)
    assert not (tmp_path / "strict.svg").exists()


def test_an_implementation_is_chosen_by_its_name(run: Run, tmp_path: Path) -> None:
    description = written(tmp_path, FORM_1)
    assert run("diagram", description, tmp_path / "out.svg", "--implementation", "Other")[0] == 0
    assert "TerrainFromStereo: Other" in words_of(tmp_path / "out.svg")
    code, _, err = run("diagram", description, tmp_path / "no.svg", "--implementation", "None")
    assert (code, "has no implementation None; it has Plain, Other" in err) == (2, True)


def test_a_dfn_of_ones_own_is_drawn_and_may_be_used_in_a_chain(run: Run, tmp_path: Path) -> None:
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
def test_wrong_usage_ends_with_2(run: Run, tmp_path: Path, arguments: list[str], message: str) -> None:
    file = written(tmp_path, FORM_1)
    words = [word.replace("FILE", str(file)).replace("OUT", str(tmp_path / "out")) for word in arguments]
    code, out, err = run("diagram", *words)
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize("content", [b"", b"5", b"\xff\xfe\x00", b"name: [", b"name: a\ndoc: b\n"])
def test_what_is_no_description_ends_with_1(run: Run, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(content)
    code, _, err = run("diagram", path, tmp_path / "out.svg")
    assert (code, err.startswith("fieldplay: a.yaml")) == (1, True)
    assert not (tmp_path / "out.svg").exists()
