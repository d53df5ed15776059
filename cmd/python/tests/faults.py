"""A proxy before the real apiserver, which spoils calls on request."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import kubernetes.client

from genericjob import Error, Refused
from genericjob.wire import Api

LINES = 3
"""So many come of a log that breaks, and a part of the next."""

GONE = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}

Spoil = Callable[[str], str]
"""Says what becomes of a call for a path: "" lets it pass, "hangs up" breaks the connection, "text" answers no JSON, and a number is
a status of HTTP."""


class Faults:
    """`next` are the faults of the next watches: cut, gone, ends, unavailable, hangs up. `logs` are the next logs that break.

    `reads` and `creates` spoil other calls. A create whose fault is "lost" is made, and its answer is lost.
    """

    def __init__(self, upstream: Api) -> None:
        self.next: list[str] = []
        self.logs = 0
        self.reads: Spoil = lambda path: ""
        self.creates: Spoil = lambda path: ""
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
                elif "watch" in query or query.get("follow") == "true":
                    faults._stream(self, query)
                else:
                    faults._pass_on(self, faults.reads(urlsplit(self.path).path), query)

            def do_POST(self) -> None:
                query = {k: v[0] for k, v in parse_qs(urlsplit(self.path).query).items()}
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                faults._pass_on(self, faults.creates(urlsplit(self.path).path), query, body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (of the library)
                pass

        return Handler

    def _pass_on(self, handler: BaseHTTPRequestHandler, fault: str, query: dict[str, str], body: Any = None) -> None:
        """Makes a call upstream, and answers as the apiserver does."""
        if fault == "hangs up":
            handler.close_connection = True
            return
        if fault and fault not in ("lost", "text"):
            self._answer(handler, int(fault), json.dumps({"message": f"spoiled: {fault}"}))
            return
        try:
            path = urlsplit(handler.path).path
            is_log = path.endswith("/log")
            answer = self._upstream.text(path, query) if is_log else json.dumps(self._upstream.call(handler.command, path, body, query))
        except Refused as e:
            self._answer(handler, e.status, json.dumps({"message": str(e), "details": {"name": "it"}}))
            return
        except Error as e:
            self._answer(handler, 503, json.dumps({"message": str(e)}))
            return
        if fault == "lost":
            handler.close_connection = True
            return
        self._answer(handler, 200, "please log in" if fault == "text" and not is_log else answer)

    def _answer(self, handler: BaseHTTPRequestHandler, status: int, text: str) -> None:
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(text.encode())))
        handler.end_headers()
        handler.wfile.write(text.encode())

    def _stream(self, handler: BaseHTTPRequestHandler, query: dict[str, str]) -> None:
        breaks = query.get("follow") == "true" and self.logs > 0
        self.logs -= breaks
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for i, line in enumerate(self._upstream.lines(urlsplit(handler.path).path, query, quiet=60)):
            if breaks and i == LINES:
                handler.wfile.write(b"ff\r\n" + line.encode()[:40])
                handler.close_connection = True
                return
            handler.wfile.write(f"{len(line.encode()) + 1:x}\r\n{line}\n\r\n".encode())
            handler.wfile.flush()
        handler.wfile.write(b"0\r\n\r\n")

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
