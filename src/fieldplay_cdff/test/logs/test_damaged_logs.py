"""What is told of a damaged log is what is known: its place, what stands there, and no cause that cannot be."""

import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from fieldplay.core.errors import ArchiveError, Defect
from fieldplay.io.containers import FolderFiles
from fieldplay_cdff.logs import type_table
from fieldplay_cdff.logs.file_index import NO_TIME
from fieldplay_cdff.logs.log import Log, open_log
from fieldplay_cdff.logs.log_files import LogFiles
from fieldplay_testing import tiny_sherpatt as tiny

A, B = "/task.a", "/task.b"
CLOSED_AFTERWARDS = ExitStack()


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("FIELDPLAY_CACHE", str(tmp_path / "cache"))
    with CLOSED_AFTERWARDS:
        yield


def open_with_issues(path: Path, data: bytes | None = None) -> tuple[Log, list[Defect]]:
    if data is not None:
        path.write_bytes(data)
    defects: list[Defect] = []
    return CLOSED_AFTERWARDS.enter_context(open_log(path, defects.append)), defects


@pytest.mark.parametrize("step", [1, 3])  # bytes of a time that are there of the first that is cut
@pytest.mark.parametrize("whole", [0, 1, 4])
def test_times_before_truncation_apply_to_as_many_samples(whole: int, step: int, tmp_path: Path) -> None:
    data = tiny.pack(tiny.log_of({A: ("int32_t", [7, 300, -1, 4, 5])}))
    cut = data.index(b"timestamps") + len(b"timestamps") + 1 + 9 * whole + step
    logs, defects = open_with_issues(tmp_path / "x.msg", data[:cut])
    expected = [(tiny.times()[row] + tiny.LATE_US) * 1000 for row in range(whole)]
    assert logs.streams[A].logged_ns().tolist() == expected + [NO_TIME] * (5 - whole)
    assert logs.streams[A].samples(0, 5) == [7, 300, -1, 4, 5]
    assert [defect.kind for defect in defects] == ["truncated_log"]


@pytest.mark.parametrize(
    ("value", "kind"), [(7, type_table.LONG), (0.5, type_table.NUMBER), (True, type_table.TRUTH_VALUE)]
)
def test_plain_values_play_although_their_type_is_truncated(value: Any, kind: str, tmp_path: Path) -> None:
    data = tiny.pack(tiny.log_of({A: ("double_or_other", [value] * 3)}))
    logs, defects = open_with_issues(tmp_path / "x.msg", data[:-3])
    assert (logs.streams[A].kind, logs.streams[A].type) == (kind, "")
    assert (logs.streams[A].logged_ns() > 0).all() and len(defects) == 1


def gap_in_last(name: str, *, side: int) -> tuple[bytes, int, int]:
    """A log of three whole pictures and one in which a value is missing; where that begins, and the whole ones."""
    images = [tiny.rock_frame(time) for time in tiny.times()[:4]]
    for image in images:
        image["size"], image["row_size"] = {"width": side, "height": side}, side
        image[name] = image.pop(name) if name == "frame_status" else image[name]
    *whole, broken = [tiny.pack(image) for image in images]
    value = tiny.pack(name) + tiny.pack(images[-1][name])
    broken = broken.replace(value, tiny.pack(name))
    head = b"\x82" + tiny.pack(A) + b"\x94" + b"".join(whole)
    meta = tiny.pack(f"{A}.meta") + tiny.pack({"timestamps": tiny.times()[:4], "type": "Frame"})
    return head + broken + meta, len(head), len(whole)


@pytest.mark.parametrize("side", [6, 2048])
def test_gap_in_last_sample_is_reported_at_its_offset(side: int, tmp_path: Path) -> None:
    data, offset, whole = gap_in_last("image", side=side)
    logs, (defect,) = open_with_issues(tmp_path / "x.msg", data)
    assert len(logs.streams[A]) == whole
    assert defect.message.startswith(f"corrupt near byte {offset}: sample 3 of {A}: expected the name of a field, got")
    assert ("perhaps image had more than 1,000,000 items" in defect.message) == (side == 2048)
    assert "strict_map_key" not in defect.message


def test_sample_that_ends_with_name_of_its_times_is_dropped(tmp_path: Path) -> None:
    data, offset, whole = gap_in_last("frame_status", side=6)
    logs, (defect,) = open_with_issues(tmp_path / "x.msg", data)
    assert len(logs.streams[A]) == whole
    assert logs.streams[A].sample(whole - 1) == tiny.rock_frame(tiny.times()[whole - 1]) | {
        "size": {"width": 6, "height": 6}
    }
    assert defect.message.startswith(f"corrupt near byte {offset}: sample 3 of {A}: it holds the name of what follows")
    assert "1,000,000" not in defect.message


def test_damage_without_long_lists_is_not_attributed_to_converter(tmp_path: Path) -> None:
    data = bytearray(tiny.pack(tiny.log_of({A: ("RigidBodyState", [tiny.state(t) for t in tiny.times()])})))
    start = data.index(tiny.pack(tiny.state(tiny.times()[2])))
    data[start] += 1  # a map of one entry more
    logs, (defect,) = open_with_issues(tmp_path / "x.msg", bytes(data))
    assert len(logs.streams[A]) == 2
    assert defect.message.startswith(f"corrupt near byte {start}: sample 2 of {A}: ")
    assert "1,000,000" not in defect.message


