"""Logs and command lines for the tests of `fieldplay cdff`; the logs are packed by msgpack alone."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgpack
import pytest

from fieldplay.cli.main import main

FORM_1 = """\
name: TerrainFromStereo
doc: Terrain cloud from a stereo pair
dfns: [{name: ImageFiltering}, {name: StereoReconstruction}]
input_ports:
  - {name: leftImage, type: asn1SccFrame, doc: left, connections: [{dfn: ImageFiltering, port: image}]}
output_ports:
  - {name: pointCloud, type: asn1SccPointcloud, doc: all, connections: [{dfn: StereoReconstruction, port: pointcloud}]}
implementations: [{name: Plain}, {name: Other}]
"""
FORM_2 = """\
name: TerrainFromStereo
doc: Terrain cloud from a stereo pair & more <all of it>
input_ports:
  - {name: leftImage, type: asn1SccFrame, doc: left}
  - {name: rightImage, type: asn1SccFrame, doc: right}
output_ports:
  - {name: pointCloud, type: asn1SccPointcloud, doc: cloud}
operations:
  - {name: getCloud, doc: the last cloud, inputs: [{name: maxPoints, type: int}]}
implementations:
  - name: Plain
    dfns:
      - dfn_id: undistort
        name: ImageFiltering
        implementation: ImageUndistortion
        activation: {type: input_triggered, value: image}
      - dfn_id: stereo
        name: StereoReconstruction
        implementation: DisparityMapping
        activation: {type: frequency, value: 2}
      - {dfn_id: assemble, name: PointCloudAssembly}
    input_connections:
      - {dfpc_input: leftImage, dfn_id: undistort, port: image}
      - {dfpc_input: rightImage, dfn_id: stereo, port: right}
    internal_connections:
      - {from: {dfn_id: undistort, port: image}, to: {dfn_id: stereo, port: left}}
      - {from: {dfn_id: stereo, port: pointcloud}, to: {dfn_id: assemble, port: firstPointCloud}}
      - {from: {dfn_id: assemble, port: assembledCloud}, to: {dfn_id: assemble, port: secondPointCloud}}
    output_connections:
      - {dfpc_output: pointCloud, dfn_id: assemble, port: assembledCloud}
"""
DFN = """\
name: EdgeFinder
doc: finds edges in a picture
input_ports:
  - {name: image, type: asn1SccFrame, doc: picture}
output_ports:
  - {name: edges, type: asn1SccFrame, doc: picture of edges}
"""
Stream = tuple[str, Sequence[tuple[int, Any]]]  # the type, and logging times with their samples
Run = Callable[..., tuple[int, str, str]]
START_US = 1_543_311_000_000_000  # 2018-11-27T09:30:00Z
STATE = "RigidBodyState"


def write_log(path: Path, streams: dict[str, Stream]) -> Path:
    """A log with a stream's samples before its times, as most have them."""
    content: dict[str, Any] = {}
    for name, (kind, entries) in streams.items():
        content[name] = [sample for _, sample in entries]
        content[f"{name}.meta"] = {"timestamps": [time for time, _ in entries], "type": kind}
    path.write_bytes(msgpack.packb(content, use_bin_type=False))
    return path


def read_log(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = msgpack.unpackb(path.read_bytes(), raw=False)
    return content


def numbered_stream(*times_us: int, prefix: str = "", kind: str = STATE) -> Stream:
    """A stream of samples that differ in their number."""
    return kind, [(time, {"number": f"{prefix}{index}"}) for index, time in enumerate(times_us)]


def states(count: int, *, step_us: int = 100_000, late_us: int = 250) -> Stream:
    """Poses along x, each logged a little later than taken."""
    times = [START_US + step_us * index for index in range(count)]
    samples = [
        {
            "timestamp": {"microseconds": time},
            "sourceFrame": "body",
            "targetFrame": "odometry",
            "pos": [0.5 * index, 0.25, -1.0],
        }
        for index, time in enumerate(times)
    ]
    return STATE, [(time + late_us, sample) for time, sample in zip(times, samples, strict=True)]


def runner(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `fieldplay cdff` in this process: the exit code, standard output and standard error."""

    def run(*arguments: object) -> tuple[int, str, str]:
        try:
            code = main(["cdff", *map(str, arguments)])
        except SystemExit as end:
            code = int(end.code or 0)
        return code, *capsys.readouterr()

    return run
