import random
from fractions import Fraction

import numpy as np
import pytest

from fieldplay_archive.stamps import StampError, ns_from_text, ns_from_texts


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
def test_a_time_is_exact_alone_and_in_a_batch(text: str, ns: int) -> None:
    assert ns_from_text(text) == ns
    batch, good = ns_from_texts(np.array([text.encode(), b"7"]))
    assert batch.tolist() == [ns, 7_000000000]
    assert good.all()


@pytest.mark.parametrize("text", ["", ".", "nan", "inf", "1,5", "12:30", "1.2.3", "9999999999999", "one"])
def test_what_is_no_time_is_refused_alone_and_marked_in_a_batch(text: str) -> None:
    with pytest.raises(StampError, match="expected seconds"):
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


def test_no_rows_give_no_rows() -> None:
    batch, good = ns_from_texts(np.zeros(0, "S20"))
    assert batch.shape == good.shape == (0,)
