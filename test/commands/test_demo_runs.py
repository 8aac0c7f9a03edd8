"""The demo from end to end, on a sample of a few seconds."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.browser import (
    DESK,
    PHONE,
    Browser,
    Shown,
)

pytestmark = pytest.mark.needs("rclpy")

PATIENCE_S = 240.0
RATE = "0.5"  # all must be heard, while other tests keep the machine busy
PICTURES = ("map", "errors", "wheels", "clouds", "main_cam", "aux_cam")


def test_demo_receives_all_finds_it_in_bag_and_draws_it(tmp_path: Path, browser: Browser) -> None:
    out = tmp_path / "bags" / "demo"
    command = [sys.executable, "-m", "fieldplay_bringup.demo", "--seconds", "2", "--rate", RATE, "--out", str(out)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert re.search(r"Received live as in the bag: \d{4} messages on 38 topics", result.stdout), result.stdout
    assert "Traceback" not in result.stderr
    for name in PICTURES:
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert (out / "bag" / "metadata.yaml").is_file()
    assert "against the truth" in (out / "index.html").read_text()
    for size in (DESK, PHONE):
        shown = Shown(browser, out / "index.html", size)
        assert shown.value("document.scrollingElement.scrollWidth") == size[0]
        images = shown.value("[...document.querySelectorAll('#demo img')].map(i => [i.naturalWidth, i.width])")
        assert len(images) == len(PICTURES)
        assert all(natural > 0 and 0 < width < size[0] for natural, width in images)
