from functools import reduce

import numpy as np
import pytest

from fieldplay.core.errors import ArchiveError
from fieldplay.datasets.rosario.nmea import (
    GGA,
    NUMBERS,
    RMC,
    NmeaSpec,
    rows_from_log,
)
from fieldplay.io.table_rows import TimedRows

GGA_SENTENCE = "$GPGGA,152545.20,3301.8000000,S,06052.8000000,W,4,12,0.9,50.000,M,18.000,M,0.8,0000*76"
SPEED = "$GPRMC,152545.20,A,3301.8000000,S,06052.8000000,W,1.943845,090.0,261217,,,A*6F"


def sentence(body: str) -> str:
    return f"${body}*{reduce(lambda a, b: a ^ b, body.encode(), 0):02X}"


def log(*sentences: str, end: str = "\n") -> bytes:
    return "".join(f"1514301945.{k}25 gps: {text}{end}" for k, text in enumerate(sentences)).encode()


def row(rows: TimedRows, index: int) -> dict[str, float]:
    return dict(zip(NUMBERS, rows.values[index].tolist(), strict=True))


@pytest.mark.parametrize("end", ["\n", "\r\n", " \r\n"])
def test_sentences_of_dataset_paper_are_parsed(end: str) -> None:
    rows = rows_from_log(log(GGA_SENTENCE, SPEED, end=end))
    assert rows.bad == ()
    assert rows.stamp_ns.tolist() == [1514301945_025000000, 1514301945_125000000]
    fix, velocity = row(rows, 0), row(rows, 1)
    assert (fix["sentence"], velocity["sentence"]) == (GGA, RMC)
    assert fix["latitude"] == pytest.approx(-33.03, abs=1e-12)
    assert fix["longitude"] == pytest.approx(-60.88, abs=1e-12)
    assert [fix[name] for name in ("quality", "hdop", "altitude")] == [4, 0.9, 68.0]
    assert [velocity[name] for name in ("speed", "course", "valid")] == [1.943845, 90.0, 1]
    assert velocity["utc"] == pytest.approx(1514301945.2)  # 2017-12-26 15:25:45.2
    assert np.isnan([fix["speed"], fix["utc"], velocity["latitude"], velocity["quality"]]).all()


def test_zero_bytes_after_time_make_sentence_invalid() -> None:
    rows = rows_from_log(f"1514301945.1\0\0 gps: {GGA_SENTENCE}\n1514301945.2 gps: {GGA_SENTENCE}\n".encode())
    assert rows.line.tolist() == [1]
    assert [(bad.line, bad.kind) for bad in rows.bad] == [(0, "not_a_number")]


def test_all_hemispheres_and_talkers_are_parsed() -> None:
    bodies = [f"{talker}GGA,0,3301.8,{ns},06052.8,{ew},1,4,1.0,0,M,0,M,," for talker, ns, ew in
              (("GP", "N", "E"), ("GN", "S", "E"), ("GL", "N", "W"))]  # fmt: skip
    rows = rows_from_log(log(*map(sentence, bodies)))
    signs = np.sign(rows.values[:, [NUMBERS.index("latitude"), NUMBERS.index("longitude")]])
    assert signs.tolist() == [[1, 1], [-1, 1], [1, -1]]


def test_other_sentences_and_empty_lines_are_ignored() -> None:
    block = log(sentence("GPGSA,A,3,1.5"), GGA_SENTENCE, sentence("GPVTG,,T,,M,0.1,N")) + b"\n\r\n"
    rows = rows_from_log(block)
    assert (len(rows.stamp_ns), rows.line.tolist(), rows.bad) == (1, [1], ())


def test_sentence_without_fix_gives_row_without_position() -> None:
    rows = rows_from_log(log(sentence("GPGGA,152545.20,,,,,0,00,99.99,,,,,,")))
    result = row(rows, 0)
    assert result["quality"] == 0
    assert np.isnan([result[name] for name in ("latitude", "longitude", "altitude")]).all()


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        (GGA_SENTENCE.replace("*76", "*77"), "wrong_checksum", "expected the checksum 76, got 77: '$GPGGA,152545.20"),
        (
            GGA_SENTENCE.replace("*76", "*7g"),
            "not_nmea",
            "expected a time, a label and an NMEA sentence with its checksum",
        ),
        (
            sentence(GGA_SENTENCE[1:-3].replace("18.000", "18.0 ")),
            "not_a_number",
            "column separation: expected a number, got '18.0 '",
        ),
        (GGA_SENTENCE.replace("*76", ""), "not_nmea", "got '1514301945.125 gps: $GPGGA"),
        ("nothing", "not_nmea", "got '1514301945.125 gps: nothing'"),
        ("$GP\u00e9GGA*00", "wrong_checksum", "got 00"),
        (sentence("GPGGA,1,2,S"), "short_row", "expected more fields of GGA, got 4"),
        (sentence("GPRMC,1,A"), "short_row", "expected more fields of RMC, got 3"),
        (
            sentence("GPGGA,1,3301.8,S,06052.8,W,x,4,1,0,M,0,M,,"),
            "not_a_number",
            "column quality: expected a number, got 'x'",
        ),
        (sentence("GPGGA,1,3301.8,S,06052.8,W,1,4,nan,0,M,0,M,,"), "not_a_number", "column hdop: expected a number"),
        (sentence("GPGGA,1,3361.8,S,06052.8,W,1,4,1,0,M,0,M,,"), "not_a_number", "column latitude: expected degrees"),
        (sentence("GPGGA,1,9901.8,S,06052.8,W,1,4,1,0,M,0,M,,"), "not_a_number", "got '9901.8,S'"),
        (sentence("GPGGA,1,3301.8,X,06052.8,W,1,4,1,0,M,0,M,,"), "not_a_number", "got '3301.8,X'"),
        (sentence("GPGGA,1,3301.8,S,,W,1,4,1,0,M,0,M,,"), "not_a_number", "column longitude"),
        (sentence("GPRMC,1,A,,,,,fast,90.0,261217,,,A"), "not_a_number", "column speed: expected a number, got 'fast'"),
    ],
)
def test_invalid_sentence_is_reported_and_others_are_read(text: str, kind: str, message: str) -> None:
    rows = rows_from_log(log(GGA_SENTENCE, text, SPEED))
    ((line, actual_kind, actual_message),) = rows.bad
    assert (line, actual_kind) == (1, kind)
    assert message in actual_message
    assert rows.line.tolist() == [0, 2]


def test_invalid_time_is_reported() -> None:
    rows = rows_from_log(f"noon gps: {GGA_SENTENCE}\n".encode())
    assert [(bad.kind, bad.message) for bad in rows.bad] == [
        ("not_a_number", "column time: expected a time in seconds, got 'noon'")]  # fmt: skip


@pytest.mark.parametrize("block", [b"", b"\n", b"\xff\xfe\n\x00"])
def test_block_without_sentences_gives_no_rows(block: bytes) -> None:
    assert len(rows_from_log(block).stamp_ns) == 0


def test_file_without_sentences_is_rejected() -> None:
    with pytest.raises(ArchiveError, match="expected lines of a time, a label and an NMEA sentence"):
        NmeaSpec().format_from_head(b"1514301945.1 imu: 1 2 3\n")


def test_byte_order_mark_loses_no_line() -> None:
    text = b"\xef\xbb\xbf" + log(GGA_SENTENCE)
    result = NmeaSpec().format_from_head(text)
    assert result.rows_of([text[result.first_byte :]])[0].stamp_ns.tolist() == [1514301945_025000000]
