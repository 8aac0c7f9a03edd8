"""The viewer's page, passed on with a policy that keeps it from talking to anybody but the server of its data."""

import http.client
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from urllib.parse import urlsplit

PATIENCE_S = 30.0
PASSED = ("Content-Type", "Content-Encoding", "Content-Length", "ETag", "Cache-Control")


class Page:
    """Serves what the viewer's own server has, from `bind` and `port`, as long as it is entered."""

    def __init__(self, bind: str, port: int, *, inner: tuple[str, int], data: str, query: str) -> None:
        policy = _policy(data)

        class Handler(BaseHTTPRequestHandler):
            """Passes on what is asked for; the page itself is told where its data are."""

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
                """Nothing is told of requests."""

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
