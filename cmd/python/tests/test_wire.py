"""How often a call is made, and what its answers mean, by a server of the test's own."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import kubernetes.client
import pytest

from genericjob import Job, Kind, NotFound, Refused, Unreachable, manifest, wire
from genericjob import create as creating
from genericjob.create import create
from genericjob.wire import Api

KIND: Kind = "GenericJob"
QUOTA = 'genericjobs "a" is forbidden: exceeded quota: jobs'
JOB = {"kind": KIND, "metadata": {"name": "a", "namespace": "team", "uid": "1", "annotations": {}}}


class Server:
    """Does what `next` says, one word a call: "hangs up", "is silent", or a status of HTTP, which a text may follow that is the answer.

    Without one it answers as an apiserver does that has one job at most. What a call says to create or delete is done, unless it is refused
    by a status.
    """

    def __init__(self) -> None:
        self.next: list[str] = []
        self.asked: list[str] = []
        self.job: dict[str, Any] | None = None
        self._closed = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server._answer(self)

            def do_POST(self) -> None:
                server._answer(self)

            def do_DELETE(self) -> None:
                server._answer(self)

            def do_PATCH(self) -> None:
                server._answer(self)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (of the library)
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def api(self) -> Api:
        configuration = kubernetes.client.Configuration()
        configuration.host = f"http://127.0.0.1:{self._server.server_port}"
        return Api(kubernetes.client.ApiClient(configuration), "team")

    def close(self) -> None:
        self._closed.set()
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        self.asked.append(handler.command)
        word = self.next.pop(0) if self.next else ""
        number, _, text = word.partition(" ")
        status, answer = (int(number), {"message": QUOTA}) if number.isdigit() else self._obey(handler.command, body)
        if word == "is silent":
            self._closed.wait()
        if word in ("is silent", "hangs up"):
            return
        data = text.encode() if number.isdigit() and text else json.dumps(answer).encode()
        handler.send_response(status)
        handler.send_header("Retry-After", "1")  # as an apiserver that has too much to do
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    def _obey(self, method: str, body: bytes) -> tuple[int, Any]:
        have = self.job
        if method == "POST":
            if have:
                return 409, {"message": '"a" already exists'}
            self.job = json.loads(body)
            return 201, self.job
        if method == "DELETE":
            self.job = None
        return (200, have) if have else (404, {"message": '"a" not found', "details": {"name": "a"}})


@pytest.fixture
def server() -> Iterator[Server]:
    has_one_job = Server()
    yield has_one_job
    has_one_job.close()


@pytest.mark.parametrize("method", ["GET", "DELETE", "PATCH"])
def test_who_has_too_much_to_do_is_heard_once(server: Server, method: str) -> None:
    server.next = ["429"]
    with pytest.raises(Refused, match="exceeded quota") as caught:
        server.api().call(method, server.api().jobs(KIND, "a"), {})
    assert caught.value.status == 429
    assert server.asked == [method]


def test_what_is_read_is_asked_for_again_if_the_connection_breaks(server: Server) -> None:
    server.job, server.next = JOB, ["hangs up", "hangs up"]
    assert server.api().call("GET", server.api().jobs(KIND, "a")) == JOB
    assert server.asked == ["GET"] * 3


STRANGE = ["<html>please log in</html>", "[]", '"yes"', "3", "null", '{"login": "wanted"}', '{"kind": 3}']


@pytest.mark.parametrize("text", STRANGE)
def test_who_is_no_apiserver_is_told_by_what_he_says(server: Server, text: str) -> None:
    server.next = [f"200 {text}"]
    with pytest.raises(Unreachable) as caught:
        server.api().call("GET", server.api().jobs(KIND, "a"))
    assert str(caught.value).endswith(f"/genericjobs/a is no apiserver: an object with a kind is wanted, and found was {text!r}")
    assert not caught.value.lasts


@pytest.mark.parametrize("text", [*STRANGE, '{"message": 3, "details": "none"}'])
def test_a_refusal_may_have_any_words(server: Server, text: str) -> None:
    said = "3" if "message" in text else text
    server.next = [f"403 {text}", f"404 {text}"]
    with pytest.raises(Refused) as caught:
        server.api().call("GET", server.api().jobs(KIND, "a"))
    assert (str(caught.value), caught.value.status) == (said, 403)
    with pytest.raises(NotFound) as missing:
        server.api().call("GET", server.api().pods("a"))
    assert str(missing.value) == said


def test_a_job_is_deleted_by_one_call(server: Server) -> None:
    server.job, server.next = JOB, ["hangs up"]
    job = Job(server.api(), JOB)
    with pytest.raises(Unreachable):
        job.delete()
    assert server.asked == ["DELETE"]
    with pytest.raises(NotFound):
        job.delete()


def named() -> dict[str, Any]:
    return manifest(image="i", kind=KIND, name="a")


@pytest.mark.parametrize("then", ["403", "422"])
def test_a_second_try_may_be_refused_because_the_first_has_created_the_job(server: Server, then: str) -> None:
    """A quota is asked before it is known that the name is taken."""
    server.next = ["hangs up", then]
    assert create(server.api(), KIND, named()) == server.job
    assert server.asked == ["POST", "POST", "GET"]


def test_an_answer_that_never_comes_is_lost(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "CALL_TIMEOUT", 3.0)
    monkeypatch.setattr(creating, "SECONDS", 2.5)
    server.next = ["is silent"]
    assert create(server.api(), KIND, named()) == server.job
    assert server.asked == ["POST", "GET"]


def test_who_may_not_read_the_job_is_told_what_the_create_was_told(server: Server) -> None:
    server.next = ["hangs up", "", "403"]
    with pytest.raises(Refused, match="already exists"):
        create(server.api(), KIND, named())


@pytest.mark.parametrize("status", ["401", "403", "422"])
def test_what_is_refused_at_once_is_not_looked_for(server: Server, status: str) -> None:
    server.next = [status]
    with pytest.raises(Refused, match="exceeded quota"):
        create(server.api(), KIND, named())
    assert server.asked == ["POST"]
