"""MessagePack logs as the framework writes them: one map, two entries a stream, numbers of a picture as a list."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgpack

from fieldplay_samples.motion.frames import Floats
from fieldplay_samples.writers.tables import Stamps

Sample = dict[str, Any]


@dataclass(frozen=True, eq=False, kw_only=True)
class WrittenStream:
    """A stream: its type, the times (n,) in ns at which its samples were logged, and the samples."""

    kind: str
    logged_ns: Stamps
    samples: Iterable[Sample]
    in_ns: bool = False


def write_log(path: Path, streams: Mapping[str, WrittenStream]) -> None:
    """Write streams as a log; each stands before its times."""
    packer = msgpack.Packer(use_bin_type=False)
    with path.open("wb") as file:
        file.write(packer.pack_map_header(2 * len(streams)))
        for name, stream in streams.items():
            file.write(packer.pack(name))
            file.write(packer.pack_array_header(len(stream.logged_ns)))
            for sample in stream.samples:
                file.write(packer.pack(sample))
            times = stream.logged_ns if stream.in_ns else stream.logged_ns // 1000
            file.write(packer.pack(f"{name}.meta"))
            file.write(packer.pack({"timestamps": times.tolist(), "type": stream.kind}))


def write_settings(path: Path, settings: Mapping[Any, Any]) -> None:
    """Write a file of settings, whose keys may be tuples."""
    path.write_bytes(msgpack.Packer(use_bin_type=False).pack(dict(settings)))


def micros(stamp_ns: int, *, in_ns: bool = False) -> Sample:
    """A time as the framework has it, in microseconds; or, as in logs made of ROS bags, in nanoseconds."""
    return {"microseconds": stamp_ns if in_ns else stamp_ns // 1000}


def unknown(*sides: int) -> Any:
    """NaN, in lists of lists."""
    return float("nan") if not sides else [unknown(*sides[1:]) for _ in range(sides[0])]


def body_state(stamp_ns: int, frames: tuple[str, str], pose: Floats, twist: Floats) -> Sample:
    """Pose (7,) x y z and x y z w of `source` in `target`, twist (6,): velocity in the target, rates in the source."""
    source, target = frames
    return {
        "timestamp": micros(stamp_ns),
        "sourceFrame": source,
        "targetFrame": target,
        "pos": pose[:3].tolist(),
        "cov_position": unknown(3, 3),
        "orient": pose[3:].tolist(),
        "cov_orientation": unknown(3, 3),
        "velocity": twist[:3].tolist(),
        "cov_velocity": unknown(3, 3),
        "angular_velocity": twist[3:].tolist(),
        "cov_angular_velocity": unknown(3, 3),
    }


def joints(stamp_ns: int, names: Sequence[str], position: Floats, speed: Floats) -> Sample:
    """Joints (k,) by name: angles in rad, rates in rad/s; the rest is not known."""
    elements = [
        {"position": angle, "speed": rate, "effort": unknown(), "raw": unknown(), "acceleration": unknown()}
        for angle, rate in zip(position.tolist(), speed.tolist(), strict=True)
    ]
    return {"timestamp": micros(stamp_ns), "names": list(names), "elements": elements}
