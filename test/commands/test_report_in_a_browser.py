"""Pages of `fieldplay report` in a real browser, on a desk, on a phone and on paper."""

import base64
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fieldplay.benchmark.batch.batch_results import page_of
from fieldplay.cli.main import main
from fieldplay_testing.reference_messages import (
    START_NS,
    make,
    stamped_message,
    transform,
    transforms,
    write_bag,
)
from support.browser import (
    DESK,
    PHONE,
    Browser,
    Shown,
)

SMALLEST_TEXT = 11.0  # pixels
SECOND = 10**9


def strange_messages() -> Iterator[tuple[str, int, Any]]:
    """Pictures with frames before them, a route, and names that are long, or look like markup."""
    image = {"height": 48, "width": 64, "encoding": "mono8", "step": 64, "data": np.full(48 * 64, 90, np.uint8)}
    info = {
        "height": 48,
        "width": 64,
        "k": np.array([60.0, 0, 32, 0, 60, 24, 0, 0, 1]),
        "distortion_model": "plumb_bob",
    }
    frames = [
        transform(START_NS, "camera", f"frame_{k}_with_a_rather_long_name", (k / 9 - 0.4, 0, 1)) for k in range(9)
    ]
    yield "/tf_static", START_NS, transforms(*frames)
    for k in range(30):
        now = START_NS + k * SECOND // 5
        yield "/eye/image_raw", now, stamped_message("sensor_msgs/msg/Image", now, "camera", **image)
        yield "/eye/camera_info", now, stamped_message("sensor_msgs/msg/CameraInfo", now, "camera", **info)
        yield f"/{'a_very_long_name_without_any_place_to_break_' * 3}", now, make("std_msgs/msg/Float64", data=float(k))
        yield (
            "/<script>console.error('<b>')</script>/<img src=http://x>",
            now,
            make("std_msgs/msg/Float64", data=1e9 * k),
        )
        position = {"pose__pose__position__x": k * 1.0, "pose__pose__position__y": np.sin(k / 4)}
        yield "/odom", now, stamped_message("nav_msgs/msg/Odometry", now, "odom", **position)


@pytest.fixture(scope="module", params=["archive", "bag"])
def page(
    request: pytest.FixtureRequest, write_ameds: Callable[[Path], Any], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("page")
    if request.param == "archive":
        source = write_ameds(folder / "Traverse_5").root
    else:
        source = write_bag(folder / "bag", strange_messages())
    assert main(["report", str(source), str(folder / "page.html")]) == 0
    return folder / "page.html"


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_every_image_is_there_and_nothing_is_requested_or_goes_wrong(
    size: tuple[int, int], page: Path, browser: Browser
) -> None:
    shown = Shown(browser, page, size)
    widths = shown.value("Promise.all([...document.images].map(i => i.decode().then(() => i.naturalWidth, e => 0)))")
    assert len(widths) >= 3
    assert min(widths) > 0
    requested = [event["request"]["url"] for event in shown.events("Network.requestWillBeSent")]
    assert [url for url in requested if not url.startswith("data:")] == [page.as_uri()]
    wrong = ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Network.loadingFailed")
    assert [event for method in wrong for event in shown.events(method)] == []
    assert shown.value("[...document.querySelectorAll('nav a')].every(a => document.querySelector(a.hash))")


def test_on_phone_nothing_is_wider_than_screen_and_all_text_can_be_read(page: Path, browser: Browser) -> None:
    shown = Shown(browser, page, PHONE)
    assert shown.value("document.scrollingElement.scrollWidth") == PHONE[0]
    beyond = """[...document.querySelectorAll('main *')].filter(e => !e.closest('svg, .plane, .photo'))
        .filter(e => e.getBoundingClientRect().right > innerWidth + 0.5).map(e => e.outerHTML.slice(0, 99))"""
    assert shown.value(beyond) == []
    sizes = """[...document.querySelectorAll('main *')]
        .filter(e => [...e.childNodes].some(n => n.nodeType == 3 && n.data.trim()))
        .map(e => parseFloat(getComputedStyle(e).fontSize))"""
    assert min(shown.value(sizes)) >= SMALLEST_TEXT


def test_labels_on_images_lie_within_them_and_next_to_each_other(page: Path, browser: Browser) -> None:
    for size in (PHONE, DESK):
        shown = Shown(browser, page, size)
        boxes = shown.value("""[...document.querySelectorAll('.photo')].map(p => [p, ...p.querySelectorAll('span')]
            .filter(e => getComputedStyle(e).display != 'none')
            .map(e => e.getBoundingClientRect()).map(r => [r.left, r.top, r.right, r.bottom]))""")
        for image, *labels in boxes:
            for index, one in enumerate(labels):
                assert one[0] >= image[0] - 1 and one[2] <= image[2] + 1
                assert not any(
                    one[0] < b[2] and b[0] < one[2] and one[1] < b[3] and b[1] < one[3] for b in labels[:index]
                )


def luminance(colour: str) -> float:
    """As the accessibility guidelines define it, of rgb(r, g, b)."""
    parts = [int(number) / 255 for number in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_by_day_and_by_night_text_stands_out(page: Path, browser: Browser) -> None:
    grounds = {}
    for scheme in ("light", "dark"):
        shown = Shown(browser, page, DESK, scheme=scheme)
        ground, ink, soft = (
            luminance(shown.value(f"getComputedStyle(document.querySelector('{name}')).{what}"))
            for name, what in (("body", "backgroundColor"), ("body", "color"), (".lead", "color"))
        )
        grounds[scheme] = ground
        for text, least in ((ink, 10.0), (soft, 4.5)):
            assert (max(text, ground) + 0.05) / (min(text, ground) + 0.05) >= least
    assert grounds["light"] > 0.8 > 0.05 > grounds["dark"]


def test_on_paper_it_fills_sheets_of_a4(page: Path, browser: Browser) -> None:
    shown = Shown(browser, page, DESK)
    printed = base64.b64decode(shown.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"])
    sheets = [tuple(map(float, box)) for box in re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", printed)]
    assert 2 <= len(sheets) <= 20
    assert all(sheet == pytest.approx((595, 842), abs=2) for sheet in sheets)


def test_table_of_batch_is_sorted_by_click_and_back_by_key(tmp_path: Path, browser: Browser) -> None:
    values = {"a": 9, "b": None, "c": 10.5, "<d>": 2}
    rows = [{"archive": name, "defects": value, "failed": ""} for name, value in values.items()]
    (tmp_path / "index.html").write_text(page_of(rows, (), dict.fromkeys(values, ())))
    shown = Shown(browser, tmp_path / "index.html", DESK)
    names = "[...document.querySelectorAll('tbody tr')].map(row => row.cells[0].textContent.trim())"
    head = "document.querySelectorAll('th')[1]"
    assert shown.value(f"{head}.click(), {names}") == ["<d>", "a", "c", "b"]
    assert shown.value(f"{head}.dispatchEvent(new KeyboardEvent('keydown', {{key: 'Enter'}})), {names}") == [
        "c", "a", "<d>", "b",
    ]  # fmt: skip
    wrong = ("Log.entryAdded", "Runtime.exceptionThrown", "Network.loadingFailed")
    assert [event for method in wrong for event in shown.events(method)] == []
