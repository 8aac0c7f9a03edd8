"""A headless browser, told what to do through pipes, and the pages that it shows."""

import json
import os
import select
import subprocess
import time
from pathlib import Path
from typing import Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = "no browser found: on Debian or Ubuntu, sudo apt install chromium (--no-install-recommends is enough)"
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip
PATIENCE_S = 60.0
PHONE, DESK = (390, 844), (1200, 900)


class Browser:
    """A browser that is told what to do through two pipes, which it has as its file descriptors 3 and 4."""

    def __init__(self, program: str, folder: Path) -> None:
        commands, self._to_browser = os.pipe()
        self._from_browser, answers = os.pipe()
        command = [
            "bash",
            "-c",
            f'exec "$0" "$@" 3<&{commands} 4>&{answers}',
            program,
            *OPTIONS,
            f"--user-data-dir={folder}",
        ]
        with (folder / "log").open("w") as log:
            self._process = subprocess.Popen(command, pass_fds=(commands, answers), stdout=log, stderr=log)
        os.close(commands)
        os.close(answers)
        self._count, self._received = 0, b""
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """A command of the DevTools protocol, and its answer."""
        self._count += 1
        request = {"id": self._count, "method": method, "params": parameters}
        os.write(self._to_browser, json.dumps(request | ({"sessionId": session} if session else {})).encode() + b"\0")
        while True:
            message = self._next()
            if message.get("id") == self._count:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result
            self.events.append(message)

    def wait_for(self, event: str) -> None:
        while not any(message.get("method") == event for message in self.events):
            self.events.append(self._next())

    def close(self) -> None:
        self.call("Browser.close")
        self._process.wait(timeout=PATIENCE_S)
        os.close(self._to_browser)
        os.close(self._from_browser)

    def _next(self) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE_S
        while b"\0" not in self._received:
            ready, _, _ = select.select([self._from_browser], [], [], max(0.0, end - time.monotonic()))
            assert ready, "the browser does not answer"
            data = os.read(self._from_browser, 1 << 20)
            assert data, "the browser has ended"
            self._received += data
        message, _, self._received = self._received.partition(b"\0")
        decoded: dict[str, Any] = json.loads(message)
        return decoded


class Shown:
    """A page that a browser shows."""

    def __init__(self, browser: Browser, page: Path, size: tuple[int, int], *, scheme: str = "light") -> None:
        self._browser = browser
        browser.events.clear()
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        width, height = size
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url=page.as_uri())
        browser.wait_for("Page.loadEventFired")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **parameters)

    def value(self, script: str) -> Any:
        """What an expression of JavaScript gives, once its promise is kept."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def events(self, method: str) -> list[dict[str, Any]]:
        return [message["params"] for message in self._browser.events if message.get("method") == method]
