"""A new type of samples is a row in the table of types and a function: then it plays as any other."""

from pathlib import Path
from typing import Any

import pytest

from fieldplay.datasets.registry import open_dataset
from fieldplay.messages.records import Record, Temperature
from fieldplay_cdff.logs.sample_rows import SampleRows, no_numbers
from fieldplay_cdff.logs.type_table import TYPES, SampleType
from fieldplay_testing import tiny_sherpatt as tiny
from support.sherpatt_messages import defects_of, messages_of

ZERO_DEG_C_IN_K = 273.15
STREAM, TOPIC = "/weather.air", "weather/air"


def temperatures_from_samples(rows: SampleRows, stamp_ns: Any) -> Record:
    kelvin = rows.numbers("kelvin")
    rows.report_issue(no_numbers(kelvin[:, None]), "expected kelvin, got NaN")
    return Temperature(stamp_ns=stamp_ns, temperature_deg_c=kelvin - ZERO_DEG_C_IN_K)


ROW = SampleType(
    kind="Temperature",
    message="sensor_msgs/msg/Temperature",
    fields=("kelvin",),
    record=temperatures_from_samples,
)


def written(root: Path, kind: str) -> Path:
    samples = [{"time": {"microseconds": time}, "kelvin": 280.0 + row} for row, time in enumerate(tiny.times())]
    samples[2]["kelvin"] = "warm"
    return tiny.write(root / "weather_Logger.msg", tiny.log_of({STREAM: (kind, samples)}))


def test_type_without_row_is_not_played(tmp_path: Path) -> None:
    path = written(tmp_path, "/base/samples/Temperature")
    with open_dataset(path, "sherpatt", allow_empty=True) as archive:
        assert f"{STREAM}: 5 samples of /base/samples/Temperature are not played" in archive.notes
        assert not archive.streams


@pytest.mark.parametrize("kind", ["/base/samples/Temperature_m", "asn1SccTemperature", "another name"])
def test_type_with_row_plays_known_by_its_name_or_by_its_fields(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TYPES, ROW.kind, ROW)
    path = written(tmp_path, kind)
    messages = messages_of(path)[TOPIC]
    assert [stamp for stamp, _ in messages] == [time * 1000 for time in tiny.times() if time != tiny.times()[2]]
    assert [message.temperature for _, message in messages] == pytest.approx([6.85, 7.85, 9.85, 10.85])
    assert {message.header.frame_id for _, message in messages} == {"weather"}
    ((defect_kind, text),) = [(defect.kind, str(defect)) for defect in defects_of(path)]
    assert defect_kind == "damaged_sample" and f"sample 2 of {STREAM} at byte " in text and "kelvin" in text
