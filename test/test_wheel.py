"""The wheel `fieldplay`, where there is neither ROS nor a workspace: built, installed, and used on a sample."""

import json
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BUILT_OF = ("LICENSE", "README.md", "config", "pyproject.toml", "requirements", "setup.cfg", "src", "urdf")
BUILD = "import setuptools.build_meta as b; b.build_sdist({0!r}); print(b.build_wheel({0!r}))"
REQUIRED = re.compile(r"(?P<name>[\w.-]+)[^;]*(?:;\s*(?P<marker>.*))?")
IN_ONE_PROCESS = """
import fieldplay
from fieldplay.cli.main import main
assert main(["sample", "ida", "sample", "--seconds", "2"]) == 0
assert main(["check", "sample"]) == 0
assert main(["report", "sample", "page.html"]) == 0
with fieldplay.open("sample") as data:
    print(*data.topics)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as `python -m build --no-isolation` does, of a copy: the build leaves files in the source."""
    source, out = tmp_path_factory.mktemp("source") / "fieldplay", tmp_path_factory.mktemp("dist")
    for name in BUILT_OF:
        position = ROOT / name
        if position.is_dir():
            left_out = shutil.ignore_patterns("__pycache__", "*.egg-info", "test")
            shutil.copytree(position, source / name, symlinks=True, ignore=left_out)
        else:
            source.mkdir(exist_ok=True)
            shutil.copy(position, source)
    built = run(source, sys.executable, "-W", "ignore", "-c", BUILD.format(str(out)))
    assert (out / "fieldplay-0.1.0.tar.gz").is_file()
    return out / built.splitlines()[-1]


@pytest.fixture(scope="module")
def place(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an environment `env` that has the wheel, and of all other libraries those that it asks for."""
    folder = tmp_path_factory.mktemp("elsewhere")
    venv.create(folder / "env", symlinks=True)
    run(folder, sys.executable, "-m", "pip", "--python", str(folder / "env"), "install", "--no-deps", "--no-index",
        "--no-compile", "--quiet", str(wheel))  # fmt: skip
    (packages,) = (folder / "env" / "lib").glob("python3*/site-packages")
    (wheel_info,) = packages.glob("fieldplay-*.dist-info")
    for result in libraries(Distribution.at(wheel_info)):
        for name in top_names(result):
            if not (packages / name).exists():
                (packages / name).symlink_to(str(result.locate_file(name)))
    return folder


def run(folder: Path, *command: str, code: int = 0) -> str:
    """What a command prints, which knows nothing of our environment; its last words where it is to fail."""
    clean = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "XDG_CACHE_HOME": str(folder)}
    result = subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True, check=False)
    assert result.returncode == code, result.stdout + result.stderr
    return result.stderr if code else result.stdout


def libraries(wanting: Distribution, known: set[str] | None = None) -> Iterator[Distribution]:
    """What a distribution requires, and what that requires, as far as it is here; extras are not asked for."""
    known = set() if known is None else known
    for line in wanting.requires or []:
        required = REQUIRED.match(line)
        assert required, line
        if "extra" in (required["marker"] or "") or required["name"].lower() in known:
            continue
        known.add(required["name"].lower())
        try:
            actual = distribution(required["name"])
        except PackageNotFoundError:  # for another Python, by its marker
            continue
        yield actual
        yield from libraries(actual, known)


def top_names(result: Distribution) -> set[str]:
    """What a distribution has in site-packages."""
    return {path.parts[0] for path in result.files or [] if path.parts[0] not in ("..", "__pycache__")}


def normalised(requirement: str) -> str:
    """A requirement without spaces and underscores, which releases of setuptools write in different ways."""
    return re.sub(r"\s+", "", requirement).replace("_", "-")


def test_wheel_has_every_package_and_description_and_asks_for_what_workspace_installs(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
        text = packed.read("fieldplay-0.1.0.dist-info/METADATA").decode()
    sources = {
        path.relative_to(package.parent).as_posix()
        for package in ROOT.glob("src/*/fieldplay*")
        if package.parent.name not in ("fieldplay_bringup", "fieldplay_ros", "fieldplay_testing")
        for path in package.rglob("*")
        if path.is_file()
        and path.suffix in (".py", ".yaml", ".css", ".html", ".typed")
        and (package.name, *path.relative_to(package).parts)[:2] != ("fieldplay", "data")
    }
    data = {
        f"fieldplay/data/{path.relative_to(ROOT).as_posix()}"
        for folder in ("config", "urdf")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and not path.is_symlink()
    }
    assert sources | data == {name for name in names if ".dist-info/" not in name and ".data/" not in name}
    listed = [line.split("#")[0].strip() for line in (ROOT / "requirements" / "libraries.txt").read_text().splitlines()]
    requested = [line for line in re.findall("^Requires-Dist: (.*)$", text, re.M) if "extra ==" not in line]
    assert sorted(map(normalised, requested)) == sorted(map(normalised, filter(None, listed)))
    assert re.findall("^Provides-Extra: (.*)$", text, re.M) == ["batch", "docs", "view"]


def test_its_version_is_that_of_packages() -> None:
    text = {re.findall("<version>(.*)</version>", path.read_text())[0] for path in ROOT.glob("src/*/package.xml")}
    assert text == {"0.1.0"}


def test_where_there_is_no_ros_sample_is_made_checked_drawn_and_converted(place: Path) -> None:
    python, command = (str(place / "env" / "bin" / name) for name in ("python", "fieldplay"))
    assert "No module named 'rclpy'" in run(place, python, "-c", "import rclpy", code=1)
    *_, lines = run(place, python, "-c", IN_ONE_PROCESS).splitlines()
    assert "/ida/joint_states" in lines.split()
    assert "<svg" in (place / "page.html").read_text()
    run(place, command, "convert", "sample", "bag")
    result = json.loads(run(place, command, "info", "bag", "--json"))
    assert {stream["topic"] for stream in result["streams"]} >= {"/ida/joint_states"}


def test_play_reports_what_it_needs(place: Path) -> None:
    result = run(place, str(place / "env" / "bin" / "fieldplay"), "play", "sample", code=2)
    assert "play needs ROS 2: No module named 'rclpy'" in result
