"""A proxy before the real apiserver, which spoils watches on request."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import kubernetes.client

from genericjob.wire import Api

GONE = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}


class Faults:
    """`next` are the faults of the next watches: cut, gone, ends, unavailable, hangs up."""

    def __init__(self, upstream: Api) -> None:
        self.next: list[str] = []
        self._upstream = upstream
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def api(self, namespace: str) -> Api:
        """The way through the proxy."""
        configuration = kubernetes.client.Configuration()
        configuration.host = f"http://127.0.0.1:{self._server.server_port}"
        return Api(kubernetes.client.ApiClient(configuration), namespace)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        faults = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                query = parse_qs(urlsplit(self.path).query)
                if "watch" in query and faults.next:
                    faults._spoil(self, faults.next.pop())
                    return
                self.send_response(200)
                self.end_headers()
                for line in faults._upstream.lines(urlsplit(self.path).path, {k: v[0] for k, v in query.items()}, quiet=60):
                    self.wfile.write(line.encode() + b"\n")

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (of the library)
                pass

        return Handler

    def _spoil(self, handler: BaseHTTPRequestHandler, fault: str) -> None:
        if fault == "hangs up":
            handler.close_connection = True
            handler.connection.close()
            return
        handler.send_response(503 if fault == "unavailable" else 200)
        if fault == "cut":
            handler.send_header("Content-Length", "1000")
        handler.end_headers()
        if fault == "gone":
            handler.wfile.write(json.dumps({"type": "ERROR", "object": GONE}).encode() + b"\n")
        elif fault == "cut":
            handler.wfile.write(b'{"type": "MODIFIED", "obj')
