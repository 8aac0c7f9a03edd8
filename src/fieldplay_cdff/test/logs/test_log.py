"""Logs are read up to their fault, whole or flattened or packed, in the order of time, and their index is kept."""

import os
import random
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fieldplay.core.errors import ArchiveError, Defect
from fieldplay.core.progress import track_opening
from fieldplay_cdff.logs import file_index as index_cache
from fieldplay_cdff.logs import log
from fieldplay_cdff.logs.file_index import NO_TIME
from fieldplay_cdff.logs.log import Log, open_log
from fieldplay_testing import tiny_sherpatt as tiny

A, B = "/task.a", "/task.b"


CLOSED_AFTERWARDS = ExitStack()


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("FIELDPLAY_CACHE", str(tmp_path / "cache"))
    with CLOSED_AFTERWARDS:
        yield tmp_path / "cache"


def open_with_issues(path: Path) -> tuple[Log, list[Defect]]:
    defects: list[Defect] = []
    return CLOSED_AFTERWARDS.enter_context(open_log(path, defects.append)), defects


def states() -> list[Any]:
    return [tiny.state(time) for time in tiny.times()]


def same(actual: Any, expected: Any) -> bool:
    return bool(tiny.pack(actual) == tiny.pack(expected))  # NaN equals NaN there


STREAMS: tiny.Streams = {A: ("RigidBodyState", states()), B: ("Joints", [tiny.joints(t) for t in tiny.times()])}


@pytest.mark.parametrize(
    "form", ["plain", "meta first", "zipped", "flattened", "flattened and zipped", "joined", "parts"]
)
def test_all_log_formats_have_same_samples_and_times(form: str, tmp_path: Path) -> None:
    path = tmp_path / ("x.msg.zz" if "zipped" in form else "x.msg")
    data = tiny.flatten(STREAMS) if "flattened" in form else tiny.log_of(STREAMS, meta_first=form == "meta first")
    tiny.write(path, data, zipped="zipped" in form)
    if form == "joined":
        path.write_bytes(b"".join(tiny.pack(tiny.log_of({name: STREAMS[name]})) for name in STREAMS))
    if form == "parts":
        path.unlink()
        for part, name in enumerate(STREAMS):
            tiny.write(tmp_path / f"x_{part:09d}.msg", tiny.log_of({name: STREAMS[name]}))
    logs, defects = open_with_issues(tmp_path)
    assert not defects
    for name, (kind, samples) in STREAMS.items():
        stream = logs.streams[name]
        assert (stream.type, stream.unit, len(stream)) == (kind, "us", tiny.COUNT)
        assert same(stream.samples(0, tiny.COUNT), samples)
        assert stream.own_ns().tolist() == [time * 1000 for time in tiny.times()]
        assert stream.logged_ns().tolist() == [(time + tiny.LATE_US) * 1000 for time in tiny.times()]


def test_fields_are_accepted_in_any_order(tmp_path: Path) -> None:
    shuffled = []
    for seed, sample in enumerate(states()):
        items = list(sample.items())
        random.Random(seed).shuffle(items)
        shuffled.append(dict(items))
    logs, defects = open_with_issues(tiny.write(tmp_path / "x.msg", tiny.log_of({A: ("RigidBodyState", shuffled)})))
    assert not defects
    assert logs.streams[A].own_ns().tolist() == [time * 1000 for time in tiny.times()]


def test_nanosecond_times_are_recognised_by_their_size(tmp_path: Path) -> None:
    log_ns = {A: [tiny.frame(time, scale=1000) for time in tiny.times()]}
    log_ns[f"{A}.meta"] = {"timestamps": [1532433037769027709] * tiny.COUNT, "type": "Frame"}
    logs, _ = open_with_issues(tiny.write(tmp_path / "x.msg", log_ns))
    assert logs.streams[A].unit == "ns"
    assert logs.streams[A].own_ns().tolist() == [time * 1000 for time in tiny.times()]
    assert set(logs.streams[A].logged_ns().tolist()) == {1532433037769027709}


