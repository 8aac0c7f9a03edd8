"""One method on one archive: its bag, its files, its run, its poses, and how these compare with the truth."""

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from fieldplay.benchmark.slam.methods import Installation, Method, fill_template
from fieldplay.benchmark.slam.slam_results import (
    DONE,
    FAILED,
    SKIPPED,
    Outcome,
    ProcessSettings,
    as_json,
    run_programs,
)
from fieldplay.benchmark.slam.slam_sensors import Sensor, add_rectified_frames
from fieldplay.core.atomic_output import Partial
from fieldplay.core.errors import ArchiveError, UserError
from fieldplay.core.progress import Progress, no_progress
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.evaluation.pose_files import PoseForms
from fieldplay.evaluation.trajectory_pair import (
    Comparison,
    PoseFiles,
    TrajectoryPair,
    compare,
    load_trajectories,
)
from fieldplay.recording.bag_recording import BagRecording
from fieldplay.recording.recording import STATIC, Recording
from fieldplay.topics.selection import Selection
from fieldplay.trajectories.evaluation import EvaluationSettings
from fieldplay.trajectories.pose_topics import TopicTrajectory
from fieldplay.trajectories.trajectory import FusionError, tum_lines

READY, INSTALL_LOG = "ready", "install.log"
OURS = (
    "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH",
    "COLCON_PREFIX_PATH", "PKG_CONFIG_PATH", "ROS_DISTRO", "ROS_VERSION", "ROS_PYTHON_VERSION",
)  # fmt: skip
LOG, TRAJECTORY, RESULT, WORK, BAG = "log.txt", "trajectory.tum", "result.json", "work", "bag"
MIN_LIMIT_S, LIMIT_PER_S = 600.0, 60.0  # of a method, at least and for each second of data


# The environments of methods: one of Python for each below .ws/methods, as they pin libraries differently.


def methods_folder() -> Path:
    """Where the environments are: in the workspace's state, or in the user's cache where there is no workspace."""
    state, root = os.environ.get("FIELDPLAY_WS"), os.environ.get("FIELDPLAY_ROOT")
    if not (state or root):
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "fieldplay", "methods")
    return Path(state) / "methods" if state else Path(str(root), ".ws", "methods")


def missing_requirements(install: Installation) -> str:
    """Describe what the machine lacks for a method; "" where nothing."""
    prefixes = [Path(prefix) for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix]
    index = Path("share", "ament_index", "resource_index", "packages")
    missing = [
        f"the ROS 2 package {name}"
        for name in install.ros_packages
        if not any((prefix / index / name).exists() for prefix in prefixes)
    ] + [f"the program {name}" for name in install.programs if shutil.which(name) is None]
    hint = f"; {install.told}" if install.told else ""
    return f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed{hint}" if missing else ""


def is_ready(method: Method) -> bool:
    """Whether nothing has to be installed before it runs."""
    if not method.install.pip:
        return not missing_requirements(method.install)
    ready = methods_folder() / method.name / READY
    return ready.is_file() and ready.read_text() == _fingerprint(method)


def prepare_environment(method: Method, *, report: Callable[[str], None]) -> None:
    """Make the method's environment where it is not there; UserError says what failed."""
    missing = missing_requirements(method.install)
    if missing:
        raise UserError(f"{method.name}: {missing}")
    if is_ready(method):
        return
    folder = methods_folder() / method.name
    with _locked(folder):
        if is_ready(method):
            return
        report(f"{method.name}: making its environment in {folder}, once: pip install {' '.join(method.install.pip)}")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        python = folder / "bin" / "python"
        pip = ["-I", "-m", "pip", "install", "--no-input", "--disable-pip-version-check", *method.install.pip]
        for command in ([sys.executable, "-I", "-m", "venv", str(folder)], [str(python), *pip]):
            _run_logged(method, command, folder / INSTALL_LOG)
        (folder / READY).write_text(_fingerprint(method))


def environment_of(method: Method) -> dict[str, str]:
    """The variables with which a method's programs run: of an own environment, without traces of ours."""
    variables = dict(os.environ)
    if method.install.pip:
        ours = [Path(os.environ[name]) for name in ("VIRTUAL_ENV",) if os.environ.get(name)]
        paths = [path for path in variables.get("PATH", os.defpath).split(os.pathsep) if Path(path).parent not in ours]
        own = methods_folder() / method.name
        variables = {name: value for name, value in variables.items() if name not in OURS}
        variables |= {"PATH": os.pathsep.join([str(own / "bin"), *paths]), "VIRTUAL_ENV": str(own)}
    return variables


