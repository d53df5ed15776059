"""Prints the logs of a job's replicas, each line behind the replica's name."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from datetime import datetime
from typing import TextIO

from . import pods
from .errors import Error, NotFound, Refused
from .lines import GONE, NO_LOG, REPEATS, Moment, cut_gone, cut_time
from .objects import Object
from .patience import Patience, may_pass
from .wire import Api

_REATTACH = 1.0
"""Seconds to wait before a stream that broke is opened again."""
_LAG = 5.0
"""Seconds after which a kubelet tells of a container's end at the latest, though the job is over."""
_HELD = 30.0
"""Seconds after which containers end whose wrapper waits for an order, though the job is over."""
LOG_SECONDS = 10.0
"""Seconds for which a log is asked for that is not followed: its node may be lost."""
_QUIET = 300.0
"""Seconds after which a stream that says nothing is opened anew: nobody would notice that it is dead."""

_WRAPPED = "genericjob-wrapper"
"""The volume of pods in which a wrapper runs the code, which may hold a container when its code has ended."""


def _is_denied(error: Error) -> bool:
    """Says whether the apiserver does not know who asks, or refuses all logs to him. Other refusals pass, or are of one log alone."""
    return isinstance(error, Refused) and error.status in (401, 403)


class Printer:
    """Prints logs of pods. Its streams are threads that share the output."""

    def __init__(self, api: Api, out: TextIO, tail: int | None) -> None:
        self._api = api
        self._out = out
        self._tail = {} if tail is None else {"tailLines": tail}
        self._lock = threading.Lock()
        self._width = 0
        self._streams: dict[str, Stream] = {}
        self._looked = False
        self._refused: Error | None = None

    def measure(self, replicas: list[Object]) -> None:
        """Makes all names equally wide."""
        self._width = max([self._width, *(len(pods.replica(p)) for p in replicas)])

    def say(self, pod: Object, words: str) -> None:
        """Prints one line behind the name of a replica."""
        with self._lock:
            self._out.write(f"{'[' + pods.replica(pod) + ']':<{self._width + 2}} {words}\n")
            self._out.flush()

    def print(self, replicas: list[Object]) -> None:
        """Prints logs as they are. Of one that cannot be read it says so, and goes on; it raises that if there is no other."""
        self.measure(replicas)
        problems: list[Error] = []
        for pod in replicas:
            try:
                self._print(pod)
            except Error as e:
                if _is_denied(e):
                    raise
                with contextlib.suppress(Refused):  # which is an answer; Unreachable is raised: the cluster is away, and not a node
                    self.look(pod)
                self.say(pod, f"its log cannot be read{', its node may be lost' if may_pass(e) else ''}: {e}")
                problems.append(e)
        if problems and len(problems) == len(replicas):
            raise problems[0]

    def _print(self, pod: Object) -> None:
        container = pods.main_container(pod)
        if pods.state(pod, container) == "waiting":
            self.say(pod, "has not started: see why()")
            return
        text = self._api.within(LOG_SECONDS).text(self._path(pod), {"container": container, **self._tail})
        lines, gone = cut_gone(text)
        for line in [*lines, NO_LOG] if gone else lines:
            self.say(pod, line)

    def follow(self, replicas: list[Object]) -> None:
        """Begins to print the logs of pods, as they come, if that is not done already, and goes on where a container was restarted."""
        self.check()
        for pod in replicas:
            container = pods.main_container(pod)
            if pods.state(pod, container) == "waiting":
                continue
            stream = self._streams.get(pod["metadata"]["uid"])
            if stream is None:  # what it said before it was first seen was said while it was followed
                again = self._looked and pods.restarts(pod, container) > 0
                self._streams[pod["metadata"]["uid"]] = Stream(self, pod, again)
            else:
                stream.restarted(pods.restarts(pod, container))
        self._looked = True

    def refuse(self, error: Error) -> None:
        """Notes what keeps a log from being read, whatever is waited for."""
        self._refused = self._refused or error

    def check(self) -> None:
        """Raises what refuse() has noted, if there is anything."""
        if self._refused is not None:
            raise self._refused

    def unended(self, replicas: list[Object]) -> list[Object]:
        """The pods whose logs are printed and that have not ended."""
        streams = ((pod, self._streams.get(pod["metadata"]["uid"])) for pod in replicas)
        return [pod for pod, stream in streams if stream is not None and stream.is_read() and not pods.is_over(pod, stream.container)]

    def finish(self, left: list[Object]) -> None:
        """Waits for the ends of the logs. Those of pods in `left` do not end, though the job is over, and are left."""
        for pod in left:
            stream = self._streams[pod["metadata"]["uid"]]
            stream.stop()
            if pods.state(pod, stream.container) == "running":
                self.say(pod, "still runs, though the job is over")
        for stream in self._streams.values():
            stream.join()
        self.check()

    def stop(self) -> None:
        """Stops all streams, also those that wait for the cluster."""
        for stream in self._streams.values():
            stream.stop()
        if self._api.patience is not None:
            self._api.patience.end()

    def _path(self, pod: Object) -> str:
        return self._api.pods(pod["metadata"]["name"], "log")

    def lines(
        self, pod: Object, container: str, last: Moment | None, follow: bool, previous: bool = False
    ) -> Iterator[tuple[Moment | None, str]]:
        """Yields what came after a moment: each line with its time. Previous is what came before the container was restarted."""
        query: dict[str, object] = {"container": container, "timestamps": "true", "follow": str(follow).lower()}
        if previous:
            query["previous"] = "true"
        if last is None:
            query.update(self._tail)
        else:
            query["sinceTime"] = datetime.fromtimestamp(last[0]).astimezone().isoformat()
        gone = ""  # what a kubelet says of a log that is gone, if that is all that follows
        for line in self._api.lines(self._path(pod), query, _QUIET):
            if gone:
                yield None, gone
            gone = line if GONE.fullmatch(line.rstrip()) else ""
            at, words = cut_time(line)
            if not gone and (at is None or last is None or at > last):
                yield at, words
        if gone:
            raise Error(NO_LOG)

    def look(self, pod: Object) -> Object | None:
        """The pod as it is now; None if it is gone, or is another one by now."""
        try:
            now = self._api.call("GET", self._api.pods(pod["metadata"]["name"]))
        except NotFound:
            return None
        return now if now["metadata"]["uid"] == pod["metadata"]["uid"] else None