def test_samples_before_truncation_are_read(tmp_path: Path) -> None:
    data = tiny.pack(tiny.log_of({A: ("RigidBodyState", states())}))
    start = data.index(tiny.pack(states()[0]))
    stops = [start + sum(len(tiny.pack(state)) for state in states()[: row + 1]) for row in range(tiny.COUNT)]
    for cut in sorted({*range(1, len(data), 37), *stops, *(end - 1 for end in stops), len(data) - 1}):
        path = tmp_path / "x.msg"
        path.write_bytes(data[:cut])
        try:
            logs, defects = open_with_issues(path)
        except ArchiveError:
            whole = 0
        else:
            assert [defect.kind for defect in defects] == ["truncated_log"]
            assert "corrupt near byte" in defects[0].message and f"ends at byte {cut}" in defects[0].message
            whole = len(logs.streams[A])
            assert logs.streams[A].own_ns().tolist() == [time * 1000 for time in tiny.times()[:whole]]
            assert logs.streams[A].kind == "RigidBodyState"
            assert (logs.streams[A].logged_ns() > 0).all()
        assert whole == sum(end <= cut for end in stops)


def test_log_without_meta_uses_sample_times(tmp_path: Path) -> None:
    data = tiny.pack(tiny.log_of({A: ("RigidBodyState", states())}))
    path = tmp_path / "x.msg"
    path.write_bytes(data[: data.index(b"timestamps")])
    logs, defects = open_with_issues(path)
    assert len(logs.streams[A]) == tiny.COUNT and logs.streams[A].type == ""
    assert logs.streams[A].logged_ns().tolist() == logs.streams[A].own_ns().tolist()
    assert len(defects) == 1


def drop_following_lists(samples: list[Any], row: int, name: str) -> bytes:
    """A list of samples of which one lacks a value, and all behind it: so the converter leaves out long lists."""
    parts = [tiny.pack(sample) for sample in samples]
    keys = list(samples[row])
    keys_before = keys[: keys.index(name)]
    head = bytes((0x80 + len(keys),)) + b"".join(tiny.pack(k) + tiny.pack(samples[row][k]) for k in keys_before)
    parts[row] = head + tiny.pack(name)
    return bytes((0x90 + len(samples),)) + b"".join(parts)