@pytest.mark.parametrize("lost_row", [0, 2, 9])
@pytest.mark.parametrize(("name", "value"), [(5, 1), (None, 1), (True, [1]), (0.5, {"a": 1})])
def test_invalid_name_loses_only_its_sample(name: Any, value: Any, lost_row: int, tmp_path: Path) -> None:
    samples: list[dict[Any, Any]] = [tiny.state(time) for time in tiny.times()]
    fields = list(samples[2].items())
    samples[2] = dict([*fields[:lost_row], (name, value), *fields[lost_row:]])
    logs, defects = open_with_issues(
        tmp_path / "x.msg", tiny.pack(tiny.log_of({A: ("Pose", samples), B: ("Pose", samples)}))
    )
    assert not defects
    for stream in (logs.streams[A], logs.streams[B]):
        assert (stream.own_ns() == [time * 1000 for time in tiny.times()]).all()
        whole = [row for row in range(tiny.COUNT) if row != 2]
        assert tiny.pack([stream.sample(row) for row in whole]) == tiny.pack([samples[row] for row in whole])
        with pytest.raises(ArchiveError, match="where a name should be"):
            stream.sample(2)


@pytest.mark.parametrize("row", [1, 4])  # the next sample takes a value's place, or the name of the times does
@pytest.mark.parametrize("name", ["b", "d"])  # whose value is missing
def test_invalid_names_indicate_missing_value(name: str, row: int, tmp_path: Path) -> None:
    samples = [{"time": time, "c": {"d": 3, "e": 4}, "a": 1, "b": 2, "f": 5, "g": 6} for time in tiny.times()]
    whole = tiny.pack(samples[row])
    broken = whole.replace(tiny.pack({name: {"b": 2, "d": 3}[name]})[1:], tiny.pack(name))
    log = tiny.pack(tiny.log_of({A: ("Pose", samples)}))
    assert len(broken) == len(whole) - 1
    logs, (defect,) = open_with_issues(tmp_path / "x.msg", log.replace(whole, broken))
    assert len(logs.streams[A]) == row
    assert f"sample {row} of {A}: expected the name of a field, got int; " in defect.message


@pytest.mark.parametrize("times", [None, 5, "none", {"a": 1}])
@pytest.mark.parametrize("kind", ["Pose", list(range(100))])
def test_times_that_are_not_a_list_affect_only_their_stream(kind: Any, times: Any, tmp_path: Path) -> None:
    samples = [tiny.state(time) for time in tiny.times()]
    log = tiny.log_of({A: ("Pose", samples), B: ("Pose", samples)})
    log[f"{A}.meta"] = {"timestamps": times, "type": kind}
    logs, (defect,) = open_with_issues(tmp_path / "x.msg", tiny.pack(log))
    assert (defect.kind, defect.message.partition(":")[0]) == ("length_mismatch", A)
    assert [tiny.pack(stream.samples(0, 5)) for stream in logs.streams.values()] == [tiny.pack(samples)] * 2
    assert logs.streams[A].logged_ns().tolist() == [time * 1000 for time in tiny.times()]
    assert logs.streams[A].type == ("Pose" if kind == "Pose" else "")


def test_invalid_entries_among_times_are_skipped(tmp_path: Path) -> None:
    odd: list[Any] = [None, "x" * 300, [1] * 100, {5: 1}, 0.5, -1, 1 << 63, {"a": {"b": 1}}, False, b"12"]
    times = [time for index in range(200) for time in (odd[index % len(odd)], tiny.START_US + index)]
    log = {A: [1] * len(times), f"{A}.meta": {"timestamps": times, "type": "int32_t"}}
    logs, defects = open_with_issues(tmp_path / "x.msg", tiny.pack(log))
    expected = [NO_TIME if index % 2 == 0 else 1000 * times[index] for index in range(len(times))]
    assert not defects
    assert logs.streams[A].logged_ns().tolist() == expected
    assert logs.streams[A].logged_ns(31, 77).tolist() == expected[31:77]


def test_too_deep_nesting_is_reported_as_such(tmp_path: Path) -> None:
    defects: list[Defect] = []
    (tmp_path / "x.msg").write_bytes(b"\x81\xa2/a\x91" + b"\x81\xa1a" * 50_000 + b"\x01")
    with pytest.raises(ArchiveError):
        open_log(tmp_path / "x.msg", defects.append)
    assert "nested too deep" in defects[0].message and "1,000,000" not in defects[0].message


def test_wrong_checksum_of_packed_log_is_reported(tmp_path: Path) -> None:
    data = bytearray(tiny.pack(tiny.log_of({A: ("RigidBodyState", [tiny.state(t) for t in tiny.times()])})))
    checksum = zlib.compress(bytes(data))[-4:]
    data[data.index(tiny.pack(tiny.state(tiny.times()[2])))] += 1
    logs, (defect,) = open_with_issues(tmp_path / "x.msg.zz", zlib.compress(bytes(data))[:-4] + checksum)
    assert len(logs.streams[A]) == 2
    assert "zlib's checksum" in defect.message and "1,000,000" not in defect.message


