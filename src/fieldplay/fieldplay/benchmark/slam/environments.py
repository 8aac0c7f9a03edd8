"""The environments of methods: one of Python for each below .ws/methods, as they pin libraries differently."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from fieldplay.benchmark.slam.methods import Installation, Method
from fieldplay.core.errors import UserError

READY, LOG = "ready", "install.log"
OURS = (
    "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH",
    "COLCON_PREFIX_PATH", "PKG_CONFIG_PATH", "ROS_DISTRO", "ROS_VERSION", "ROS_PYTHON_VERSION",
)  # fmt: skip


def methods_folder() -> Path:
    """Where the environments are: in the workspace's state, or in the user's cache where there is no workspace."""
    state, root = os.environ.get("FIELDPLAY_WS"), os.environ.get("FIELDPLAY_ROOT")
    if not (state or root):
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "fieldplay", "methods")
    return Path(state) / "methods" if state else Path(str(root), ".ws", "methods")


def lacking(install: Installation) -> str:
    """What of the machine a method lacks, in words; empty where nothing."""
    prefixes = [Path(prefix) for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix]
    index = Path("share", "ament_index", "resource_index", "packages")
    missing = [
        f"the ROS 2 package {name}"
        for name in install.ros_packages
        if not any((prefix / index / name).exists() for prefix in prefixes)
    ] + [f"the program {name}" for name in install.programs if shutil.which(name) is None]
    told = f"; {install.told}" if install.told else ""
    return f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed{told}" if missing else ""


def is_ready(method: Method) -> bool:
    """Whether nothing has to be installed before it runs."""
    if not method.install.pip:
        return not lacking(method.install)
    ready = methods_folder() / method.name / READY
    return ready.is_file() and ready.read_text() == _print(method)


def provide(method: Method, *, tell: Callable[[str], None]) -> None:
    """Make the method's environment where it is not there; UserError says what failed."""
    missing = lacking(method.install)
    if missing:
        raise UserError(f"{method.name}: {missing}")
    if is_ready(method):
        return
    folder = methods_folder() / method.name
    with _alone(folder):
        if is_ready(method):
            return
        tell(f"{method.name}: making its environment in {folder}, once: pip install {' '.join(method.install.pip)}")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        python = folder / "bin" / "python"
        pip = ["-I", "-m", "pip", "install", "--no-input", "--disable-pip-version-check", *method.install.pip]
        for command in ([sys.executable, "-I", "-m", "venv", str(folder)], [str(python), *pip]):
            _logged(method, command, folder / LOG)
        (folder / READY).write_text(_print(method))


def environment_of(method: Method) -> dict[str, str]:
    """The variables with which a method's programs run: of an own environment, without traces of ours."""
    found = dict(os.environ)
    if method.install.pip:
        ours = [Path(os.environ[name]) for name in ("VIRTUAL_ENV",) if os.environ.get(name)]
        places = [place for place in found.get("PATH", os.defpath).split(os.pathsep) if Path(place).parent not in ours]
        own = methods_folder() / method.name
        found = {name: value for name, value in found.items() if name not in OURS}
        found |= {"PATH": os.pathsep.join([str(own / "bin"), *places]), "VIRTUAL_ENV": str(own)}
    return found


def _print(method: Method) -> str:
    """What an environment rests on."""
    told = "\n".join([*method.install.pip, sys.version, str(methods_folder() / method.name)])
    return hashlib.sha256(told.encode()).hexdigest()


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One makes it, the others wait."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with folder.with_name(f".{folder.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise UserError(f"{folder}: no environment can be made there: {error.strerror}") from None


def _logged(method: Method, command: list[str], log: Path) -> None:
    variables = {name: value for name, value in os.environ.items() if name not in OURS}
    with log.open("ab") as out:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=variables, check=False)
    if done.returncode:
        lines = [line for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
        wrong = next((line for line in reversed(lines) if line.startswith("ERROR")), lines[-1] if lines else "")
        raise UserError(f"{method.name}: its environment could not be made: {wrong.strip()}; the whole output: {log}")
