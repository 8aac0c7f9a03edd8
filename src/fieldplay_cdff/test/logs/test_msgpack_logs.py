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
from fieldplay_cdff.logs import log
from fieldplay_cdff.logs.index import file_index as index_cache
from fieldplay_cdff.logs.index.file_index import NO_TIME
from fieldplay_cdff.logs.log import Log, open_log
from fieldplay_testing import tiny_sherpatt as tiny

A, B = "/task.a", "/task.b"


CLOSED_AFTERWARDS = ExitStack()


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("FIELDPLAY_CACHE", str(tmp_path / "cache"))
    with CLOSED_AFTERWARDS:
        yield tmp_path / "cache"


def opened(path: Path) -> tuple[Log, list[Defect]]:
    defects: list[Defect] = []
    return CLOSED_AFTERWARDS.enter_context(open_log(path, defects.append)), defects


def states() -> list[Any]:
    return [tiny.state(time) for time in tiny.times()]


def same(found: Any, expected: Any) -> bool:
    return bool(tiny.pack(found) == tiny.pack(expected))  # NaN equals NaN there


STREAMS: tiny.Streams = {A: ("RigidBodyState", states()), B: ("Joints", [tiny.joints(t) for t in tiny.times()])}


@pytest.mark.parametrize(
    "form", ["plain", "meta first", "zipped", "flattened", "flattened and zipped", "joined", "parts"]
)
def test_all_forms_of_a_log_hold_the_same_samples_and_times(form: str, tmp_path: Path) -> None:
    path = tmp_path / ("x.msg.zz" if "zipped" in form else "x.msg")
    data = tiny.flatten(STREAMS) if "flattened" in form else tiny.log_of(STREAMS, meta_first=form == "meta first")
    tiny.write(path, data, zipped="zipped" in form)
    if form == "joined":
        path.write_bytes(b"".join(tiny.pack(tiny.log_of({name: STREAMS[name]})) for name in STREAMS))
    if form == "parts":
        path.unlink()
        for part, name in enumerate(STREAMS):
            tiny.write(tmp_path / f"x_{part:09d}.msg", tiny.log_of({name: STREAMS[name]}))
    logs, defects = opened(tmp_path)
    assert not defects
    for name, (kind, samples) in STREAMS.items():
        stream = logs.streams[name]
        assert (stream.type, stream.unit, len(stream)) == (kind, "us", tiny.COUNT)
        assert same(stream.samples(0, tiny.COUNT), samples)
        assert stream.own_ns().tolist() == [time * 1000 for time in tiny.times()]
        assert stream.logged_ns().tolist() == [(time + tiny.LATE_US) * 1000 for time in tiny.times()]


def test_fields_may_stand_in_any_order(tmp_path: Path) -> None:
    shuffled = []
    for seed, sample in enumerate(states()):
        items = list(sample.items())
        random.Random(seed).shuffle(items)
        shuffled.append(dict(items))
    logs, defects = opened(tiny.write(tmp_path / "x.msg", tiny.log_of({A: ("RigidBodyState", shuffled)})))
    assert not defects
    assert logs.streams[A].own_ns().tolist() == [time * 1000 for time in tiny.times()]


def test_times_in_nanoseconds_are_told_by_their_size(tmp_path: Path) -> None:
    log_ns = {A: [tiny.frame(time, scale=1000) for time in tiny.times()]}
    log_ns[f"{A}.meta"] = {"timestamps": [1532433037769027709] * tiny.COUNT, "type": "Frame"}
    logs, _ = opened(tiny.write(tmp_path / "x.msg", log_ns))
    assert logs.streams[A].unit == "ns"
    assert logs.streams[A].own_ns().tolist() == [time * 1000 for time in tiny.times()]
    assert set(logs.streams[A].logged_ns().tolist()) == {1532433037769027709}


