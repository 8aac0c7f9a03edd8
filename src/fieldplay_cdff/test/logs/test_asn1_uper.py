"""Packed bits are read as asn1tools writes them, and as ASN1SCC does, whose real numbers have another form."""

import math
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fieldplay.core.errors import ArchiveError
from fieldplay_cdff.logs.asn1_uper import (
    Bits,
    BitsError,
    PackedForm,
    PackedKind,
    PackedReal,
    PackedWhole,
    defined_types,
    types_from_data,
    types_of_file,
)
from fieldplay_testing.packed_by_asn1tools import CODER, of_asn1

ODD = {
    "free": "int",
    "narrow": "int -5..5",
    "one": "int 7..7",
    "colour": "one of red green blue",
    "letters?": "ascii 1..9",
    "raw": "bytes 2",
    "flag?": "bool",
}

real = st.floats(allow_nan=False).map(lambda value: value + 0.0)  # -0.0 is 0 in ASN1SCC
card32, int32 = st.integers(0, 2**32 - 1), st.integers(-(2**31), 2**31 - 1)
name = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=20)
time = st.fixed_dictionaries({"microseconds": st.integers(-(2**63) + 1, 2**63 - 1), "usecPerSec": int32})
state = st.fixed_dictionaries({key: real for key in ("position", "speed", "effort", "raw", "acceleration")})


def some(count: int, each: Any = real) -> Any:
    return st.lists(each, min_size=count, max_size=count)


def joints(most: int) -> Any:
    return st.fixed_dictionaries(
        {"timestamp": time, "names": st.lists(name, max_size=most), "elements": st.lists(state, max_size=5)}
    )


MOTION = {"pos": some(3), "orient": some(4), "velocity": some(3), "angular_velocity": some(3)}
COVARIANCES = {f"cov_{part}": some(3, some(3)) for part in ("position", "orientation", "velocity", "angular_velocity")}
META = {"producerId": name, "parentFrameId": name, "childFrameId": name, "parentTime": time, "childTime": time}
VALUES = {
    "TransformWithCovariance": st.fixed_dictionaries(
        {
            "metadata": st.fixed_dictionaries({"msgVersion": card32, "dataEstimated": some(7, st.booleans()), **META}),
            "data": st.fixed_dictionaries({"translation": some(3), "orientation": some(4), "cov": some(6, some(6))}),
        }
    ),
    "RigidBodyState": st.fixed_dictionaries(
        {"timestamp": time, "sourceFrame": name, "targetFrame": name, **MOTION, **COVARIANCES}
    ),
    "Pose": st.fixed_dictionaries({"pos": some(3), "orient": some(4)}),
    "Joints": joints(50),
    "OldJoints": joints(30),
    "IMUSensors": st.fixed_dictionaries({"timestamp": time, "acc": some(3), "gyro": some(3), "mag": some(3)}),
    "LaserScan": st.fixed_dictionaries(
        {
            **{key: real for key in ("start_angle", "angular_resolution", "speed")},
            "ref_time": time,
            "ranges": st.lists(int32, min_size=1, max_size=20),
            "minRange": card32,
            "maxRange": card32,
            "remission": st.lists(real, min_size=1, max_size=20),
        }
    ),
}
odd_values = st.fixed_dictionaries(
    {
        "free": st.integers(-(2**70), 2**70),
        "narrow": st.integers(-5, 5),
        "one": st.just(7),
        "colour": st.sampled_from(["red", "green", "blue"]),
        "raw": st.binary(min_size=2, max_size=2),
    },
    optional={
        "letters": st.text(st.characters(max_codepoint=127), min_size=1, max_size=9),
        "flag": st.booleans(),
    },
)


def form_of(kind: str) -> PackedForm:
    return defined_types()["Joints"][1] if kind == "OldJoints" else defined_types()[kind][0]


def odd() -> PackedForm:
    return types_from_data({"types": {"Odd": [{"fields": ODD}]}})["Odd"][0]


def real_of(text: str) -> float:
    return PackedReal().read(Bits(bytes.fromhex(text)))


@pytest.mark.parametrize("kind", VALUES)
def test_values_of_each_type_match_reference_coder(kind: str) -> None:
    @settings(max_examples=30, deadline=None)
    @given(VALUES[kind])
    def check(value: Any) -> None:
        data = CODER.encode(kind, of_asn1(value))
        bits = Bits(data)
        assert form_of(kind).fields.read(bits) == value
        assert (bits.position + 7) // 8 == len(data)

    check()


@settings(max_examples=200, deadline=None)
@given(odd_values)
def test_unlimited_numbers_choices_and_optional_fields_round_trip(value: dict[str, Any]) -> None:
    assert odd().fields.read(Bits(CODER.encode("Odd", value))) == value


@pytest.mark.parametrize(
    ("text", "value"), [("0100", -3), ("0107", 4), ("01ff", 252), ("020100", 253), ("028000", 32765)]
)
def test_number_with_lower_limit_only_counts_from_it(text: str, value: int) -> None:
    """By hand: asn1tools takes it for one without limits, other than the rules and ASN1SCC do."""
    assert PackedWhole(-3).read(Bits(bytes.fromhex(text))) == value


@given(VALUES["Joints"], st.data())
def test_truncated_bits_are_never_read_as_values(value: Any, data: Any) -> None:
    whole = CODER.encode("Joints", of_asn1(value))
    size = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(BitsError, match=r"at bit \d+: expected \d+ bits, got \d+ up to the end"):
        form_of("Joints").fields.read(Bits(whole[:size]))