class Stream:
    """The log of one pod that is being printed, through the restarts of its container."""

    def __init__(self, printer: Printer, pod: Object, again: bool) -> None:
        self.container = pods.main_container(pod)
        self._printer = printer
        self._pod = pod
        self._last: Moment | None = None
        begun = None if again else pods.begun(pod, self.container)
        self._from: Moment = (begun.timestamp() if begun else 0.0, "")
        """When the run began that is the first to be printed."""
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._seen = pods.restarts(pod, self.container)
        """How often the container was restarted, as far as that was seen."""
        self._read = 0
        """How often, as far as its log was read to the end."""
        self._ended = False
        self._start(again)

    def _start(self, again: bool) -> None:
        self._thread = threading.Thread(target=self._run, args=(again,), daemon=True)
        self._thread.start()

    def restarted(self, times: int) -> None:
        """Notes how often the container was restarted, and goes on if its log was read to the end before."""
        with self._lock:
            self._seen = max(self._seen, times)
            again = self._ended and self._seen > self._read and not self._stopped.is_set()
            self._ended = self._ended and not again
        if again:
            self._start(again=True)

    def is_read(self) -> bool:
        """Says whether it is being printed."""
        with self._lock:
            return not self._ended

    def stop(self) -> None:
        """Has it print nothing more."""
        self._stopped.set()

    def join(self) -> None:
        """Waits for its end, unless it was stopped."""
        while self._thread.is_alive() and not self._stopped.is_set():
            self._thread.join(0.2)

    def _end(self, times: int) -> bool:
        """Notes that the log was read to the end of a run, and says whether there is no other."""
        with self._lock:
            self._read = max(self._read, times)
            self._seen = max(self._seen, times)
            self._ended = self._seen == self._read
            return self._ended

    def _run(self, again: bool) -> None:
        ended = False
        try:
            ended = self._read_on(again)
        except Error as e:  # one that lasts
            self._printer.refuse(e)
        if not ended:
            with self._lock:
                self._ended = True

    def _read_on(self, again: bool) -> bool:
        """Prints to the end, and says whether it came to that. A stream that breaks before is opened where it broke; once the container
        has ended, a last time."""
        over = -1  # the restart of which the end was seen
        while not self._stopped.is_set():
            problem = self._print(again)
            again = True
            now = self._printer.look(self._pod)
            if now is None:
                break
            times = pods.restarts(now, self.container)
            if pods.is_over(now, self.container):
                if over != times:
                    over = times
                    continue
                if self._end(times):
                    if problem:
                        self._printer.say(self._pod, problem)
                    return True
            self._stopped.wait(_REATTACH)
        return False

    def _print(self, again: bool) -> str:
        """Prints what is new, and returns what went wrong. A connection that breaks takes nothing away of what was printed.

        If it is read again, the container may have been restarted: what it had said until then comes first. That is asked for when the
        stream has its first line, so that no restart goes by between the two.
        """
        problem = ""
        try:
            for at, words in self._printer.lines(self._pod, self.container, self._last, follow=True):
                if again:
                    self._print_previous()
                    again = False
                if self._last is not None and REPEATS.fullmatch(words.rstrip()):
                    break
                self._say(at, words)
        except NotFound:
            return ""
        except Error as e:
            if _is_denied(e):
                raise
            problem = str(e)
        if again:
            self._print_previous()
        return problem

    def _print_previous(self) -> None:
        """Where there was no restart, and where a kubelet has thrown it away, there is nothing before."""

        def read() -> None:
            since = max(self._last or self._from, self._from)
            for at, words in self._printer.lines(self._pod, self.container, since, follow=False, previous=True):
                self._say(at, words)

        with contextlib.suppress(Error):
            Patience(LOG_SECONDS).keep_trying(read)

    def _say(self, at: Moment | None, words: str) -> None:
        if self._stopped.is_set() or (at is not None and self._last is not None and at <= self._last):
            return
        self._printer.say(self._pod, words)
        self._last = at or self._last


def seconds_to_end(left: list[Object]) -> float:
    """Seconds to wait for the ends of pods of a job that is over."""
    longest = _LAG
    for pod in left:
        if any(v["name"] == _WRAPPED for v in pod["spec"].get("volumes", [])):
            longest = max(longest, _HELD)
        grace = pod["metadata"].get("deletionGracePeriodSeconds")
        if grace is not None:
            longest = max(longest, _LAG + min(grace, _HELD))
    return longest
