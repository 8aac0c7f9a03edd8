"""Methods as config/methods describes them: what they need, how they are installed, their command, where poses are."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import yaml

from fieldplay.core.errors import ArchiveError, UsageError
from fieldplay.core.resources import config_folders
from fieldplay.core.yaml_safe import value_of_yaml
from fieldplay.datasets.spec import ImuNoise, build
from fieldplay.evaluation.pose_files import FORMS

FOLDER = "methods"
SUFFIX = ".yaml"
PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*(?:\.\w+)?)\}")  # in commands and files: a word that is replaced


@dataclass(frozen=True, kw_only=True)
class Need:
    """A sensor: types of its messages, fields of its points (a|b is either), how often at least.

    `camera`: with its CameraInfo; `raw`: images that are not compressed; `rectified`: images without the lens, of a
    stereo pair with equal rows, and the CameraInfo of those. `noise` is that of an IMU whose dataset has none.
    """

    types: tuple[str, ...]
    fields: tuple[str, ...] = ()
    least_hz: float = 0.0
    camera: bool = False
    raw: bool = False
    rectified: bool = False
    noise: ImuNoise | None = None

    def __post_init__(self) -> None:
        if self.rectified and not self.camera:
            raise ValueError("rectified: expected `camera: true` with it, as the CameraInfo defines the rectification")


@dataclass(frozen=True, kw_only=True)
class Installation:
    """What pip puts into an environment of its own; or packages of ROS 2 and programs that must be there, and how."""

    pip: tuple[str, ...] = ()
    ros_packages: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    told: str = ""


@dataclass(frozen=True, kw_only=True)
class PoseOutput:
    """Where poses come out: a file (a pattern below the method's folder), its form; of a bag the topic, or tf:A.B."""

    path: str
    form: str = ""
    topic: str = ""

    def __post_init__(self) -> None:
        if self.form and self.form not in FORMS:
            raise ValueError(f"form: expected {', '.join(FORMS)}, got '{self.form}'")
        if bool(self.form) == bool(self.topic):
            raise ValueError("expected a form of a file, or a topic of a bag")


@dataclass(frozen=True, kw_only=True)
class Method:
    """A method. `command` runs to its end while `background` goes on; `frame` is whose poses it gives.

    `scans` is the need whose messages should have a pose each; `offset` is as --offset of evaluate; `untested` says
    what nobody tried. The name is that of the file.
    """

    about: str
    version: str
    needs: Mapping[str, Need]
    command: tuple[str, ...]
    trajectory: PoseOutput
    frame: str
    scans: str
    install: Installation = field(default_factory=Installation)
    background: tuple[tuple[str, ...], ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    offset: float | str = 0.0
    untested: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        if self.scans not in self.needs:
            raise ValueError(f"scans: expected one of {', '.join(self.needs)}, got '{self.scans}'")
        if not self.command:
            raise ValueError("command: expected a program and its words, got none")
        if isinstance(self.offset, str) and self.offset != "auto":
            raise ValueError(f"offset: expected seconds or auto, got '{self.offset}'")

    @property
    def templates(self) -> list[str]:
        """All texts with placeholders."""
        texts = [*self.command, *(argument for command in self.background for argument in command), self.frame]
        return [*texts, *self.files.values(), *self.environment.values(), self.trajectory.topic]

    @property
    def placeholders(self) -> list[str]:
        """The names of the placeholders."""
        return list(dict.fromkeys(word for text in self.templates for word in PLACEHOLDER.findall(text)))


def fill_template(text: str, values: Mapping[str, str]) -> str:
    """Replace the placeholders of a text."""
    return PLACEHOLDER.sub(lambda match: values[match[1]], text)


def method_files() -> dict[str, Path]:
    """The descriptions that there are, by name."""
    files: dict[str, Path] = {}
    for folder in config_folders():
        for path in sorted(Path(folder, FOLDER).glob(f"*{SUFFIX}")):
            files.setdefault(path.stem, path)
    return dict(sorted(files.items()))


def load_method(word: str) -> Method:
    """A method by its name, or by the file of a description; ArchiveError names what is wrong in it."""
    path = Path(word) if word.endswith(SUFFIX) else method_files().get(word)
    if path is None or not path.is_file():
        known = ", ".join(method_files())
        raise UsageError(f"there is no method '{word}'; there are {known}, or give the file of one ({SUFFIX})")
    try:
        data = value_of_yaml(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ArchiveError(f"{path}: cannot be read: {error}") from None
    return replace(build(Method, data, str(path)), name=path.stem)


def load_methods(names: Sequence[str]) -> list[Method]:
    """Methods that are asked for, each once."""
    methods = [load_method(word) for word in dict.fromkeys(names)]
    method_names = [method.name for method in methods]
    twice = next((name for name in method_names if method_names.count(name) > 1), "")
    if twice:
        raise UsageError(f"two methods are called {twice}")
    return methods