def _fingerprint(method: Method) -> str:
    """Hash of everything that an environment depends on."""
    text = "\n".join([*method.install.pip, sys.version, str(methods_folder() / method.name)])
    return hashlib.sha256(text.encode()).hexdigest()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold a lock, so that one process makes the environment and others wait."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with folder.with_name(f".{folder.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise UserError(f"{folder}: no environment can be made there: {error.strerror}") from None


def _run_logged(method: Method, command: list[str], log: Path) -> None:
    variables = {name: value for name, value in os.environ.items() if name not in OURS}
    with log.open("ab") as out:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=variables, check=False)
    if done.returncode:
        lines = [line for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
        wrong = next((line for line in reversed(lines) if line.startswith("ERROR")), lines[-1] if lines else "")
        raise UserError(f"{method.name}: its environment could not be made: {wrong.strip()}; the whole output: {log}")


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """A method with its inputs, and the placeholders of its command and files."""

    method: Method
    sensors: Mapping[str, Sensor]
    values: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Part:
    """The time range, the time limit, and how a method is evaluated."""

    start_s: float = 0.0
    duration_s: float | None = None
    limit_s: float | None = None
    truth_max_std_m: float = 0.0
    settings: EvaluationSettings = field(default_factory=EvaluationSettings)
    offset_s: float | str | None = None  # None: as the method's description says
    keeps_work: bool = False


@dataclass(frozen=True, kw_only=True)
class Trial:
    """An archive, its truth, and the folder where what comes of each method goes."""

    data: Recording
    truth: TrajectoryPair
    out: Path
    part: Part
    report: Callable[[str], None]
    progress: Progress = no_progress

    def run_method(self, fitting: RunConfig) -> Outcome:
        """Run a method and evaluate it; failures are in the outcome, and its log is kept."""
        partial = Partial(self.out / fitting.method.name, is_folder=True)
        try:
            folder = partial.path
            (folder / LOG).touch()
            outcome = self._attempt(fitting, folder)
            (folder / RESULT).write_text(json.dumps(as_json(outcome), indent=1) + "\n")
            partial.commit()
        except BaseException:  # an interrupt leaves nothing behind either
            partial.remove()
            raise
        return outcome

    def _attempt(self, fitting: RunConfig, folder: Path) -> Outcome:
        method, work_folder = fitting.method, folder / WORK
        work_folder.mkdir()
        try:
            prepare_environment(method, report=self.report)
            bag = self._bag(fitting, work_folder / BAG)
            outcome = self._run(fitting, folder, bag)
        except UserError as error:
            outcome = Outcome(name=method.name, version=method.version, status=FAILED, error=str(error))
        if not self.part.keeps_work:
            shutil.rmtree(work_folder, ignore_errors=True)
        return outcome

    def _bag(self, fitting: RunConfig, path: Path) -> Path:
        """A bag of the topics that the method needs, and of no other."""
        names = [name for sensor in fitting.sensors.values() for name in (sensor.topic, sensor.info) if name]
        requested = "|".join(map(re.escape, dict.fromkeys([STATIC, *names])))
        is_raw = any(need.raw for need in fitting.method.needs.values())
        selection = Selection(
            start_s=self.part.start_s,
            duration_s=self.part.duration_s,
            topics=f"^({requested})$",
            images="raw" if is_raw else None,
            rectify=any(sensor.is_made for sensor in fitting.sensors.values()),
        )
        self.data.to_bag(path, selection, progress=self.progress)
        return path

    def _run(self, fitting: RunConfig, folder: Path, bag: Path) -> Outcome:
        method, work_folder = fitting.method, folder / WORK
        scans, data_s = _scans_of(bag, fitting.sensors[method.scans].topic)
        values = {**fitting.values, "work": str(work_folder.resolve()), "bag": str(bag.resolve())}
        for name, text in method.files.items():
            (work_folder / name).parent.mkdir(parents=True, exist_ok=True)
            (work_folder / name).write_text(fill_template(text, values))
        own = {name: fill_template(text, values) for name, text in method.environment.items()}
        settings = ProcessSettings(folder=work_folder, variables={**environment_of(method), **own}, log=folder / LOG)
        command = [fill_template(argument, values) for argument in method.command]
        background = [[fill_template(argument, values) for argument in each] for each in method.background]
        usual_s = max(MIN_LIMIT_S, LIMIT_PER_S * data_s)
        limit_s = usual_s if self.part.limit_s is None else self.part.limit_s
        self.report(f"{method.name}: runs on {scans} messages of {fitting.sensors[method.scans].topic}, {data_s:.1f} s")
        ended = run_programs(command, background, settings, limit_s=limit_s)
        outcome = Outcome(
            name=method.name, version=method.version, status=DONE, scans=scans, data_s=data_s, cost=ended.cost
        )
        if ended.error:
            last = _last_line(folder / LOG)
            return replace(outcome, status=FAILED, error=f"{ended.error}{f': {last}' if last else ''}")
        return self._evaluate(outcome, fitting, folder)

    def _evaluate(self, outcome: Outcome, fitting: RunConfig, folder: Path) -> Outcome:
        """The outcome with the method's poses and their errors."""
        notes: list[str] = []
        method = fitting.method
        try:
            estimate = _load_poses(method, fitting.values, folder / WORK, notes.append)
            (folder / TRAJECTORY).write_text("".join(tum_lines(estimate.trajectory)))
            poses = len(estimate.trajectory)
            if poses < outcome.scans:
                notes.append(f"{poses} poses for {outcome.scans} scans")
            outcome = replace(outcome, poses=poses, notes=tuple(notes))
            pair = replace(
                self.truth,
                estimate=replace(estimate, child=fill_template(method.frame, fitting.values), topic=method.name),
            )
            add_rectified_frames(pair.frames, fitting.sensors)
            comparison = self._compare(pair, method, notes.append)
        except UserError as error:
            return replace(outcome, status=FAILED, error=str(error), notes=tuple(notes))
        return replace(outcome, comparison=comparison, notes=tuple(notes))

    def _compare(self, pair: TrajectoryPair, method: Method, report: Callable[[str], None]) -> Comparison:
        """The method's poses beside the truth, by the offset asked for, else by its own as far as that can be found."""
        pair = pair.exclude_uncertain(self.part.truth_max_std_m)
        offset = method.offset if self.part.offset_s is None else self.part.offset_s
        if isinstance(offset, str):
            try:
                return compare(pair, self.part.settings, lever_arm=None, report=report, finds_offset=True)
            except FusionError as error:
                if self.part.offset_s is not None:
                    raise
                report(f"{error}; its times are taken as they are")
                offset = 0.0
        settings = replace(self.part.settings, offset_s=offset)
        return compare(pair, settings, lever_arm=None, report=report)


def skipped_outcome(method: Method, error: str) -> Outcome:
    """Outcome of a method that does not fit the archive."""
    return Outcome(name=method.name, version=method.version, status=SKIPPED, error=error)


def _scans_of(bag: Path, topic: str) -> tuple[int, float]:
    """How many messages a topic of a bag has, and over how many seconds."""
    with closing(BagRecording(bag)) as data:
        info = data.topics[topic]
        if info.first_ns is None or info.last_ns is None:
            raise ArchiveError(f"{topic}: expected messages in the part that is taken, got none")
        return info.count, (info.last_ns - info.first_ns) / NS_PER_S


def _load_poses(
    method: Method, values: Mapping[str, str], work_folder: Path, report: Callable[[str], None]
) -> TopicTrajectory:
    """Load the poses that a method has written."""
    output = method.trajectory
    paths = {path.resolve() for path in work_folder.glob(output.path)}
    if len(paths) != 1:
        names = " and ".join(sorted(path.name for path in paths)) or "none"
        raise ArchiveError(f"expected one file {output.path} of poses, got {names}")
    (path,) = paths
    try:
        if output.form:
            files = PoseFiles(forms=PoseForms(of_all=output.form), report=lambda text: report(_without(path, text)))
            return files.load(path)
        topic = fill_template(output.topic, values)
        with closing(BagRecording(path)) as source:
            (pair,) = load_trajectories(source, [topic], topic, progress=no_progress)
        return pair.estimate
    except UserError as error:
        raise ArchiveError(_without(path, str(error))) from None


def _without(path: Path, text: str) -> str:
    """A text with the name of a file alone: its folder is gone when anybody reads this."""
    return text.replace(str(path), path.name)


def _last_line(log: Path) -> str:
    """The last line that a program wrote, to explain a failure."""
    with log.open("rb") as lines:
        lines.seek(max(os.fstat(lines.fileno()).st_size - 4096, 0))
        texts = [line.strip() for line in re.split(r"[\r\n]", lines.read().decode("utf-8", "replace"))]
    texts = [text for text in texts if text and not text.startswith("$ ")]
    return texts[-1][:200] if texts else ""
