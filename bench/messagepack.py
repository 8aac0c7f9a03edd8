"""Logs of MessagePack: pictures and samples beside msgpack alone, and a large log's time and memory.

Usage: ./ws exec python bench/messagepack.py [--megabytes 300]
"""

import sys
from pathlib import Path

sys.path.pop(0)  # this file has the name of the library

import argparse
import os
import resource
import subprocess
import time
from collections.abc import Callable
from tempfile import TemporaryDirectory
from typing import Any

import msgpack
import numpy as np

from fieldplay.datasets.registry import open_dataset
from fieldplay_cdff.logs.msgpack_decode import arrays_from_bytes

HEIGHT, WIDTH = 772, 1032
START_US = 1_543_311_000_000_000
REPEATS = 5
NAN = float("nan")


def best(work: Callable[[], object]) -> float:
    """The shortest of some runs, in seconds."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def frame(index: int, pixels: list[int]) -> dict[str, Any]:
    data = {"rows": HEIGHT, "cols": WIDTH, "channels": 1, "depth": "depth_8U", "rowSize": WIDTH, "data": pixels}
    stamp = {"microseconds": (START_US + index * 250_000) * 1000}
    return {"metadata": {"timeStamp": stamp, "mode": "mode_GRAY", "status": "status_VALID"}, "data": data}


def state(index: int) -> dict[str, Any]:
    square = [[NAN] * 3] * 3
    return {
        "timestamp": {"microseconds": START_US + index * 10_000}, "sourceFrame": "body", "targetFrame": "odometry",
        "pos": [0.001 * index, 0.5, 0.25], "cov_position": square, "orient": [0.0, 0.0, 0.0, 1.0],
        "cov_orientation": square, "velocity": [0.1, 0.0, 0.0], "cov_velocity": square,
        "angular_velocity": [0.0, 0.0, 0.1], "cov_angular_velocity": square,
    }  # fmt: skip


def pictures() -> dict[str, np.ndarray[Any, np.dtype[np.uint8]]]:
    rng = np.random.default_rng(1)
    return {
        "a natural picture": np.clip(rng.normal(120, 50, HEIGHT * WIDTH), 0, 255).astype(np.uint8),
        "a dark picture": rng.integers(0, 100, HEIGHT * WIDTH).astype(np.uint8),
        "noise": rng.integers(0, 256, HEIGHT * WIDTH).astype(np.uint8),
    }


def compare_images() -> None:
    for name, pixels in pictures().items():
        data = msgpack.packb(frame(0, pixels.tolist()), use_bin_type=False)
        ours = best(lambda data=data: arrays_from_bytes(data))
        theirs = best(lambda data=data: np.array(msgpack.unpackb(data)["data"]["data"], np.uint8))
        assert (arrays_from_bytes(data)["data"]["data"] == pixels).all()
        print(f"{name}: {ours * 1e3:.2f} ms; msgpack.unpackb and numpy.array {theirs / ours:.1f}x as long")


def compare_samples(folder: Path, count: int = 20_000) -> None:
    """The poses of a log as arrays, and by msgpack alone, which must hold the whole log."""
    path = folder / "states.msg"
    samples = [state(index) for index in range(count)]
    times = [START_US + index * 10_000 for index in range(count)]
    log = {"/a.b": samples, "/a.b.meta": {"timestamps": times, "type": "RigidBodyState"}}
    path.write_bytes(msgpack.packb(log, use_bin_type=False))

    def ours() -> Any:
        with open_dataset(path, "sherpatt") as archive:
            (stream,) = archive.streams.values()
            return np.concatenate([stream.load(index).position_m for index in range(len(stream.spans))])

    def theirs() -> Any:
        actual = msgpack.unpackb(path.read_bytes())
        return np.array([sample["pos"] for sample in actual["/a.b"]])

    assert (ours() == theirs()).all()
    mine, other = best(ours), best(theirs)
    message = f"msgpack.unpackb of the whole, and the positions alone, {other / mine:.1f}x as long"
    print(f"{count} states, opened, checked and all their numbers in columns: {mine * 1e3:.0f} ms; {message}")


def measure_log(folder: Path, megabytes: int) -> None:
    """Time and peak memory of info, check and convert on one log of pictures."""
    path = folder / "recording_000000000.msg"
    data = msgpack.packb(frame(0, pictures()["a natural picture"].tolist()), use_bin_type=False)
    count = max(round(megabytes * 1e6 / len(data)), 1)
    stamp = msgpack.packb((START_US) * 1000)
    name = "/hcru1/pt_stereo_rect/left/image"
    packer = msgpack.Packer(use_bin_type=False)
    with path.open("wb") as file:
        file.write(packer.pack_map_header(2) + packer.pack(name) + packer.pack_array_header(count))
        for index in range(count):
            file.write(data.replace(stamp, msgpack.packb((START_US + index * 250_000) * 1000), 1))
        times = [(START_US + index * 250_000) * 1000 for index in range(count)]
        file.write(packer.pack(f"{name}.meta") + packer.pack({"timestamps": times, "type": "Frame"}))
    measure(path, folder)


def measure_states(folder: Path, megabytes: int) -> None:
    """The same of one log of many small samples."""
    path = folder / "sherpa_tt_mcs_Logger_InFuse.msg"
    sample = msgpack.packb(state(0), use_bin_type=False)
    count = max(round(megabytes * 1e6 / len(sample)), 1)
    first = msgpack.packb(START_US)
    name = "/mcs_sensor_processing.rigid_body_state_out"
    packer = msgpack.Packer(use_bin_type=False)
    times = [START_US + index * 10_000 for index in range(count)]
    with path.open("wb") as file:
        file.write(packer.pack_map_header(2) + packer.pack(name) + packer.pack_array_header(count))
        for stamp in times:
            file.write(sample.replace(first, msgpack.packb(stamp), 1))
        file.write(packer.pack(f"{name}.meta") + packer.pack({"timestamps": times, "type": "RigidBodyState"}))
    measure(path, folder)


def measure_varied(folder: Path, megabytes: int) -> None:
    """The same of small samples of different lengths, as texts in them have."""
    path = folder / "varied_Logger_InFuse.msg"
    packer = msgpack.Packer(use_bin_type=False)
    fields = {"pos": [0.1, 0.5, 0.25], "orient": [0.0, 0.0, 0.0, 1.0], "velocity": [0.1, 0.0, 0.0]}
    samples = [
        packer.pack({"timestamp": {"microseconds": START_US}, "sourceFrame": "body"[: 1 + index % 4], **fields})
        for index in range(100)
    ]
    count = max(round(megabytes * 1e6 / len(samples[0])), 1)
    first, times = packer.pack(START_US), [START_US + index * 100 for index in range(count)]
    with path.open("wb") as file:
        file.write(packer.pack_map_header(2) + packer.pack("/task.varied") + packer.pack_array_header(count))
        for index, stamp in enumerate(times):
            file.write(samples[index * 37 % 100].replace(first, packer.pack(stamp), 1))
        file.write(packer.pack("/task.varied.meta") + packer.pack({"timestamps": times, "type": "RigidBodyState"}))
    measure(path, folder)


def measure_flattened(folder: Path, megabytes: int) -> None:
    """The same of the same samples when they are flattened: each field of all of them is a list of its own."""
    path = folder / "sherpa_tt_mcs_Logger_flattened.msg"
    name = "/mcs_sensor_processing.rigid_body_state_out"
    fields = {key: msgpack.packb(value) for key, value in state(0).items() if key != "timestamp"}
    count = max(round(megabytes * 1e6 / (18 + sum(map(len, fields.values())))), 1)
    times = np.full((count, 9), 0xCF, np.uint8)
    stamps = START_US + 10_000 * np.arange(count)
    times[:, 1:] = stamps.astype(">u8").view(np.uint8).reshape(count, 8)
    columns = {f"{name}/timestamp/microseconds": times.tobytes(), f"{name}.meta/timestamps": times.tobytes()}
    packer = msgpack.Packer(use_bin_type=False)
    with path.open("wb") as file:
        file.write(packer.pack_map_header(len(fields) + 3))
        file.write(packer.pack(f"{name}.meta/type") + packer.pack("RigidBodyState"))
        for key, data in columns.items():
            file.write(packer.pack(key) + packer.pack_array_header(count) + data)
        for key, item in fields.items():
            file.write(packer.pack(f"{name}/{key}") + packer.pack_array_header(count) + item * count)
    measure(path, folder)


def measure(path: Path, folder: Path) -> None:
    """What the commands take on a log, which is gone afterwards."""
    size = path.stat().st_size / 1e6
    environment = {**os.environ, "FIELDPLAY_CACHE": str(folder / "cache")}
    bag = str(folder / f"bag_of_{path.stem}")
    seen = False
    for command in (["info", str(path)], ["info", str(path)], ["check", str(path)], ["convert", str(path), bag]):
        title = "info again" if seen and command[0] == "info" else command[0]
        seen = True
        seconds, peak = run(["fieldplay", *command], environment)
        print(f"{title} of {path.name}, {size:.0f} MB: {seconds:.1f} s, {size / seconds:.0f} MB/s, peak {peak:.0f} MB")
    path.unlink()


def run(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Seconds and the peak of memory in MB of a command; that of all commands so far."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    return time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=300)
    chosen = parser.parse_args()
    compare_images()
    with TemporaryDirectory(prefix="fieldplay-bench-") as scratch:
        os.environ["FIELDPLAY_CACHE"] = f"{scratch}/cache-of-samples"
        compare_samples(Path(scratch))
        measure_log(Path(scratch), chosen.megabytes)
        measure_states(Path(scratch), chosen.megabytes)
        measure_varied(Path(scratch), chosen.megabytes)
        measure_flattened(Path(scratch), chosen.megabytes)


if __name__ == "__main__":
    main()
