"""A proxy before the real apiserver, which spoils watches and logs on request."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import kubernetes.client

from genericjob.wire import Api

LINES = 3
"""So many come of a log that breaks, and a part of the next."""

GONE = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}


class Faults:
    """`next` are the faults of the next watches: cut, gone, ends, unavailable, hangs up. `logs` are the next logs that break."""

    def __init__(self, upstream: Api) -> None:
        self.next: list[str] = []
        self.logs = 0
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
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                query = {k: v[0] for k, v in parse_qs(urlsplit(self.path).query).items()}
                if "watch" in query and faults.next:
                    faults._spoil(self, faults.next.pop())
                    return
                breaks = query.get("follow") == "true" and faults.logs > 0
                faults.logs -= breaks
                self.send_response(200)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for i, line in enumerate(faults._upstream.lines(urlsplit(self.path).path, query, quiet=60)):
                    if breaks and i == LINES:
                        self.wfile.write(b"ff\r\n" + line.encode()[:40])
                        self.close_connection = True
                        return
                    self.wfile.write(f"{len(line.encode()) + 1:x}\r\n{line}\n\r\n".encode())
                    self.wfile.flush()
                self.wfile.write(b"0\r\n\r\n")

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (of the library)
                pass

        return Handler

    def _spoil(self, handler: BaseHTTPRequestHandler, fault: str) -> None:
        handler.close_connection = True
        if fault == "hangs up":
            return
        handler.send_response(503 if fault == "unavailable" else 200)
        if fault == "cut":
            handler.send_header("Content-Length", "1000")
        else:
            handler.send_header("Connection", "close")
        handler.end_headers()
        if fault == "gone":
            handler.wfile.write(json.dumps({"type": "ERROR", "object": GONE}).encode() + b"\n")
        elif fault == "cut":
            handler.wfile.write(b'{"type": "MODIFIED", "obj')
