"""Markup, numbers and axes of a page."""

import html.parser
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldplay.core import number_text
from fieldplay.core.errors import UsageError
from fieldplay.core.number_text import number_axis, time_axis
from fieldplay.core.timestamps import utc_text
from fieldplay.projection.relief import plane_of_points
from fieldplay.report import page
from fieldplay.report.figures import Chart, Curve, line_chart
from fieldplay.report.page import (
    Section,
    page_of_sections,
    path_text,
    render,
    require_libraries,
    text,
)
from fieldplay_testing.drawn import drawn_lines


class Reader(html.parser.HTMLParser):
    """Hears the elements and texts of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def read(markup: str) -> Reader:
    reader = Reader()
    reader.feed(markup)
    reader.close()
    return reader


@given(st.text())
def test_text_is_always_escaped(name: str) -> None:
    figure = render("figure", render("image", "data:", 1, 1, name), name, name, [("s0", name)], path_text(name))
    parsed = read(figure + render("plain_table", [name], [[name]]))
    assert {"script", "a", "iframe"}.isdisjoint(parsed.tags) and set(parsed.tags) <= {
        "figure", "figcaption", "b", "span", "div", "i", "img", "wbr", "table", "thead", "tbody", "tr", "th", "td",
    }  # fmt: skip
    assert {key for key, _ in parsed.attributes} <= {"class", "src", "alt", "width", "height", "data-head"}


def test_special_characters_are_shown_unchanged() -> None:
    parsed = read(render("tagged", "b", "<script>alert('x')</script> & \"co\""))
    assert parsed.tags == ["b"]
    assert "".join(parsed.texts) == "<script>alert('x')</script> & \"co\""


def test_unprintable_characters_are_replaced_and_long_text_is_cut() -> None:
    assert text("a\x00b\udcff\x1bc") == "a\ufffdb\ufffd\ufffdc"
    assert len(text("x" * 10_000)) < 1100


def test_names_break_only_after_slashes() -> None:
    assert path_text("/stereo/left<1>") == "/stereo/<wbr>left&lt;1&gt;"


def test_page_loads_no_resources_and_runs_no_scripts() -> None:
    section = Section("one", "One", render("paragraph", "x"), "lead")
    markup = page_of_sections("a <b>", render("header", "t", "e"), [section])
    parsed = read(markup)
    assert "script" not in parsed.tags
    assert ("content", "default-src 'none'; img-src data:; style-src 'unsafe-inline'") in parsed.attributes
    assert ("href", "#one") in parsed.attributes and ("id", "one") in parsed.attributes
    addresses = [value for key, value in parsed.attributes if key in ("href", "src")]
    assert all(value is not None and value.startswith(("#", "data:")) for value in addresses)


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (0.0, 1.0, ["0", "0.5", "1.0"]),
        (-3.0, 2.0, ["\u22122", "0", "2"]),
        (73999.9, 74000.1, ["73999.9", "74000.0", "74000.1"]),
        (-2e-5, 4e-5, ["\u22122e-5", "0", "2e-5", "4e-5"]),
        (5.0, 5.0, ["4.8", "5.0", "5.2"]),
        (0.0, 0.0, ["\u22121", "0", "1"]),
        (math.nan, math.nan, ["0", "0.25", "0.50", "0.75", "1.00"]),
    ],
)
def test_axes_have_round_numbers_with_the_decimals_they_need(low: float, high: float, labels: list[str]) -> None:
    assert [label for _, label in number_axis(low, high).ticks] == labels


@given(st.floats(-1e12, 1e12), st.floats(1e-9, 1e12))
def test_every_axis_has_few_distinct_labels_within_its_range(low: float, length: float) -> None:
    axis = number_axis(low, low + length)
    assert 1 <= len(axis.ticks) <= 6
    assert all(-1e-9 <= axis.fraction(value) <= 1 + 1e-9 for value, _ in axis.ticks)
    assert axis.low <= low <= low + length <= axis.high


@pytest.mark.parametrize(
    ("seconds", "labels"),
    [
        (4.0, ["0 s", "1 s", "2 s", "3 s", "4 s"]),
        (0.3, ["0 s", "0.1 s", "0.2 s", "0.3 s"]),
        (571.0, ["0 min", "5 min"]),
        (1502.0, ["0 min", "10 min", "20 min"]),
        (40_000.0, ["0 h", "6 h"]),
        (0.0, ["0 s"]),
    ],
)
def test_times_along_an_axis_are_round_in_their_own_unit(seconds: float, labels: list[str]) -> None:
    tick_labels = [label for _, label in time_axis(seconds).ticks]
    assert tick_labels[: len(labels)] == labels
    assert len(tick_labels) <= 6


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (134.1, "134"),
        (0.0333333, "0.0333"),
        (-2.5, "\u22122.5"),
        (1e9, "1e+09"),
        (100.0, "100"),
    ],
)
def test_numbers_are_short(value: float, shown: str) -> None:
    assert number_text.number_text(value) == shown


def test_counts_sizes_and_durations_are_human_readable() -> None:
    assert number_text.count_text(1234567) == "1\u202f234\u202f567"
    assert [number_text.count_noun(n, "pause") for n in (0, 1, 2)] == ["0 pauses", "1 pause", "2 pauses"]
    assert [number_text.count_noun(n, "stretch") for n in (1, 2)] == ["1 stretch", "2 stretches"]
    assert [number_text.size_text(n) for n in (0, 999, 12_300, 4_000_000_000)] == ["0 B", "999 B", "12.3 kB", "4 GB"]
    assert [number_text.duration_text(s) for s in (0.5, 59.0, 571.0, 7500.0)] == [
        "0.5 s",
        "59 s",
        "9 min 31 s",
        "2 h 05 min",
    ]
    assert number_text.duration_text(35_334_000.0) == "408 d 23 h"
    assert utc_text(1656931512 * 10**9) == "2022-07-04 10:45:12"
    assert utc_text(10**30) == f"{10**30} ns"


def test_curve_breaks_at_long_gaps() -> None:
    x = np.r_[0.0:1.0:0.1, 5.0:6.0:0.1]
    chart = line_chart(Chart(title="c", curves=[Curve("", x, np.sin(x))], unit="m", x_axis=time_axis(6.0)))
    assert len(drawn_lines(chart, "line s0")) == 2


def test_excess_curves_are_reported_and_not_drawn() -> None:
    x = np.arange(3.0)
    curves = [Curve(f"joint_{k}", x, x * k) for k in range(11)]
    chart = line_chart(Chart(title="c", curves=curves, unit="rad", x_axis=time_axis(2.0)))
    assert "3 more not drawn" in chart
    assert "joint_7" in chart and "joint_8" not in chart


@pytest.mark.parametrize(
    "points", [[[0.0, 0.0]], [[0.0, 0.0], [100.0, 0.0]], [[0.0, 0.0], [0.0, 80.0]], [[1.0, 2.0], [3.0, 9.0]]]
)
def test_plane_contains_points_with_bounded_aspect_ratio(points: list[list[float]]) -> None:
    plane = plane_of_points(np.array(points))
    assert all(plane.x_low <= x <= plane.x_high and plane.y_low <= y <= plane.y_high for x, y in points)
    assert 0.7 < plane.ratio < 2.0


def test_texts_of_figures_are_texts_whatever_they_hold() -> None:
    curves = [Curve("$\\frac{$ <b>", np.arange(3.0), np.arange(3.0))] * 2
    chart = line_chart(Chart(title="/a$_$\x00 \u6f22", curves=curves, unit="m", x_axis=time_axis(2.0)))
    parsed = read(chart)
    assert "b" in parsed.tags and "$\\frac{$ <b>" in parsed.texts and "http" not in chart


def test_what_is_missing_is_named_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    require_libraries()
    monkeypatch.setattr(page, "find_spec", lambda name: None if name == "matplotlib" else name)
    with pytest.raises(UsageError, match="need matplotlib: pip install matplotlib, or apt install python3-matplotlib"):
        require_libraries()
