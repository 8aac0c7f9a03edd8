import math

import pytest

from fieldplay_archive.tables.header_units import Expected, units_of_titles


@pytest.mark.parametrize(
    ("title", "expected", "factor"),
    [
        ("mag_x [mG]", "G", 1e-3),
        ("mag_x_mg", "G", 1e-3),
        ("mag_x (µT)", "G", 1e-2),
        ("mag_x [G]", "mG", 1e3),
        ("gyro_y_rad_s", "deg/s", math.degrees(1)),
        ("gyro_y [°/s]", "rad/s", math.radians(1)),
        ("gyro y (dps)", "rad/s", math.radians(1)),
        ("Lat [degrees]", "rad", math.radians(1)),
        ("pressure (hPa)", "Pa", 100),
    ],
)
def test_a_title_s_unit_gives_the_factor_to_the_one_expected(title: str, expected: str, factor: float) -> None:
    found = units_of_titles(("time", "x"), [["time", title]], {"x": Expected(expected)})
    assert found.factors == {"x": pytest.approx(factor, rel=1e-12)}
    assert found.told.startswith("; x in ") and found.told.endswith(f" by the header, made {expected}")


@pytest.mark.parametrize(
    "title", ["gyro_y", "gyro_y [deg/s]", "gyro_y_deg_s", "gyro_y [m/s]", "gyro_y [raw]", "", "[]"]
)
def test_the_unit_expected_another_kind_or_none_change_nothing(title: str) -> None:
    found = units_of_titles(("time", "x"), [["time", title]], {"x": Expected("deg/s")})
    assert (dict(found.factors), found.told) == ({}, "")