def test_samples_before_a_cut_are_read_wherever_it_is(tmp_path: Path) -> None:
    data = tiny.pack(tiny.log_of({A: ("RigidBodyState", states())}))
    start = data.index(tiny.pack(states()[0]))
    ends = [start + sum(len(tiny.pack(state)) for state in states()[: row + 1]) for row in range(tiny.COUNT)]
    for cut in sorted({*range(1, len(data), 37), *ends, *(end - 1 for end in ends), len(data) - 1}):
        path = tmp_path / "x.msg"
        path.write_bytes(data[:cut])
        try:
            logs, defects = opened(path)
        except ArchiveError:
            whole = 0
        else:
            assert [defect.kind for defect in defects] == ["truncated_log"]
            assert "corrupt near byte" in defects[0].message and f"ends at byte {cut}" in defects[0].message
            whole = len(logs.streams[A])
            assert logs.streams[A].own_ns().tolist() == [time * 1000 for time in tiny.times()[:whole]]
            assert logs.streams[A].kind == "RigidBodyState"
            assert (logs.streams[A].logged_ns() > 0).all()
        assert whole == sum(end <= cut for end in ends)


def test_a_log_whose_meta_is_lost_is_timed_by_its_samples(tmp_path: Path) -> None:
    data = tiny.pack(tiny.log_of({A: ("RigidBodyState", states())}))
    path = tmp_path / "x.msg"
    path.write_bytes(data[: data.index(b"timestamps")])
    logs, defects = opened(path)
    assert len(logs.streams[A]) == tiny.COUNT and logs.streams[A].type == ""
    assert logs.streams[A].logged_ns().tolist() == logs.streams[A].own_ns().tolist()
    assert len(defects) == 1


def left_out(samples: list[Any], row: int, name: str) -> bytes:
    """A list of samples of which one lacks a value, and all behind it: so the converter leaves out long lists."""
    parts = [tiny.pack(sample) for sample in samples]
    keys = list(samples[row])
    kept = keys[: keys.index(name)]
    head = bytes((0x80 + len(keys),)) + b"".join(tiny.pack(k) + tiny.pack(samples[row][k]) for k in kept)
    parts[row] = head + tiny.pack(name)
    return bytes((0x90 + len(samples),)) + b"".join(parts)


@pytest.mark.parametrize("row", [0, 2, 4])
def test_a_list_that_the_converter_left_out_is_told_with_its_place(row: int, tmp_path: Path) -> None:
    samples = [tiny.rock_frame(time) for time in tiny.times()]
    for sample in samples:
        sample["image"] = sample["image"] * 5000
    stream = left_out(samples, row, "image")
    meta = tiny.pack({"timestamps": tiny.times(), "type": "/base/samples/frame/Frame"})
    path = tmp_path / "x.msg"
    path.write_bytes(b"\x82" + tiny.pack(A) + stream + tiny.pack(f"{A}.meta") + meta)
    start = 1 + len(tiny.pack(A)) + 1 + sum(len(tiny.pack(sample)) for sample in samples[:row])
    if row:
        logs, defects = opened(path)
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
def test_hostile_heads_are_told(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.msg"
    path.write_bytes(data)
    with pytest.raises(ArchiveError, match="expected logs of MessagePack"):
        open_log(path, lambda defect: None)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_damage_is_told_or_harmless(data: st.DataObject) -> None:
    whole = bytearray(tiny.pack(tiny.log_of(STREAMS)))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(whole) - 1))
        new = data.draw(st.binary(max_size=6))
        whole[place : place + data.draw(st.integers(0, 6))] = new
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.msg"
        path.write_bytes(bytes(whole))
        try:
            with open_log(path, lambda defect: None) as logs:
                for stream in logs.streams.values():
                    for row in range(len(stream)):
                        read_or_told(stream, row)
        except ArchiveError as error:
            assert "expected" in str(error)


def read_or_told(stream: Any, row: int) -> None:
    for arrays in (False, True):
        try:
            stream.sample(row, arrays=arrays)
        except ArchiveError as error:
            assert "expected" in str(error)


def test_samples_come_in_the_order_of_logging_ties_to_the_first_that_is_named(tmp_path: Path) -> None:
    tiny.write(tmp_path / "a.msg", tiny.log_of(STREAMS))
    logs, _ = opened(tmp_path)
    for names in ((A, B), (B, A)):
        found = [(entry.time_us, entry.stream) for entry in logs.entries(names)]
        assert found == [(time + tiny.LATE_US, name) for time in tiny.times() for name in names]
    assert [entry.sample["pos"][0] for entry in logs.entries([A], first=1, last=3)] == [0.1, 0.2]
    with pytest.raises(ArchiveError, match=r"no stream /task\.c; there are /task\.a, /task\.b"):
        logs.entries(["/task.c"])


