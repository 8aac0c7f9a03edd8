"""What notebooks and plug-ins use says what it takes and gives: docstrings with every parameter, examples that run."""

import doctest
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import pytest

import fieldplay

MODULES = [
    "cli.main", "core.timestamps", "datasets.archive", "datasets.base_reader", "datasets.registry",
    "datasets.row_files", "datasets.spec", "geometry.axes", "geometry.camera_model", "geometry.extrinsics",
    "geometry.frames", "geometry.geodesy", "geometry.transforms", "geometry.urdf_model", "io.calibration_files",
    "io.file_table", "io.plain_clouds", "io.time_list",
    "kinematics.ackermann_odometry", "kinematics.computation", "kinematics.denavit_hartenberg",
    "kinematics.insight_arm", "kinematics.insight_arm_computation", "kinematics.joint_transforms",
    "kinematics.odometry_path", "kinematics.planar_odometry", "kinematics.pose_records", "kinematics.robots",
    "kinematics.rotor_temperature", "kinematics.skid_steer_fit", "kinematics.skid_steer_odometry",
    "kinematics.steered_wheels", "messages.record_decoder", "messages.records", "streams.stream",
    "streams.topic_batches", "streams.topic_stream", "topics.archive_topics", "trajectories.alignment",
    "trajectories.association", "trajectories.evaluation", "trajectories.odometry_evaluation",
    "trajectories.pose_errors", "trajectories.pose_topics", "trajectories.time_offset", "trajectories.trajectory",
]  # fmt: skip
NAMES = {  # of modules whose other names are for their neighbours alone
    "convert.conversion": ["BagOptions", "Converted", "convert"],
    "io.bmp": ["pixels_from_bmp"],
    "io.containers": ["Files", "FilesBelow", "open_files", "read_companion"],
    "messages.rectification": ["rectify_pair"],
    "io.delimited": ["rows_from_block", "rows_from_blocks"],
    "io.geotiff": ["Raster", "open_raster"],
    "io.pcd": ["cloud_from_pcd", "pcd_from_cloud"],
    "io.ply": ["ply_from_cloud"],
    "io.table_rows": ["Dialect", "TimedRows", "is_clock", "unit_of_digits"],
    "io.tagged_lines": ["TaggedLines"],
    "io.table": ["GroupStream", "Table", "TableStream", "Tables"],
    "messages.codec": ["FramedRecord", "decode", "encode", "encodes", "group_by_size"],
    "messages.image_pixels": ["pixels_from_compressed", "pixels_from_file", "pixels_from_image"],
    "messages.point_clouds": ["points_from_cloud", "points_from_rows", "rows_of_cloud"],
    "messages.stream_spec": ["StreamSpec"],
    "streams.message_block": ["MessageBlock", "RawMessage"],
}
ARGUMENT = re.compile(r"    (\w+(?:, \w+)*): \S")


def sections(text: str) -> dict[str, list[str]]:
    """The lines of a Google docstring by the title of their section."""
    by_title: dict[str, list[str]] = {"": []}
    title = ""
    for line in text.splitlines():
        match = re.fullmatch(r"(Args|Attributes|Example|Raises|Returns|Yields):", line)
        if match:
            title = match[1]
        by_title.setdefault(title, []).append(line)
    return by_title


def described(text: str) -> set[str]:
    """The names that `Args` describes."""
    matches = (ARGUMENT.match(line) for line in sections(text).get("Args", []))
    return {name for match in matches if match for name in match[1].split(", ")}


def issues_of_function(function: Callable[..., Any], text: str | None) -> list[str]:
    if not text:
        return ["no docstring"]
    signature = inspect.signature(function)
    names = [name for name in signature.parameters if name not in ("self", "cls")]
    issues = [f"no {name} in Args" for name in names if name not in described(text)]
    returns = "None" not in str(signature.return_annotation) or "|" in str(signature.return_annotation)
    if names and returns and not {"Returns", "Yields"} & set(sections(text)):
        issues.append("no Returns")
    return issues


def issues_of_class(cls: type[Any]) -> Iterator[str]:
    """What the class and its own public methods lack; methods without a docstring have that of a base class."""
    yield from [] if vars(cls).get("__doc__") else ["no docstring"]
    known = {name for base in cls.__mro__ for name in described(inspect.cleandoc(vars(base).get("__doc__") or ""))}
    requested = set(getattr(cls, "_fields", ()))
    if is_dataclass(cls):
        requested |= {field.name for field in fields(cls) if field.init}
    elif not requested and "__init__" in vars(cls):
        requested |= set(inspect.signature(vars(cls)["__init__"]).parameters) - {"self", "args", "kwargs"}
    yield from (f"no {name} in Args" for name in sorted(requested - known))
    for name, member in vars(cls).items():
        if name.startswith("_"):
            continue
        if isinstance(member, property | cached_property):
            yield from [] if inspect.getdoc(getattr(cls, name)) else [f"{name}: no docstring"]
        elif isinstance(member, classmethod | staticmethod) or inspect.isfunction(member):
            missing = issues_of_function(getattr(cls, name), documentation(cls, name))
            yield from (f"{name}: {issue}" for issue in missing)


def documentation(cls: type[Any], name: str) -> str | None:
    """The docstring of a method, or of the one that it overrides."""
    texts = (inspect.getdoc(vars(base)[name]) for base in cls.__mro__ if name in vars(base))
    return next((text for text in texts if text), None)


def issues(thing: Any) -> list[str]:
    if inspect.isclass(thing):
        return list(issues_of_class(thing))
    return issues_of_function(thing, inspect.getdoc(thing))


def public(module: Any) -> dict[str, Any]:
    """The functions and classes that a module defines, by name."""
    own = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    own = {name: value for name, value in own.items() if inspect.isclass(value) or inspect.isfunction(value)}
    return {name: value for name, value in own.items() if value.__module__ == module.__name__}


def test_every_public_name_of_library_describes_its_parameters() -> None:
    things = {name: getattr(fieldplay, name) for name in fieldplay.__all__}
    assert {name: missing for name, thing in things.items() if (missing := issues(thing))} == {}


@pytest.mark.parametrize("name", MODULES)
def test_every_public_function_and_class_of_module_describes_its_parameters(name: str) -> None:
    things = public(import_module(f"fieldplay.{name}"))
    assert things
    assert {key: missing for key, thing in things.items() if (missing := issues(thing))} == {}


@pytest.mark.parametrize("name", NAMES)
def test_names_that_readers_use_describe_their_parameters(name: str) -> None:
    module = import_module(f"fieldplay.{name}")
    assert {key: missing for key in NAMES[name] if (missing := issues(getattr(module, key)))} == {}


@pytest.mark.parametrize("name", [*MODULES, *NAMES])
def test_examples_give_what_they_show(name: str) -> None:
    assert doctest.testmod(import_module(f"fieldplay.{name}")).failed == 0


def test_missing_parameter_is_an_issue() -> None:
    def scale(values: list[float], factor: float) -> list[float]:
        return [value * factor for value in values]

    text = "Scale values.\n\nArgs:\n    values: in m.\n"
    assert issues_of_function(scale, text) == ["no factor in Args", "no Returns"]
    assert issues_of_function(scale, None) == ["no docstring"]
