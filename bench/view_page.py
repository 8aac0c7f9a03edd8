"""The page of `fieldplay view --web` in headless Chromium with software rendering: is it what it should be?

Opens a second of a sample of AMEDS and waits until the view of its main camera has the picture's colours and the space
and the plot are not blank; says how long that took, who was asked for what, and keeps the picture of the page. Some
minutes on two cores, as Rerun is drawn by them. Usage: ./ws exec python bench/view_page.py OUT.png [--archive SAMPLE]
"""

import argparse
import base64
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import cv2
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "test"))
from fieldplay.view.viewer import free_port
from support import browser as browsers

SIZE = (1100, 700)
CAMERA, SPACE, PLOT = (5, 75, 260, 215), (300, 60, 830, 450), (40, 485, 1090, 650)  # left, top, right, bottom
COLOURS_APART, SPREAD = 45.0, 6.0  # levels of 255
WITHIN_S, LOOK_EVERY_S = 900.0, 60.0
WEBGL = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--archive", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fieldplay-bench-") as name:
        archive = options.archive or Path(name) / "ameds"
        if options.archive is None:
            subprocess.run(["fieldplay", "sample", "ameds", str(archive), "--seconds", "6"], check=True)
        port = free_port("127.0.0.1", 0)
        window = ["--start", "4", "--duration", "1", "--every", "3"]
        command = ["fieldplay", "view", str(archive), "--derived", "--web", "--port", str(port), *window]
        quiet = {**os.environ, "PYTHONUNBUFFERED": "1"}
        with subprocess.Popen(command, env=quiet, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                print(process.stdout.readline().rstrip())  # which tells that all is sent
                look(Path(name), f"http://127.0.0.1:{port}/", picture_of(archive), options.out)
            finally:
                process.send_signal(signal.SIGINT)


def picture_of(archive: Path) -> Any:
    """A picture of the main camera from the middle of what is shown."""
    names = sorted(archive.rglob("MainCam_*.jpg"))
    return cv2.imread(str(names[len(names) * 9 // 20]))


def look(folder: Path, url: str, image: Any, out: Path) -> None:
    """Open the page until it is as it should be."""
    browsers.PATIENCE_S = WITHIN_S
    browsers.OPTIONS = (*(option for option in browsers.OPTIONS if option != "--disable-gpu"), *WEBGL)
    program = next(filter(None, map(shutil.which, browsers.BROWSERS)))
    (folder / "browser").mkdir()
    browser = browsers.Browser(program, folder / "browser")
    target = browser.call("Target.createTarget", url="about:blank")["targetId"]
    session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    for domain in ("Page", "Network"):
        browser.call(f"{domain}.enable", session)
    sizes = {"width": SIZE[0], "height": SIZE[1], "deviceScaleFactor": 1, "mobile": False}
    browser.call("Emulation.setDeviceMetricsOverride", session, **sizes)
    start = time.monotonic()
    browser.call("Page.navigate", session, url=url)
    issues = ["nothing was seen"]
    while issues and time.monotonic() - start < WITHIN_S:
        time.sleep(LOOK_EVERY_S)
        shot = base64.b64decode(browser.call("Page.captureScreenshot", session, format="png")["data"])
        out.write_bytes(shot)
        issues = faults_of(cv2.imdecode(np.frombuffer(shot, np.uint8), cv2.IMREAD_COLOR), image)
        print(f"{time.monotonic() - start:.0f} s: {', '.join(issues) or 'as it should be'}", flush=True)
    sent = [event["params"] for event in browser.events if event.get("method") == "Network.requestWillBeSent"]
    refused = [event["params"] for event in browser.events if event.get("method") == "Network.loadingFailed"]
    reasons = {event["requestId"]: event.get("blockedReason", "") for event in refused}
    for request in sent:
        print(f"  asked for {request['request']['url'][:100]} {reasons.get(request['requestId'], '')}".rstrip())
    browser.close()
    if issues:
        raise SystemExit(", ".join(issues))


def faults_of(shot: Any, image: Any) -> list[str]:
    """What is not as it should be."""
    parts = {"camera": CAMERA, "space": SPACE, "plot": PLOT}
    by_name = {name: shot[top:bottom, left:right].astype(float) for name, (left, top, right, bottom) in parts.items()}
    issues = [f"the {name} is blank" for name, pixels in by_name.items() if pixels.std(axis=(0, 1)).max() < SPREAD]
    difference = np.abs(by_name["camera"].mean(axis=(0, 1)) - image.mean(axis=(0, 1))).max()
    if difference > COLOURS_APART:
        issues.append(f"the camera's colours are {difference:.0f} levels off the picture's")
    return issues


if __name__ == "__main__":
    main()