@pytest.mark.parametrize("row", [0, 2, 4])
def test_list_dropped_by_converter_is_reported_with_its_offset(row: int, tmp_path: Path) -> None:
    samples = [tiny.rock_frame(time) for time in tiny.times()]
    for sample in samples:
        sample["image"] = sample["image"] * 5000
    stream = drop_following_lists(samples, row, "image")
    meta = tiny.pack({"timestamps": tiny.times(), "type": "/base/samples/frame/Frame"})
    path = tmp_path / "x.msg"
    path.write_bytes(b"\x82" + tiny.pack(A) + stream + tiny.pack(f"{A}.meta") + meta)
    start = 1 + len(tiny.pack(A)) + 1 + sum(len(tiny.pack(sample)) for sample in samples[:row])
    if row:
        logs, defects = open_with_issues(path)
        assert len(logs.streams[A]) == row
    else:
        defects = []
        with pytest.raises(ArchiveError):
            open_log(path, defects.append)
    assert [defect.message.split(":")[0] for defect in defects] == [f"corrupt near byte {start}"]
    assert "perhaps image had more than 1,000,000 items" in defects[0].message  # no size is there to tell otherwise


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\x01", b"\xc1", b"\x80", b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\x81\xdb\x7f\xff\xff\xff",
        b"\x81\xa1a\xdd\xff\xff\xff\xff", b"\x81\xa1a" + b"\x91" * 5000, b"\x81\xa1a\xdb\xff\xff\xff\xff",
        b"\x81\xa1a\x91\xc6\xff\xff\xff\xff",
    ],
)  # fmt: skip
def test_malicious_headers_are_reported(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.msg"
    path.write_bytes(data)
    with pytest.raises(ArchiveError, match="expected logs of MessagePack"):
        open_log(path, lambda defect: None)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_damage_is_reported_or_harmless(data: st.DataObject) -> None:
    whole = bytearray(tiny.pack(tiny.log_of(STREAMS)))
    for _ in range(data.draw(st.integers(1, 4))):
        offset = data.draw(st.integers(0, len(whole) - 1))
        new = data.draw(st.binary(max_size=6))
        whole[offset : offset + data.draw(st.integers(0, 6))] = new
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.msg"
        path.write_bytes(bytes(whole))
        try:
            with open_log(path, lambda defect: None) as logs:
                for stream in logs.streams.values():
                    for row in range(len(stream)):
                        read_or_report(stream, row)
        except ArchiveError as error:
            assert "expected" in str(error)


def read_or_report(stream: Any, row: int) -> None:
    for arrays in (False, True):
        try:
            stream.sample(row, arrays=arrays)
        except ArchiveError as error:
            assert "expected" in str(error)


def test_samples_are_ordered_by_logging_time_then_stream_order(tmp_path: Path) -> None:
    tiny.write(tmp_path / "a.msg", tiny.log_of(STREAMS))
    logs, _ = open_with_issues(tmp_path)
    for names in ((A, B), (B, A)):
        entries = [(entry.time_us, entry.stream) for entry in logs.entries(names)]
        assert entries == [(time + tiny.LATE_US, name) for time in tiny.times() for name in names]
    assert [entry.sample["pos"][0] for entry in logs.entries([A], first=1, last=3)] == [0.1, 0.2]
    with pytest.raises(ArchiveError, match=r"no stream /task\.c; there are /task\.a, /task\.b"):
        logs.entries(["/task.c"])


def test_log_without_any_times_is_reported(tmp_path: Path) -> None:
    logs, _ = open_with_issues(tiny.write(tmp_path / "x.msg", {A: [1, 2, 3]}))
    assert logs.streams[A].own_ns().tolist() == [NO_TIME] * 3 == logs.streams[A].logged_ns().tolist()


def test_fewer_times_than_samples_are_reported(tmp_path: Path) -> None:
    data = tiny.log_of({A: ("RigidBodyState", states())})
    data[f"{A}.meta"]["timestamps"].pop()
    logs, defects = open_with_issues(tiny.write(tmp_path / "x.msg", data))
    assert [defect.kind for defect in defects] == ["length_mismatch"]
    assert logs.streams[A].logged_ns()[-1] == tiny.times()[-1] * 1000


def test_settings_are_not_logs(tmp_path: Path) -> None:
    tiny.write(tmp_path / "x_tf.msg", tiny.FRAMES)
    tiny.write(tmp_path / "x_camera.msg", tiny.CAMERAS)
    logs, defects = open_with_issues(tmp_path)
    assert not defects and not logs.streams
    assert logs.settings["x_tf.msg"]["tcp", "camera_left"]["translation"] == (0.15, 0.045, 0.26)
    assert logs.settings["x_camera.msg"]["/hcru1/pt_stereo_rect/right/camera_info"]["baseline"] == 0.0900125


def test_log_before_and_after_conversion_is_read_once(tmp_path: Path) -> None:
    for name in ("x_Logger.msg", "x_Logger_InFuse.msg", "y_Logger.msg", "y_Logger.msg.zz"):
        tiny.write(tmp_path / name, tiny.log_of(STREAMS), zipped=name.endswith("zz"))
    with log.files_of(tmp_path, lambda defect: None) as files:
        notes: list[str] = []
        assert log.log_names(files, notes.append) == ["x_Logger_InFuse.msg", "y_Logger.msg"]
    assert len(notes) == 2


def test_index_is_cached_outside_archive_until_log_changes(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_cache, "SMALLEST", 0)
    folder = tmp_path / "logs"
    path = tiny.write(folder / "x.msg", tiny.flatten(STREAMS))
    open_with_issues(folder)
    assert len(list(own_cache.iterdir())) == 1 and list(folder.iterdir()) == [path]
    monkeypatch.setattr(log, "index_of_log", lambda file, moved: pytest.fail("it is kept"))
    logs, _ = open_with_issues(folder)
    assert same(logs.streams[B].samples(0, tiny.COUNT), STREAMS[B][1])
    monkeypatch.undo()
    monkeypatch.setenv("FIELDPLAY_CACHE", str(own_cache))
    tiny.write(path, tiny.log_of({A: ("RigidBodyState", states()[:2])}))
    assert len(open_with_issues(folder)[0].streams[A]) == 2


def test_unwritable_or_unreadable_cache_is_harmless(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_cache, "SMALLEST", 0)
    folder = tmp_path / "logs"
    tiny.write(folder / "x.msg", tiny.log_of(STREAMS))
    open_with_issues(folder)
    (cache_file,) = own_cache.iterdir()
    for content in (b"", b"PK\x03\x04 no zip", os.urandom(500)):
        cache_file.write_bytes(content)
        assert len(open_with_issues(folder)[0].streams[A]) == tiny.COUNT
    monkeypatch.setenv("FIELDPLAY_CACHE", str(folder / "x.msg" / "below a file"))
    assert len(open_with_issues(folder)[0].streams[A]) == tiny.COUNT


def test_cached_index_with_changed_number_is_rebuilt(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_cache, "SMALLEST", 0)
    tiny.write(tmp_path / "logs" / "x.msg", tiny.log_of(STREAMS))
    open_with_issues(tmp_path / "logs")
    (cache_file,) = own_cache.iterdir()
    with np.load(cache_file) as data:
        arrays = {name: data[name] for name in data.files}
    for name in [name for name in arrays if name.endswith("_samples")]:
        arrays[name]["begin"] = 1 << 62
    np.savez(cache_file, **arrays)
    assert same(open_with_issues(tmp_path / "logs")[0].streams[A].sample(0), STREAMS[A][1][0])
    with zipfile.ZipFile(cache_file, "w") as packed:
        packed.writestr("head.npy", b"\x93NUMPY\1\0\x10\0{'shape': (      ")
    assert same(open_with_issues(tmp_path / "logs")[0].streams[A].sample(0), STREAMS[A][1][0])


@pytest.mark.parametrize("flip", [(6, 0x01), (8, 0x10)], ids=["a password", "a packing that is unknown"])
def test_cached_index_with_flipped_bit_is_rebuilt(
    flip: tuple[int, int], tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_cache, "SMALLEST", 0)
    tiny.write(tmp_path / "logs" / "x.msg", tiny.log_of(STREAMS))
    open_with_issues(tmp_path / "logs")
    (cache_file,) = own_cache.iterdir()
    data = bytearray(cache_file.read_bytes())
    offset, bit = flip
    data[offset] ^= bit  # of the first file's own head
    data[data.index(b"PK\x01\x02") + 2 + offset] ^= bit  # and of the list of files
    cache_file.write_bytes(data)
    assert len(open_with_issues(tmp_path / "logs")[0].streams[A]) == tiny.COUNT


def test_index_of_log_replaced_during_scan_is_not_cached(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_cache, "SMALLEST", 0)
    folder, go_through = tmp_path / "logs", log.index_of_log
    path = tiny.write(folder / "x.msg", tiny.log_of(STREAMS))

    def replaced_meanwhile(*arguments: Any) -> Any:
        index = go_through(*arguments)
        tiny.write(path, tiny.log_of({A: ("RigidBodyState", states()[:2])}))
        return index

    monkeypatch.setattr(log, "index_of_log", replaced_meanwhile)
    open_with_issues(folder)
    monkeypatch.setattr(log, "index_of_log", go_through)
    assert len(open_with_issues(folder)[0].streams[A]) == 2


def test_packed_log_is_read_at_random_up_to_its_issue(tmp_path: Path) -> None:
    images = {A: ("Frame", [tiny.frame(time, data=list(range(256)) * 400) for time in tiny.times() * 20])}
    path = tiny.write(tmp_path / "x.msg.zz", tiny.log_of(images), zipped=True)
    logs, defects = open_with_issues(path)
    stream = logs.streams[A]
    assert not defects and len(stream) == 100
    for row in (99, 3, 50, 51, 0):
        assert stream.sample(row) == images[A][1][row]
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    logs, defects = open_with_issues(path)
    assert 20 < len(logs.streams[A]) < 80
    assert [defect.kind for defect in defects] == ["corrupt_log"]


def test_opening_reports_progress(tmp_path: Path) -> None:
    tiny.write(tmp_path / "a.msg", tiny.log_of(STREAMS))
    tiny.write(tmp_path / "b.msg", tiny.log_of(STREAMS))
    fractions: list[float] = []
    with track_opening(lambda fraction, _: fractions.append(fraction)):
        open_with_issues(tmp_path)
    assert fractions == sorted(fractions) and fractions[-1] == 1.0 and len(fractions) >= 4


def test_long_lists_of_images_become_arrays(tmp_path: Path) -> None:
    values = [value % 256 for value in range(3000)]
    frames = {A: ("Frame", [tiny.frame(time, data=values) for time in tiny.times()])}
    for data in (tiny.log_of(frames), tiny.flatten(frames)):
        logs, _ = open_with_issues(tiny.write(tmp_path / "x.msg", data))
        array = logs.streams[A].sample(2, arrays=True)["data"]["data"]
        assert isinstance(array, np.ndarray) and array.tolist() == values
        assert logs.streams[A].sample(2)["data"]["data"] == values


def test_log_with_ext_types_is_harmless(tmp_path: Path) -> None:
    data = {A: [{"timestamp": msgpack.ExtType(1, b"12345678"), "x": msgpack.Timestamp(1)}]}
    path = tmp_path / "x.msg"
    path.write_bytes(msgpack.packb(data))
    logs, _ = open_with_issues(path)
    assert len(logs.streams[A]) == 1 and logs.streams[A].kind == ""
