"""The transforms of the joints of a robot's model, and names of joints in a log as those of the model."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldplay.geometry.transforms import Array, quaternion_from_rotation
from fieldplay.geometry.urdf_model import UrdfModel, fixed_transforms, model_from_text, transforms_from_positions
from fieldplay.kinematics.computation import (
    ON_TF,
    Computation,
    Input,
    OutputRecords,
    Setting,
)
from fieldplay.kinematics.pose_records import joints_of
from fieldplay.messages.records import Record, Transforms

Renaming = tuple[tuple[re.Pattern[str], str], ...]


# Raw readings of joints' sensors as angles.


@dataclass(frozen=True, kw_only=True, eq=False)
class Encoders:
    """Incremental encoders of k joints.

    Args:
        gear_ratio: counts per turn of the output with their sign (k,).
        rad_per_turn: joint angle per such turn (k,).
        offset_turns: offsets (k,) in turns.
    """

    gear_ratio: Array
    rad_per_turn: Array
    offset_turns: Array


@dataclass(frozen=True, kw_only=True, eq=False)
class Potentiometers:
    """Potentiometers of k joints.

    Args:
        zero: readings at angle 0 (k,).
        per_rad: readings per rad (k,).
    """

    zero: Array
    per_rad: Array


def angles_from_counts(encoders: Encoders, counts: ArrayLike) -> Array:
    """Convert encoder counts to joint angles.

    Args:
        encoders: of k joints.
        counts: (..., k).

    Returns:
        Angles (..., k) in rad.
    """
    turns = np.asarray(counts, float) / encoders.gear_ratio
    return np.asarray(encoders.rad_per_turn * (turns - encoders.offset_turns), float)


def angles_from_readings(potentiometers: Potentiometers, readings: ArrayLike) -> Array:
    """Convert potentiometer readings to joint angles.

    Args:
        potentiometers: of k joints.
        readings: (..., k).

    Returns:
        Angles (..., k) in rad.
    """
    return np.asarray((np.asarray(readings, float) - potentiometers.zero) / potentiometers.per_rad, float)


def renaming_from_text(text: str) -> Renaming:
    r"""Parse pairs LOG=MODEL, separated by blanks: a regular expression of a whole name, and its replacement.

    Args:
        text: the pairs; MODEL may refer to groups of LOG: `(\w+)_fl=\1_front_left`.

    Returns:
        The pairs.

    Raises:
        ValueError: a pair has no `=`, or is no regular expression with its replacement.
    """
    pairs = []
    for pair in text.split():
        pattern, separator, name = pair.rpartition("=")
        if not (separator and pattern and name):
            raise ValueError(f"joint_names: expected pairs LOG=MODEL with blanks between them, got '{pair}'")
        try:
            expression = re.compile(pattern)
            re.sub(expression, name, "")
        except (re.error, IndexError) as error:
            raise ValueError(f"joint_names: expected a regular expression and a name, got '{pair}': {error}") from None
        pairs.append((expression, name))
    return tuple(pairs)


def rename_joints(names: Sequence[str], renaming: Renaming) -> list[str]:
    """Rename joints to the model's names.

    Args:
        names: names in the log.
        renaming: pairs; the first that matches counts.

    Returns:
        The new names; a name without a match stays.

    Example:
        >>> rename_joints(["wheel_fl", "mast"], renaming_from_text("wheel_fl=front_left_wheel"))
        ['front_left_wheel', 'mast']
    """
    return [_rename(name, renaming) for name in names]


def _rename(name: str, renaming: Renaming) -> str:
    matches = ((pattern.fullmatch(name), new) for pattern, new in renaming)
    return next((match.expand(new) for match, new in matches if match), name)


def model_of_settings(settings: Mapping[str, Any]) -> tuple[str, UrdfModel]:
    """Read the robot model that settings name.

    Args:
        settings: `robot_description` is the text of a URDF, or `urdf` a file.

    Returns:
        The text, and the model.

    Raises:
        ValueError: the file cannot be read, or the text is no URDF.
    """
    text, file = settings["robot_description"], settings["urdf"]
    source = file if file and not text else "robot_description"
    try:
        text = text or (Path(file).read_text("utf-8") if file else "")
        return text, model_from_text(text)
    except (OSError, ValueError) as error:
        raise ValueError(f"{source}: {error}") from None


class JointTransforms(Computation):
    """On tf every link whose joint has a position, or follows one that has, at each row of joint states."""

    name = "joint_transforms"
    publishes_joint_tf = True
    settings = (
        Setting("robot_description", "", "the text of a URDF"),
        Setting("urdf", "", "a file with the text of a URDF, where robot_description is empty"),
        Setting("joint_names", "", "pairs LOG=MODEL of regular expressions"),
        Setting("frame_prefix", "", "put before the name of each frame"),
        Setting("ignore_links", [""], "links whose transforms are published elsewhere"),
        Setting("moving_only", False, "publish /tf alone"),
    )
    inputs = (Input(name="joints", topic="joint_states", msgtype="sensor_msgs/msg/JointState", overridable=True),)
    outputs = (ON_TF,)

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        self.text, self.model = model_of_settings(self.setting_values)
        self._renaming = renaming_from_text(self.setting_values["joint_names"])
        self._ignored = set(self.setting_values["ignore_links"]) - {""}
        unknown = self._ignored - set(self.model.links)
        if unknown:
            raise ValueError(f"ignore_links: the model '{self.model.name}' has no link '{min(unknown)}'")

    def step(self, name: str, record: Record) -> OutputRecords:
        joints = joints_of(record)
        if joints.position is None or not len(joints):
            return  # speeds or efforts alone, which share the type
        names = rename_joints(joints.names, self._renaming)
        try:
            transforms = transforms_from_positions(self.model, names, joints.position, missing="leave_out")
        except ValueError as error:
            self.warn(f"{self.inputs[0].topic}: {error}")
            return
        tf_record = self.transforms(joints.stamp_ns, transforms)
        if len(tf_record):
            yield ON_TF, tf_record

    def static_transforms(self, stamp_ns: int) -> Transforms:
        """Compute the transforms of fixed joints.

        Args:
            stamp_ns: their time.

        Returns:
            One row.
        """
        fixed = {child: transform[None] for child, transform in fixed_transforms(self.model).items()}
        return self.transforms(np.array([stamp_ns]), fixed)

    def transforms(self, stamp_ns: NDArray[np.int64], by_child: Mapping[str, Array]) -> Transforms:
        """Make a record of transforms, without the links that settings ignore.

        Args:
            stamp_ns: times (n,), or longer where there is nothing by child.
            by_child: parent_T_child (n, 4, 4); NaN where it is not known.

        Returns:
            The record; a row without any known link is left out.
        """
        children = [child for child in by_child if child not in self._ignored]
        matrices = np.stack([by_child[child] for child in children], axis=1) if children else np.zeros((0, 0, 4, 4))
        known: NDArray[np.bool_] = np.asarray(np.isfinite(matrices).all(axis=(2, 3)))
        keep_mask: NDArray[np.bool_] = np.asarray(known.any(axis=1))
        prefix, matrices = (
            self.setting_values["frame_prefix"],
            np.where(known[..., None, None], matrices, np.eye(4))[keep_mask],
        )
        return Transforms(
            stamp_ns=stamp_ns[: len(keep_mask)][keep_mask],
            parents=tuple(prefix + self.model.parents[child] for child in children),
            children=tuple(prefix + child for child in children),
            translation_m=matrices[..., :3, 3],
            rotation_xyzw=quaternion_from_rotation(matrices[..., :3, :3]),
            known=known[keep_mask],
        )