def test_what_has_no_time_at_all_says_so(tmp_path: Path) -> None:
    logs, _ = opened(tiny.write(tmp_path / "x.msg", {A: [1, 2, 3]}))
    assert logs.streams[A].own_ns().tolist() == [NO_TIME] * 3 == logs.streams[A].logged_ns().tolist()


def test_fewer_times_than_samples_are_told(tmp_path: Path) -> None:
    data = tiny.log_of({A: ("RigidBodyState", states())})
    data[f"{A}.meta"]["timestamps"].pop()
    logs, defects = opened(tiny.write(tmp_path / "x.msg", data))
    assert [defect.kind for defect in defects] == ["length_mismatch"]
    assert logs.streams[A].logged_ns()[-1] == tiny.times()[-1] * 1000


def test_settings_are_no_logs(tmp_path: Path) -> None:
    tiny.write(tmp_path / "x_tf.msg", tiny.FRAMES)
    tiny.write(tmp_path / "x_camera.msg", tiny.CAMERAS)
    logs, defects = opened(tmp_path)
    assert not defects and not logs.streams
    assert logs.settings["x_tf.msg"]["tcp", "camera_left"]["translation"] == (0.15, 0.045, 0.26)
    assert logs.settings["x_camera.msg"]["/hcru1/pt_stereo_rect/right/camera_info"]["baseline"] == 0.0900125


def test_of_a_log_before_and_after_conversion_one_is_read(tmp_path: Path) -> None:
    for name in ("x_Logger.msg", "x_Logger_InFuse.msg", "y_Logger.msg", "y_Logger.msg.zz"):
        tiny.write(tmp_path / name, tiny.log_of(STREAMS), zipped=name.endswith("zz"))
    with log.files_of(tmp_path, lambda defect: None) as files:
        notes: list[str] = []
        assert log.log_names(files, notes.append) == ["x_Logger_InFuse.msg", "y_Logger.msg"]
    assert len(notes) == 2


def test_an_index_is_kept_outside_and_used_until_the_log_changes(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_cache, "SMALLEST", 0)
    folder = tmp_path / "logs"
    path = tiny.write(folder / "x.msg", tiny.flatten(STREAMS))
    opened(folder)
    assert len(list(own_cache.iterdir())) == 1 and list(folder.iterdir()) == [path]
    monkeypatch.setattr(log, "index_of_log", lambda file, moved: pytest.fail("it is kept"))
    logs, _ = opened(folder)
    assert same(logs.streams[B].samples(0, tiny.COUNT), STREAMS[B][1])
    monkeypatch.undo()
    monkeypatch.setenv("FIELDPLAY_CACHE", str(own_cache))
    tiny.write(path, tiny.log_of({A: ("RigidBodyState", states()[:2])}))
    assert len(opened(folder)[0].streams[A]) == 2


def test_a_cache_that_cannot_be_written_or_read_does_no_harm(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_cache, "SMALLEST", 0)
    folder = tmp_path / "logs"
    tiny.write(folder / "x.msg", tiny.log_of(STREAMS))
    opened(folder)
    (kept,) = own_cache.iterdir()
    for content in (b"", b"PK\x03\x04 no zip", os.urandom(500)):
        kept.write_bytes(content)
        assert len(opened(folder)[0].streams[A]) == tiny.COUNT
    monkeypatch.setenv("FIELDPLAY_CACHE", str(folder / "x.msg" / "below a file"))
    assert len(opened(folder)[0].streams[A]) == tiny.COUNT


