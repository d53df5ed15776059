"""Prints the logs of a job's replicas, each line behind the replica's name."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from datetime import datetime
from typing import TextIO

from . import pods
from .errors import Error, NotFound
from .wire import Api, Object

_REATTACH = 1.0
"""Seconds to wait before a stream that broke is opened again."""
_QUIET = 300.0
"""Seconds after which a stream that says nothing is opened anew: nobody would notice that it is dead."""

_STAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d) ?(.*)", re.DOTALL)

Moment = tuple[float, str]
"""Seconds, and a fraction of nine digits, which a float would not hold."""


class Printer:
    """Prints logs of pods. Its streams are threads that share the output."""

    def __init__(self, api: Api, out: TextIO, tail: int | None) -> None:
        self._api = api
        self._out = out
        self._tail = {} if tail is None else {"tailLines": tail}
        self._lock = threading.Lock()
        self._width = 0
        self._streams: dict[str, Stream] = {}

    def measure(self, replicas: list[Object]) -> None:
        """Makes all names equally wide."""
        self._width = max([self._width, *(len(pods.replica(p)) for p in replicas)])

    def say(self, pod: Object, words: str) -> None:
        """Prints one line behind the name of a replica."""
        with self._lock:
            self._out.write(f"{'[' + pods.replica(pod) + ']':<{self._width + 2}} {words}\n")
            self._out.flush()

    def print(self, pod: Object) -> None:
        """Prints a log as it is."""
        container = pods.main_container(pod)
        if pods.state(pod, container) == "waiting":
            self.say(pod, "has not started: see why()")
            return
        text = self._api.text("GET", self._path(pod), query={"container": container, **self._tail})
        for line in text.splitlines():
            self.say(pod, line)

    def follow(self, pod: Object) -> None:
        """Begins to print a log, as it comes, if that is not done already."""
        uid = pod["metadata"]["uid"]
        if uid not in self._streams and pods.state(pod, pods.main_container(pod)) != "waiting":
            self._streams[uid] = Stream(self, pod)

    def finish(self, left: list[Object]) -> None:
        """Waits for the ends of the logs. Those of pods in `left` do not end, though the job is over, and are left."""
        for pod in left:
            stream = self._streams.get(pod["metadata"]["uid"])
            if stream is not None and not pods.is_over(pod, stream.container):
                stream.stop()
                self.say(pod, "still runs, though the job is over")
        for stream in self._streams.values():
            stream.join()

    def stop(self) -> None:
        """Stops all streams."""
        for stream in self._streams.values():
            stream.stop()

    def _path(self, pod: Object) -> str:
        return self._api.pods(pod["metadata"]["name"], "log")

    def lines(self, pod: Object, container: str, last: Moment | None, follow: bool) -> Iterator[tuple[Moment | None, str]]:
        """Yields what came after a moment: each line with its time."""
        query: dict[str, object] = {"container": container, "timestamps": "true", "follow": str(follow).lower()}
        if last is None:
            query.update(self._tail)
        else:
            query["sinceTime"] = datetime.fromtimestamp(last[0]).astimezone().isoformat()
        for line in self._api.lines(self._path(pod), query, _QUIET):
            at, words = cut_time(line)
            if at is None or last is None or at > last:
                yield at, words

    def is_over(self, pod: Object, container: str) -> bool | None:
        """Says whether a container has ended; None if its pod is gone, or is another one by now."""
        try:
            now = self._api.call("GET", self._api.pods(pod["metadata"]["name"]))
        except NotFound:
            return None
        except Error:
            return False
        return pods.is_over(now, container) if now["metadata"]["uid"] == pod["metadata"]["uid"] else None


class Stream:
    """The log of one pod that is being printed."""

    def __init__(self, printer: Printer, pod: Object) -> None:
        self.container = pods.main_container(pod)
        self._printer = printer
        self._pod = pod
        self._last: Moment | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Has it print nothing more."""
        self._stopped.set()

    def join(self) -> None:
        """Waits for its end, unless it was stopped."""
        while self._thread.is_alive() and not self._stopped.is_set():
            self._thread.join(0.2)

    def _run(self) -> None:
        """Prints to the end. A stream that breaks before is opened where it broke; once the container has ended, a last time."""
        ended = False
        while not self._stopped.is_set():
            problem = ""
            try:
                self._print(follow=not ended)
            except NotFound:
                return
            except Error as e:
                problem = str(e)
            if ended:
                if problem:
                    self._printer.say(self._pod, problem)
                return
            over = self._printer.is_over(self._pod, self.container)
            if over is None:
                return
            ended = over
            if not ended:
                self._stopped.wait(_REATTACH)

    def _print(self, follow: bool) -> None:
        """Prints what is new. A connection that breaks in between takes nothing away of what was printed."""
        for at, words in self._printer.lines(self._pod, self.container, self._last, follow):
            if self._stopped.is_set():
                return
            self._printer.say(self._pod, words)
            self._last = at or self._last


def cut_time(line: str) -> tuple[Moment | None, str]:
    """Reads the time that a line begins with, and what follows it."""
    match = _STAMP.match(line)
    if match is None:
        return None, line  # a kubelet's own words
    seconds, fraction, zone, words = match.groups()
    at = datetime.fromisoformat(seconds + zone.replace("Z", "+00:00"))
    return (at.timestamp(), (fraction or "").ljust(9, "0")), words