@settings(max_examples=300)
@given(st.sampled_from(sorted(VALUES)), st.binary(max_size=300))
def test_random_bits_give_values_or_error(kind: str, data: bytes) -> None:
    try:
        fields = form_of(kind).fields.read(Bits(data))
    except BitsError as error:
        assert 0 <= error.bit <= 8 * len(data) and error.names
    else:
        assert list(fields) == [field.name for field in form_of(kind).fields.fields]


@settings(max_examples=300)
@given(st.floats(allow_nan=True))
def test_double_round_trips_with_all_53_mantissa_bits(value: float) -> None:
    """ASN1SCC takes the bits of the double apart; the hidden one is always set, and the exponent is what is stored."""
    (stored,) = struct.unpack(">Q", struct.pack(">d", value))
    exponent, mantissa = (stored >> 52 & 0x7FF) - 1075, stored & (1 << 52) - 1 | 1 << 52
    width = 1 if -128 <= exponent < 128 else 2
    header = 0x80 | (0x40 if value < 0 else 0) | width - 1
    data = bytes([header]) + exponent.to_bytes(width, "big", signed=True) + mantissa.to_bytes(7, "big")
    special = {0.0: "00", math.inf: "0140", -math.inf: "0141"}.get(value)
    result = real_of(special or (bytes([len(data)]) + data).hex())
    assert result == value or (math.isnan(result) and math.isnan(value))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("00", 0.0),
        ("0980cc10000000000000", 1.0),  # 2^52 times 2^-52
        ("03800001", 1.0),  # the mantissa odd, as the rules ask
        ("09c0cb10000000000000", -0.5),
        ("0a81ff7c10000000000000", 2.0**-80),  # an exponent of two bytes
        ("05830100ff01", None),  # the exponent with a length, which is too long for the number
        ("05830201ff01", 2.0**511),
        ("06830200050003", 96.0),
        ("03900101", 8.0),  # to the base 8
        ("03a00101", 16.0),
        ("03880003", 12.0),  # three, moved by two
        ("0140", math.inf),
        ("0141", -math.inf),
        ("0a81fbcd10000000000001", 5e-324),  # the least number of all
    ],
)
def test_real_numbers_match_explicit_values(text: str, value: float | None) -> None:
    if value is not None:
        assert real_of(text) == value
    else:
        assert real_of(text) == 0xFF01


@pytest.mark.parametrize("text", ["0a8103cc18000000000000", "0142"])
def test_not_a_number_codes_give_nan(text: str) -> None:
    assert math.isnan(real_of(text))


@pytest.mark.parametrize(
    ("text", "issue"),
    [
        ("0131", "expected a real number in binary form, got a header of 0x31"),
        ("018000", "expected an exponent and a mantissa in 0 bytes, got an exponent of 1"),
        ("03b00101", "expected a base of 2, 8 or 16, got a header of 0xb0"),
        ("04817fff01", r"expected a number of double precision, got 1 times 2\^32767"),
        ("c1", "expected a length below 16384, got one in pieces"),
        ("09800000", "expected 56 bits, got 8 up to the end"),
    ],
)
def test_invalid_real_number_is_reported(text: str, issue: str) -> None:
    with pytest.raises(BitsError, match=issue):
        real_of(text)


def test_impossible_value_is_reported_with_field_and_bit() -> None:
    value = {"timestamp": {"microseconds": 1, "usecPerSec": 2}, "names": [], "elements": []}
    data = bytearray(CODER.encode("Joints", value))
    data[12] |= 0xFC  # six bits that are 63: of 50 names at most
    with pytest.raises(BitsError, match=r"^names at bit 96: expected a number from 0 to 50, got 63$"):
        form_of("Joints").fields.read(Bits(bytes(data)))


def test_framework_buffer_has_maximum_length_of_type() -> None:
    sizes = {kind: [form.most_bytes for form in forms] for kind, forms in defined_types().items()}
    assert sizes["TransformWithCovariance"] == [1360]  # of the public log
    # 96 bits of time, 6 of each count, 50 names of 9 + 2048 bits, 50 times five reals of 13 bytes; rounded up
    assert sizes["Joints"] == [-(-(96 + 12 + 50 * 2057 + 50 * 520) // 8), -(-(96 + 10 + 30 * 2057 + 30 * 520) // 8)]


@pytest.mark.parametrize(
    ("fields", "issue"),
    [
        ("{a: integer}", "expected a kind or the name of a part, got 'integer'"),
        ("{a: int 5..1}", "expected limits in order, got 'int 5..1'"),
        ("{a: 0..70000 of bool}", "expected a size of 65535 at most"),
        ("3 of bool", "expected fields, got '3 of bool'"),
        ("{a: bool}}, {time: b", "expected types, each with a list of its forms, and fields for each form"),
    ],
)
def test_invalid_type_description_is_reported(fields: str, issue: str, tmp_path: Path) -> None:
    file = tmp_path / "types.yaml"
    file.write_text(f"types: {{A: [{{fields: {fields}}}]}}")
    with pytest.raises(ArchiveError, match=rf"types\.yaml: {issue}"):
        types_of_file(file)


def test_kinds_report_their_bit_counts() -> None:
    kinds: dict[str, PackedKind] = {field.name: field.kind for field in odd().fields.fields}
    bit_counts = {key: kind.most_bits for key, kind in kinds.items()}
    assert bit_counts == {
        "free": None, "narrow": 4, "one": 0, "colour": 2, "letters": 4 + 63, "raw": 16, "flag": 1,
    }  # fmt: skip
    assert odd().fields.most_bits is None
