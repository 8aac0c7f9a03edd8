"""Where a recording goes: a file, a viewer that runs, one that is started, or a page in the browser.

Started servers listen on the given address, 127.0.0.1 by default; they send nothing to Rerun's makers, and
what it would fetch from elsewhere (tiles of maps, news of versions) it does not get.
"""

import http.client
import json
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import TracebackType
from urllib.parse import quote, urlsplit

import rerun as rr

from fieldplay.core.atomic_output import atomic_output
from fieldplay.core.errors import UsageError, UserError

PATIENCE_S = 30.0
PASSED = ("Content-Type", "Content-Encoding", "Content-Length", "ETag", "Cache-Control")
LOCAL = "127.0.0.1"
GRPC_PORT, PAGE_PORT = 9876, 9090  # Rerun's own defaults
LOOK_EVERY_S = 0.05
FLUSH_S = 60.0
NOWHERE = f"http://{LOCAL}:9"  # the port of discarding, where nobody listens: a proxy that lets nothing pass


# The viewer's page, passed on with a policy that keeps it from talking to anybody but the server of its data.


class Page:
    """Serves what the viewer's own server has, from `bind` and `port`, as long as it is entered."""

    def __init__(self, bind: str, port: int, *, inner: tuple[str, int], data: str, query: str) -> None:
        policy = _policy(data)

        class Handler(BaseHTTPRequestHandler):
            """Passes requests on; the page itself gets the address of its data."""

            def do_GET(self) -> None:
                if self.path == "/":
                    self.send_response(302)
                    self.send_header("Location", f"/?{query}")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                connection = http.client.HTTPConnection(*inner, timeout=PATIENCE_S)
                connection.request("GET", urlsplit(self.path).path)
                answer = connection.getresponse()
                content = answer.read()
                connection.close()
                self.send_response(answer.status)
                for name in PASSED:
                    if answer.getheader(name) and name != "Content-Length":
                        self.send_header(name, str(answer.getheader(name)))
                self.send_header("Content-Length", str(len(content)))
                self.send_header("Content-Security-Policy", policy)
                self.send_header("Referrer-Policy", "no-referrer")
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:
                """Requests are not logged."""

        self._server = ThreadingHTTPServer((bind, port), Handler)
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> "Page":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


def _policy(data: str) -> str:
    rules = {
        "default-src": "'none'",
        "script-src": "'self' 'unsafe-inline' 'wasm-unsafe-eval' blob:",
        "worker-src": "'self' blob:",
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data: blob:",
        "font-src": "'self' data:",
        "connect-src": f"'self' data: blob: {data}",
    }
    return "; ".join(f"{name} {allowed}" for name, allowed in rules.items())


class ViewerError(UserError):
    """A viewer that cannot be had, or is gone."""


@dataclass(frozen=True, kw_only=True)
class RunningViewer:
    """A viewer, or a server of one, that runs as a process of its own."""

    process: subprocess.Popen[bytes]
    url: str  # where data are sent to
    page: str = ""  # what a browser opens


@contextmanager
def save_to_file(stream: rr.RecordingStream, out: Path) -> Iterator[None]:
    """Save to a file, which appears when it is complete."""
    with atomic_output(out) as partial:
        stream.save(str(partial))
        try:
            yield
        finally:
            stream.disconnect()


@contextmanager
def connect_to(stream: rr.RecordingStream, url: str) -> Iterator[None]:
    """Connect to a running viewer; ViewerError where there is none, or it exits meanwhile."""
    stream.connect_grpc(url)
    try:
        yield
    except RuntimeError as error:
        raise ViewerError(f"the viewer at {url} is gone: {error}") from None
    finally:
        with suppress(RuntimeError):
            stream.disconnect()


def url_of(address: str) -> str:
    """HOST:PORT, HOST or a port as where Rerun's viewers listen; a url of theirs stays."""
    if address.startswith("rerun"):
        return address
    host, _, port = address.rpartition(":") if ":" in address else ("", "", address)
    if not port.isdecimal():
        host, port = address, str(GRPC_PORT)
    if not 0 < int(port) < 1 << 16:
        raise UsageError(f"--connect: expected HOST:PORT, got '{address}'")
    return f"rerun+http://{host or LOCAL}:{port}/proxy"