def test_packed_log_with_only_wrong_checksum_is_read_completely(tmp_path: Path) -> None:
    data = tiny.pack(tiny.log_of({A: ("RigidBodyState", [tiny.state(t) for t in tiny.times()])}))
    logs, (defect,) = open_with_issues(tmp_path / "x.msg.zz", zlib.compress(data)[:-4] + b"none")
    assert len(logs.streams[A]) == tiny.COUNT and logs.streams[A].type == "RigidBodyState"
    assert logs.streams[A].sample(tiny.COUNT - 1)["pos"] == [0.4, 0.5, -0.25]
    assert "damaged: zlib's checksum" in defect.message and f"behind {len(data)} plain bytes" in defect.message


def test_duplicate_stream_in_map_loses_nothing(tmp_path: Path) -> None:
    first = {A: [1], f"{A}.meta": {"timestamps": tiny.times()[:1], "type": "int32_t"}}
    second = {A: [2, 3], f"{A}.meta": {"timestamps": tiny.times()[1:3], "type": "int32_t"}}
    data = b"\x84" + tiny.pack(first)[1:] + tiny.pack(second)[1:]
    logs, defects = open_with_issues(tmp_path / "x.msg", data)
    assert logs.streams[A].samples(0, 3) == [1, 2, 3]
    assert logs.streams[A].logged_ns().tolist() == [time * 1000 for time in tiny.times()[:3]]
    assert [defect.kind for defect in defects] == ["repeated_stream"]


@pytest.mark.parametrize("is_plain_first", [True, False])
def test_stream_with_samples_and_columns_keeps_both(tmp_path: Path, is_plain_first: bool) -> None:
    both = [(A, [{"x": 1}]), (f"{A}/x", [2, 3])]
    logs, defects = open_with_issues(tmp_path / "x.msg", tiny.pack(dict(both if is_plain_first else reversed(both))))
    assert sorted(sample["x"] for sample in logs.streams[A].samples(0, 3)) == [1, 2, 3]
    assert [defect.kind for defect in defects] == ["repeated_stream"]


@pytest.mark.parametrize(
    ("names", "is_noted"),
    [
        (("a_Logger_InFuse.msg", "b_Logger_InFuse.msg"), True),
        (("a_000000000.msg", "a_000001000.msg"), False),
        (("recording_20181202_0_1.msg", "recording_20181202_1_0.msg.zz"), False),
    ],
)
def test_recordings_of_other_names_with_same_stream_are_noted(
    names: tuple[str, str], is_noted: bool, tmp_path: Path
) -> None:
    for index, name in enumerate(names):
        samples = [tiny.state(time + index * 1_000_000) for time in tiny.times()]
        log = tiny.log_of({A: ("RigidBodyState", samples)})
        log[f"{A}.meta"]["timestamps"] = [time + index * 1_000_000 for time in tiny.times()]
        tiny.write(tmp_path / name, log, zipped=name.endswith("zz"))
    logs, defects = open_with_issues(tmp_path)
    assert not defects and len(logs.streams[A]) == 2 * tiny.COUNT
    gap_s = 1 - (tiny.COUNT - 1) * tiny.STEP_US / 1e6
    expected = (
        f"{A} lies in {names[0]} and in {names[1]}, so by their names they are two recordings: played as one, "
        f"the second {gap_s:.3f} s after the end of the first"
    )
    assert logs.notes == ([expected] if is_noted else [])


@pytest.mark.parametrize("other", [b"\x05", b"\xc0", b"\x82\xa1a\x01\xa1b\x02"])
@pytest.mark.parametrize("samples", [[0.5, 1.5], [tiny.state(time) for time in tiny.times()]])
def test_damaged_name_loses_no_earlier_sample(samples: list[Any], other: bytes, tmp_path: Path) -> None:
    log = tiny.log_of({A: ("Pose", samples), B: ("Pose", samples)})
    logs, defects = open_with_issues(tmp_path / "x.msg", tiny.pack(log).replace(tiny.pack(f"{A}.meta"), other))
    assert tiny.pack(logs.streams[A].samples(0, len(samples))) == tiny.pack(samples)
    assert [defect.kind for defect in defects] == ["corrupt_log"]
    assert "a stream's name: expected a text, got" in defects[0].message


def test_missing_log_is_reported_by_name(tmp_path: Path) -> None:
    (tmp_path / "x.msg").write_bytes(b"some bytes")
    logs = LogFiles(FolderFiles(tmp_path, pytest.fail))
    assert logs.read("x.msg", 5, 5, reader=1) == b"bytes"
    (tmp_path / "x.msg").unlink()
    with pytest.raises(ArchiveError, match=r"^x\.msg: cannot be read: No such file"):
        logs.read("x.msg", 5, 5, reader=2)
    logs.close()
