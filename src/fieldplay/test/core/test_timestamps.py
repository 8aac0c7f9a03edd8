import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldplay.core.timestamps import ns_from_text, ns_from_texts


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("0", 0),
        ("1656931512", 1656931512_000000000),
        ("1656931512.", 1656931512_000000000),
        (".5", 500000000),
        ("1656931512.123456789", 1656931512_123456789),  # a float holds this to some 200 ns only
        ("1656931512.1", 1656931512_100000000),
        ("1656931512.0000000014", 1656931512_000000001),
        ("1656931512.0000000016", 1656931512_000000002),
        ("1656931512.9999999999", 1656931513_000000000),
        ("1.656931512e9", 1656931512_000000000),
        (" 12.5 ", 12_500000000),
        ("-1.25", -1_250000000),
    ],
)
def test_time_is_exact_alone_and_in_batch(text: str, ns: int) -> None:
    assert ns_from_text(text) == ns
    batch, good = ns_from_texts(np.array([text.encode(), b"7"]))
    assert batch.tolist() == [ns, 7_000000000]
    assert good.all()


@pytest.mark.parametrize("text", ["", ".", "nan", "inf", "1,5", "12:30", "1.2.3", "9999999999999", "one"])
def test_invalid_time_raises_alone_and_is_masked_in_batch(text: str) -> None:
    with pytest.raises(ValueError, match="expected seconds"):
        ns_from_text(text)
    batch, good = ns_from_texts(np.array([b"3.25", text.encode()]))
    assert batch.tolist() == [3_250000000, 0]
    assert good.tolist() == [True, False]


def test_random_times_agree_with_rational_arithmetic() -> None:
    draw = random.Random(4)
    texts = [f"{draw.randrange(2**31)}.{draw.randrange(10**k):0{k}d}" for k in range(1, 10) for _ in range(50)]
    batch, good = ns_from_texts(np.array([t.encode() for t in texts]))
    assert good.all()
    assert batch.tolist() == [int(Fraction(t) * 10**9) for t in texts]


@pytest.mark.parametrize("last", ["8999999999.999999999", "9223372036.854775807", "9999999999.000000000"])
def test_times_at_the_limit_of_64_bits_are_exact_or_refused(last: str) -> None:
    batch, good = ns_from_texts(np.array([b"1656931512.123456789", last.encode()]))
    exact = int(Fraction(last) * 10**9)
    fits = exact < 2**63
    assert batch.tolist() == [1656931512_123456789, exact if fits else 0]
    assert good.tolist() == [True, fits]


@given(st.lists(st.from_regex(r"[0-9]{0,11}(\.[0-9]{0,10})?", fullmatch=True), min_size=1, max_size=6))
def test_batch_equals_each_time_alone(texts: list[str]) -> None:
    batch, good = ns_from_texts(np.array([text.encode() for text in texts]))
    for text, ns, is_time in zip(texts, batch, good, strict=True):
        try:
            alone = ns_from_text(text)
        except ValueError:
            assert not is_time
        else:
            assert is_time
            assert abs(int(ns) - alone) <= (len(text.partition(".")[2]) > 9)  # ties round to even alone, up in a batch


def test_empty_batch_gives_empty_result() -> None:
    batch, good = ns_from_texts(np.zeros(0, "S20"))
    assert batch.shape == good.shape == (0,)


@pytest.mark.parametrize("text", ["1e999999", "-1e999999999", "1.e375000", "1656931512e11", "1e20"])
def test_time_with_too_many_digits_is_invalid_and_cheap(text: str) -> None:
    with pytest.raises(ValueError, match="fit 64 bits"):
        ns_from_text(text)
    batch, good = ns_from_texts(np.array([text.encode(), b"1.5"]))
    assert (batch.tolist(), good.tolist()) == ([0, 1_500_000_000], [False, True])


@pytest.mark.parametrize("text", [b"\x001656931512.5", b"1\x00656931512.5", b"1656931512.\x005"])
def test_time_with_zero_byte_is_invalid(text: bytes) -> None:
    batch, good = ns_from_texts(np.array([text, b"1656931512.25"]))
    assert (batch.tolist(), good.tolist()) == ([0, 1656931512_250_000_000], [False, True])