def require_listener(url: str) -> None:
    """ViewerError where nobody listens."""
    host, _, port = url.partition("://")[2].partition("/")[0].rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except (OSError, ValueError) as error:
        raise ViewerError(f"no viewer listens at {host}:{port} ({error}); `rerun` starts one") from None


@contextmanager
def desktop(memory: str, bind: str) -> Iterator[RunningViewer]:
    """A window with the viewer."""
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise ViewerError("there is no display to open a window on: --web shows it in a browser, --save writes a file")
    port = free_port(bind, GRPC_PORT)
    with _start_viewer(bind, port, "--memory-limit", memory, "--expect-data-soon") as started:
        yield started


@contextmanager
def browser(memory: str, bind: str, port: int) -> Iterator[RunningViewer]:
    """A page with the viewer, and the server of its data."""
    require_free(bind, port)
    data_port, inner_port = free_port(bind, GRPC_PORT), free_port(LOCAL, 0)
    host = _host(bind)
    url = f"rerun+http://{host}:{data_port}/proxy"
    options = ["--serve-web", "--web-viewer-port", str(inner_port), "--server-memory-limit", memory]
    options += ["--cors-allow-origin", f"http://{host}:{port}"]
    data = " ".join(f"http://{name}:{data_port}" for name in {host, "localhost"})
    with _start_viewer(bind, data_port, *options) as started:
        _wait_for(started.process, _host(bind), inner_port)
        with Page(bind, port, inner=(_host(bind), inner_port), data=data, query=f"url={quote(url, safe='')}"):
            yield RunningViewer(process=started.process, url=url, page=f"http://{host}:{port}/")


@contextmanager
def _start_viewer(bind: str, port: int, *options: str) -> Iterator[RunningViewer]:
    """Run the viewer process within the context."""
    import rerun_cli

    program = Path(str(rerun_cli.__file__)).parent / "rerun"
    with tempfile.TemporaryDirectory(prefix="fieldplay-view-") as folder:
        command = [str(program), "--bind", bind, "--port", str(port), *options]
        process = subprocess.Popen(
            command, env=_quiet(Path(folder)), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            _wait_for(process, _host(bind), port)
            yield RunningViewer(process=process, url=f"rerun+http://{_host(bind)}:{port}/proxy")
        finally:
            process.terminate()
            process.wait()


def _quiet(folder: Path) -> Mapping[str, str]:
    """An environment in which the viewer sends and fetches nothing; its settings stand in a folder of their own."""
    settings = folder / "rerun"
    settings.mkdir()
    analytics = {"analytics_enabled": False, "analytics_id": "", "metadata": {}}
    (settings / "analytics.json").write_text(json.dumps(analytics))
    proxies = {name: NOWHERE for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")}
    own = {"XDG_CONFIG_HOME": str(folder), "XDG_DATA_HOME": str(folder), "NO_PROXY": "127.0.0.1,localhost"}
    return {**os.environ, **proxies, **own, "no_proxy": own["NO_PROXY"]}


def _wait_for(process: subprocess.Popen[bytes], host: str, port: int) -> None:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if process.poll() is not None:
            raise ViewerError(f"the viewer has ended at once, with code {process.returncode}")
        with suppress(OSError), closing(socket.create_connection((host, port), timeout=1)):
            return
        time.sleep(LOOK_EVERY_S)
    raise ViewerError(f"the viewer does not listen at {host}:{port} after {PATIENCE_S:g} s")


def require_free(bind: str, port: int) -> None:
    """ViewerError where a port is in use, or the address is not of this machine."""
    try:
        with closing(_bind(bind, port)):
            pass
    except OSError as error:
        raise ViewerError(f"{bind}:{port} cannot be used ({error.strerror}); --port and --bind name another") from None


def free_port(bind: str, requested: int) -> int:
    """The requested port, or another one where it is in use."""
    for port in (requested, 0):
        with suppress(OSError), closing(_bind(bind, port)) as listener:
            return int(listener.getsockname()[1])
    raise ViewerError(f"{bind} cannot be listened at: --bind names an address of this machine")


def _bind(bind: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in bind else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((bind, port))
    except OSError:
        listener.close()
        raise
    return listener


def _host(bind: str) -> str:
    """The address by which what is bound so is reached from here."""
    return LOCAL if bind in ("0.0.0.0", "::") else bind
