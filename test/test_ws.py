"""The script `ws`: what it builds on, which steps it takes when, and what it says when something is missing."""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
UNDERLAY = sorted(path.parent.name for path in ROOT.glob("underlay/*/package.xml"))
SOURCE = sorted(path.parent.name for path in ROOT.glob("src/*/package.xml"))
PATIENCE_S = 60
CLEAN_PATH = "/usr/local/bin:/usr/bin:/bin"

# Stands where Python stands: notes what it is asked to do, and does of it what the next step needs.
STUB_PYTHON = f"""#!/bin/sh
case "$1 $2" in
  "- wheels" | "-c "*) exec '{sys.executable}' "$@" ;;
  "--version ") echo Python 3.12.0 ;;
  "-m colcon") [ ! -e "$WS_TEST_LOG.fail" ] || exit 1 ;;
  "-m venv")
    for dir; do :; done
    mkdir -p "$dir/bin" "$dir/lib/python3.12/site-packages/ros_rcl.libs"
    cp "$0" "$dir/bin/python" ;;
esac
echo "$@" >> "$WS_TEST_LOG"
"""


def run(script: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The script in an environment of its own: no ROS, no virtual environment but what the test names."""
    clean = {"PATH": CLEAN_PATH, "HOME": os.environ.get("HOME", "/"), "FIELDPLAY_PYTHON": sys.executable}
    return subprocess.run(
        [str(script), *arguments], env={**clean, **environment},
        capture_output=True, text=True, check=False, cwd="/", timeout=PATIENCE_S,
    )  # fmt: skip


def plan(state: Path, **environment: str) -> dict[str, str]:
    result = run(ROOT / "ws", "setup", "--dry-run", FIELDPLAY_WS=str(state), **environment)
    assert result.returncode == 0, result.stderr
    return dict(line.split(": ", 1) for line in result.stdout.splitlines()) | {"said": result.stderr}


def fake_installation(prefix: Path, *packages: str) -> str:
    index = prefix / "share" / "ament_index" / "resource_index" / "packages"
    index.mkdir(parents=True)
    for package in packages:
        (index / package).touch()
    return str(prefix)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A small workspace, in a path with spaces, whose Python only notes what it is asked to do."""
    root = tmp_path / "a work space"
    shutil.copytree(ROOT / "requirements", root / "requirements")
    for name in ("ws", "colcon.meta", "underlay/repair_wheels.py"):
        (root / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    for package in ("underlay/below", "src/above"):
        module = root / package / Path(package).name
        module.mkdir(parents=True)
        (root / package / "package.xml").write_text("<package/>")
        (root / package / "setup.py").write_text("# setup")
        (module / "__init__.py").write_text("")
    stub = tmp_path / "python"
    stub.write_text(STUB_PYTHON)
    stub.chmod(0o755)
    return root


def steps_of_setup(workspace: Path) -> list[str]:
    """The steps that one more setup takes, as what it asked of Python."""
    log = workspace.parent / "log"
    log.write_text("")
    python = str(workspace.parent / "python")
    result = run(workspace / "ws", "setup", FIELDPLAY_PYTHON=python, WS_TEST_LOG=str(log))
    assert result.returncode == 0, result.stderr
    return [describe(line) for line in log.read_text().splitlines()]


def describe(line: str) -> str:
    if "--packages-select" in line:
        return "build " + line.split("--packages-select ")[1]
    return next(step for step in ("compileall", "venv", "pip install", "repair_wheels", "--version") if step in line)


def test_without_ros_it_builds_on_wheels_and_whole_underlay(tmp_path: Path) -> None:
    actual = plan(tmp_path)
    assert actual["base"] == "wheels"
    assert "ros.txt" in actual["requirements"]
    assert sorted(actual["packages"].split()) == sorted(UNDERLAY + SOURCE)


def test_wheels_of_kilted_are_taken_where_they_are_requested(tmp_path: Path) -> None:
    actual = plan(tmp_path, FIELDPLAY_DISTRO="kilted")
    assert (actual["base"], actual["state"]) == ("wheels", str(tmp_path / "wheels-kilted"))
    assert actual["requirements"].split()[-1] == "ros-kilted.txt"
    assert plan(tmp_path)["state"] == str(tmp_path / "wheels")
    refused = run(ROOT / "ws", "setup", "--dry-run", FIELDPLAY_WS=str(tmp_path), FIELDPLAY_DISTRO="foxy")
    assert refused.returncode == 1
    assert "FIELDPLAY_DISTRO: expected jazzy or kilted, got 'foxy'" in refused.stderr


def test_extra_is_requested_once_and_stays(tmp_path: Path, workspace: Path) -> None:
    python, log = str(workspace.parent / "python"), workspace.parent / "log"
    log.write_text("")
    result = run(workspace / "ws", "setup", "--with", "view", FIELDPLAY_PYTHON=python, WS_TEST_LOG=str(log))
    assert result.returncode == 0, result.stderr
    assert "requirements/view.txt" in log.read_text()
    assert run(workspace / "ws", "setup", "--dry-run").stdout.splitlines()[2].endswith(" view.txt")
    several = run(workspace / "ws", "setup", "--with", "view", "--with", "batch", FIELDPLAY_PYTHON=python,
                  WS_TEST_LOG=str(log))  # fmt: skip
    assert several.returncode == 0, several.stderr
    assert run(workspace / "ws", "setup", "--dry-run").stdout.splitlines()[2].endswith(" view.txt batch.txt")
    prefix = fake_installation(tmp_path / "opt", "rclpy")
    jazzy = {"AMENT_PREFIX_PATH": prefix, "ROS_DISTRO": "jazzy", "FIELDPLAY_WS": str(tmp_path / "state")}
    refused = run(workspace / "ws", "setup", "--with", "view", **jazzy)
    assert refused.returncode == 1
    assert "extras are for the wheels from PyPI alone" in refused.stderr


def test_oldest_versions_have_environment_of_their_own_without_ros(tmp_path: Path) -> None:
    prefix = fake_installation(tmp_path / "opt", "rclpy")
    environment = {"AMENT_PREFIX_PATH": prefix, "ROS_DISTRO": "jazzy", "FIELDPLAY_WS": str(tmp_path)}
    result = run(ROOT / "ws", "setup", "--oldest", "--dry-run", **environment)
    base, state, requirements, packages = result.stdout.splitlines()
    assert (base, state, packages) == ("base: oldest", f"state: {tmp_path}/oldest", "packages: ")
    assert requirements == "requirements: libraries.txt test.txt oldest.txt"


@pytest.mark.parametrize("distribution", ["jazzy", "kilted"])
def test_on_installation_it_builds_only_what_that_lacks(tmp_path: Path, distribution: str) -> None:
    provided = [name for name in UNDERLAY if name != "rosbag2_interfaces"]
    prefix = fake_installation(tmp_path / "opt ros", "rclpy", *provided)
    actual = plan(tmp_path / "state", AMENT_PREFIX_PATH=f"{tmp_path}/other:{prefix}", ROS_DISTRO=distribution)
    assert (actual["base"], actual["said"]) == (distribution, "")
    assert actual["requirements"] == "libraries.txt test.txt oldest.txt"
    assert sorted(actual["packages"].split()) == sorted(["rosbag2_interfaces", *SOURCE])


@pytest.mark.parametrize("distribution", ["humble", "rolling"])
def test_another_distribution_is_tried_and_reported_not_to_be_tested(tmp_path: Path, distribution: str) -> None:
    prefix = fake_installation(tmp_path / "ros", "rclpy", *UNDERLAY)
    actual = plan(tmp_path / "state", AMENT_PREFIX_PATH=prefix, ROS_DISTRO=distribution)
    assert actual["base"] == distribution
    assert f"'{distribution}' is sourced" in actual["said"] and "was not tested on this one" in actual["said"]
    assert actual["requirements"] == "libraries.txt test.txt oldest.txt"
    assert sorted(actual["packages"].split()) == SOURCE


def test_with_unknown_ros_sourced_reports_so_and_builds_on_wheels(tmp_path: Path) -> None:
    prefix = fake_installation(tmp_path / "ros", "rclpy", *UNDERLAY)
    actual = plan(tmp_path / "state", AMENT_PREFIX_PATH=prefix, ROS_DISTRO="foxy")
    assert actual["base"] == "wheels"
    assert "'foxy' is sourced" in actual["said"]


def test_its_own_environment_is_not_taken_for_installation(tmp_path: Path) -> None:
    venv = Path(fake_installation(tmp_path / "elsewhere" / "venv", "rclpy"))
    (venv / "pyvenv.cfg").touch()
    own = fake_installation(tmp_path / "state" / "wheels" / "install", "rclpy")
    actual = plan(tmp_path / "state", AMENT_PREFIX_PATH=f"{own}:{venv}", ROS_DISTRO="jazzy")
    assert actual["base"] == "wheels"


def test_second_setup_does_nothing(workspace: Path) -> None:
    first = steps_of_setup(workspace)
    assert first == ["--version", "venv", "pip install", "compileall", "repair_wheels", "build below above"]
    assert steps_of_setup(workspace) == []


def test_setup_within_its_own_environment_writes_whole_environment(workspace: Path) -> None:
    """As colcon's script does, which puts nothing before a variable that stands in it already."""
    steps_of_setup(workspace)
    (workspace / "src" / "above" / "above" / "later.py").write_text("")  # so that there is something to do
    install = workspace / ".ws" / "wheels" / "install"
    programs = install / "bin"
    programs.mkdir(parents=True)
    script = f'case ":$PATH:" in *":{programs}:"*) ;; *) export PATH="{programs}:$PATH" ;; esac\n'
    (install / "local_setup.bash").write_text(script)
    log, python = workspace.parent / "log", str(workspace.parent / "python")
    path = f"{programs}:{programs}:{os.environ['PATH']}"
    result = run(workspace / "ws", "setup", FIELDPLAY_PYTHON=python, WS_TEST_LOG=str(log), PATH=path)
    assert result.returncode == 0, result.stderr
    assert "export PATH=" + str(programs).replace(" ", "\\ ") + "${" in (install.parent / "setup.bash").read_text()


def test_nodes_are_found_by_this_machine_alone_unless_more_is_requested(workspace: Path) -> None:
    steps_of_setup(workspace)
    environment = {"FIELDPLAY_PYTHON": str(workspace.parent / "python"), "WS_TEST_LOG": str(workspace.parent / "log")}
    shown = ("exec", "sh", "-c", "echo $ROS_AUTOMATIC_DISCOVERY_RANGE")
    assert run(workspace / "ws", *shown, **environment).stdout == "LOCALHOST\n"
    environment["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "SUBNET"
    assert run(workspace / "ws", *shown, **environment).stdout == "SUBNET\n"


def test_what_is_set_up_is_found_while_another_setup_holds_lock(workspace: Path) -> None:
    steps_of_setup(workspace)
    environment = {"FIELDPLAY_PYTHON": str(workspace.parent / "python"), "WS_TEST_LOG": str(workspace.parent / "log")}
    with (workspace / ".ws" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = run(workspace / "ws", "exec", "echo", "at once", **environment)
    assert (result.returncode, result.stdout, result.stderr) == (0, "at once\n", "")


def test_changed_requirements_are_installed_and_nothing_is_built(workspace: Path) -> None:
    steps_of_setup(workspace)
    with (workspace / "requirements" / "libraries.txt").open("a") as file:
        file.write("six\n")
    assert steps_of_setup(workspace) == ["pip install", "compileall", "repair_wheels"]


@pytest.mark.parametrize("name", ["setup.py", "package.xml", "msg/New.msg", "above/new_module.py"])
def test_package_whose_files_changed_is_built_alone(workspace: Path, name: str) -> None:
    steps_of_setup(workspace)
    path = workspace / "src" / "above" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("changed")
    assert steps_of_setup(workspace) == ["build above"]


def test_changed_python_and_data_need_no_build_as_they_are_linked(workspace: Path) -> None:
    steps_of_setup(workspace)
    (workspace / "src" / "above" / "above" / "__init__.py").write_text("changed = True")
    (workspace / "src" / "above" / "data.yaml").write_text("changed: false")
    assert steps_of_setup(workspace) == ["build above"]
    (workspace / "src" / "above" / "data.yaml").write_text("changed: true")
    assert steps_of_setup(workspace) == []


def test_package_that_is_gone_makes_it_build_anew(workspace: Path) -> None:
    steps_of_setup(workspace)
    shutil.rmtree(workspace / "underlay" / "below")
    assert steps_of_setup(workspace) == ["build above"]


def test_build_that_failed_is_reported_and_tried_again(workspace: Path) -> None:
    environment = {"FIELDPLAY_PYTHON": str(workspace.parent / "python"), "WS_TEST_LOG": str(workspace.parent / "log")}
    switch = workspace.parent / "log.fail"
    switch.touch()
    result = run(workspace / "ws", "setup", **environment)
    assert result.returncode == 1
    assert "the build failed" in result.stderr
    assert "ready" not in result.stderr
    switch.unlink()
    assert steps_of_setup(workspace) == ["build below above"]


def test_workspace_that_moved_is_set_up_anew(workspace: Path) -> None:
    steps_of_setup(workspace)
    moved = workspace.rename(workspace.parent / "moved")
    assert steps_of_setup(moved)[1:3] == ["venv", "pip install"]


def test_environments_of_methods_are_requested_by_command(workspace: Path, tmp_path: Path) -> None:
    steps_of_setup(workspace)
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "fieldplay").write_text('#!/bin/sh\necho "asked: $*"\n')
    (programs / "fieldplay").chmod(0o755)
    python = str(workspace.parent / "python")
    own = {"PATH": f"{programs}:{CLEAN_PATH}", "FIELDPLAY_PYTHON": python, "WS_TEST_LOG": "/dev/null"}
    result = run(workspace / "ws", "setup", "--with", "slam", **own)
    assert (result.returncode, result.stdout) == (0, "asked: slam --install\n")
    (workspace / ".ws" / "methods").mkdir()
    assert run(workspace / "ws", "clean").returncode == 0
    assert not (workspace / ".ws").exists()


def test_clean_removes_what_setup_made(workspace: Path) -> None:
    steps_of_setup(workspace)
    assert (workspace / ".ws" / "wheels" / "venv").is_dir()
    assert run(workspace / "ws", "clean").returncode == 0
    assert not (workspace / ".ws").exists()


def refusal(script: Path, state: Path, **environment: str) -> str:
    result = run(script, "setup", FIELDPLAY_WS=str(state), **environment)
    assert result.returncode == 1
    assert result.stderr.startswith("ws: ")
    return result.stderr


def folder_of_tools(folder: Path, *without: str) -> Path:
    folder.mkdir()
    for directory in CLEAN_PATH.split(":"):
        for tool in Path(directory).iterdir():
            link = folder / tool.name
            if tool.name not in without and not link.is_symlink():
                link.symlink_to(tool)
    return folder


def test_missing_compiler_is_named_with_cure(tmp_path: Path) -> None:
    tools = folder_of_tools(tmp_path / "bin", "c++")
    output = refusal(ROOT / "ws", tmp_path / "state", PATH=str(tools))
    assert "no compiler ('c++')" in output
    assert "build-essential" in output


def python_with(path: Path, change: str) -> str:
    """A Python that runs a statement before the script it is given on standard input."""
    script = f"import sys, sysconfig; {change}; exec(sys.stdin.read())"
    path.write_text(f'#!/bin/sh\nshift\nexec "{sys.executable}" -c "{script}" "$@"\n')
    path.chmod(0o755)
    return str(path)


def test_missing_python_headers_are_named_with_cure(tmp_path: Path) -> None:
    python = python_with(tmp_path / "python3", "sysconfig.get_paths = lambda: dict(include='/none')")
    output = refusal(ROOT / "ws", tmp_path / "state", FIELDPLAY_PYTHON=python)
    assert "has no headers (/none/Python.h)" in output
    assert "-dev" in output


def test_python_that_is_too_old_or_absent_or_none_is_named(tmp_path: Path) -> None:
    old = python_with(tmp_path / "python3", "sys.version_info = (3, 9, 2)")
    assert "CPython 3.10 to 3.14 is needed" in refusal(ROOT / "ws", tmp_path, FIELDPLAY_PYTHON=old)
    assert "no-python is not found" in refusal(ROOT / "ws", tmp_path, FIELDPLAY_PYTHON="no-python")
    assert "/bin/true does not run" in refusal(ROOT / "ws", tmp_path, FIELDPLAY_PYTHON="/bin/true")


def test_full_disk_is_named_with_numbers(tmp_path: Path) -> None:
    tools = folder_of_tools(tmp_path / "bin", "df")
    (tools / "df").write_text("#!/bin/sh\necho header\necho disk 1000 900 12 99% /\n")
    (tools / "df").chmod(0o755)
    output = refusal(ROOT / "ws", tmp_path / "state", PATH=str(tools))
    assert "has 12 MB free" in output


def test_package_index_out_of_reach_is_named(tmp_path: Path) -> None:
    output = refusal(
        ROOT / "ws", tmp_path, PIP_CONFIG_FILE="/dev/null", PIP_INDEX_URL="http://127.0.0.1:9/simple", PIP_RETRIES="0"
    )
    assert "package index could not be reached" in output
    assert str(tmp_path / "wheels" / "log" / "pip.log") in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "usage: ./ws COMMAND"),
        (("fly",), "ws: error: expected setup, demo, test, exec, shell or clean, got 'fly'; see ./ws --help"),
        (("exec",), "ws: error: exec: expected a command; see"),
        (("setup", "now"), "ws: error: setup: expected --with EXTRA, --oldest or --dry-run, got 'now'; see"),
        (("setup", "--with"), "ws: error: setup --with: expected an extra: view, batch, docs or slam; see"),
        (("setup", "--with", "view", "--with", "fly"), "setup --with: expected view, batch, docs or slam, got 'fly'"),
        (("setup", "--oldest", "--with", "view"), "ws: error: setup: --oldest takes no extras; see"),
    ],
)
def test_usage_error_is_one_line_that_reports_what_was_expected(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    result = run(ROOT / "ws", *arguments, FIELDPLAY_WS=str(tmp_path))
    assert result.returncode == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1 or not arguments
    assert not list(tmp_path.iterdir())