def test_a_kept_index_with_another_number_in_it_is_made_anew(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_cache, "SMALLEST", 0)
    tiny.write(tmp_path / "logs" / "x.msg", tiny.log_of(STREAMS))
    opened(tmp_path / "logs")
    (kept,) = own_cache.iterdir()
    with np.load(kept) as data:
        arrays = {name: data[name] for name in data.files}
    for name in [name for name in arrays if name.endswith("_samples")]:
        arrays[name]["begin"] = 1 << 62
    np.savez(kept, **arrays)
    assert same(opened(tmp_path / "logs")[0].streams[A].sample(0), STREAMS[A][1][0])
    with zipfile.ZipFile(kept, "w") as packed:
        packed.writestr("head.npy", b"\x93NUMPY\1\0\x10\0{'shape': (      ")
    assert same(opened(tmp_path / "logs")[0].streams[A].sample(0), STREAMS[A][1][0])


@pytest.mark.parametrize("flip", [(6, 0x01), (8, 0x10)], ids=["a password", "a packing that is unknown"])
def test_a_kept_index_of_which_a_bit_has_turned_is_made_anew(
    flip: tuple[int, int], tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_cache, "SMALLEST", 0)
    tiny.write(tmp_path / "logs" / "x.msg", tiny.log_of(STREAMS))
    opened(tmp_path / "logs")
    (kept,) = own_cache.iterdir()
    data = bytearray(kept.read_bytes())
    place, bit = flip
    data[place] ^= bit  # of the first file's own head
    data[data.index(b"PK\x01\x02") + 2 + place] ^= bit  # and of the list of files
    kept.write_bytes(data)
    assert len(opened(tmp_path / "logs")[0].streams[A]) == tiny.COUNT


def test_the_index_of_a_log_that_is_replaced_while_it_is_gone_through_is_not_kept(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_cache, "SMALLEST", 0)
    folder, go_through = tmp_path / "logs", log.index_of_log
    path = tiny.write(folder / "x.msg", tiny.log_of(STREAMS))

    def replaced_meanwhile(*given: Any) -> Any:
        index = go_through(*given)
        tiny.write(path, tiny.log_of({A: ("RigidBodyState", states()[:2])}))
        return index

    monkeypatch.setattr(log, "index_of_log", replaced_meanwhile)
    opened(folder)
    monkeypatch.setattr(log, "index_of_log", go_through)
    assert len(opened(folder)[0].streams[A]) == 2


def test_a_packed_log_is_read_at_random_and_up_to_its_fault(tmp_path: Path) -> None:
    images = {A: ("Frame", [tiny.frame(time, data=list(range(256)) * 400) for time in tiny.times() * 20])}
    path = tiny.write(tmp_path / "x.msg.zz", tiny.log_of(images), zipped=True)
    logs, defects = opened(path)
    stream = logs.streams[A]
    assert not defects and len(stream) == 100
    for row in (99, 3, 50, 51, 0):
        assert stream.sample(row) == images[A][1][row]
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    logs, defects = opened(path)
    assert 20 < len(logs.streams[A]) < 80
    assert [defect.kind for defect in defects] == ["corrupt_log"]


def test_opening_tells_how_far_it_is(tmp_path: Path) -> None:
    tiny.write(tmp_path / "a.msg", tiny.log_of(STREAMS))
    tiny.write(tmp_path / "b.msg", tiny.log_of(STREAMS))
    told: list[float] = []
    with track_opening(lambda fraction, _: told.append(fraction)):
        opened(tmp_path)
    assert told == sorted(told) and told[-1] == 1.0 and len(told) >= 4


def test_long_lists_of_images_become_arrays(tmp_path: Path) -> None:
    values = [value % 256 for value in range(3000)]
    frames = {A: ("Frame", [tiny.frame(time, data=values) for time in tiny.times()])}
    for data in (tiny.log_of(frames), tiny.flatten(frames)):
        logs, _ = opened(tiny.write(tmp_path / "x.msg", data))
        found = logs.streams[A].sample(2, arrays=True)["data"]["data"]
        assert isinstance(found, np.ndarray) and found.tolist() == values
        assert logs.streams[A].sample(2)["data"]["data"] == values


def test_a_log_with_ext_types_is_none_of_ours_but_does_no_harm(tmp_path: Path) -> None:
    data = {A: [{"timestamp": msgpack.ExtType(1, b"12345678"), "x": msgpack.Timestamp(1)}]}
    path = tmp_path / "x.msg"
    path.write_bytes(msgpack.packb(data))
    logs, _ = opened(path)
    assert len(logs.streams[A]) == 1 and logs.streams[A].kind == ""
