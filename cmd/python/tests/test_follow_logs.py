"""How logs are followed while containers are restarted in their pods."""

from __future__ import annotations

import copy
import io
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import pytest

from genericjob import Refused, lines, logs
from genericjob.wire import Api
from played import PATIENCE


class Kubelet:
    """An apiserver with one pod, whose container has a log for each of its runs."""

    def __init__(self) -> None:
        labels = {"batch.tensorstack.dev/replica-type": "worker", "batch.tensorstack.dev/replica-rank": "0"}
        self.pod: dict[str, Any] = {
            "metadata": {"name": "a", "uid": "u", "labels": labels},
            "spec": {"containers": [{"name": "main"}]},
            "status": {},
        }
        self.runs: list[list[str]] = [[]]
        self.asked: list[bool] = []
        self.began = 0
        self.became("running")

    def became(self, state: str, phase: str = "Running") -> None:
        """Has the container be in a state, in the run that it is in."""
        container = {
            "name": "main",
            "restartCount": len(self.runs) - 1,
            "state": {state: {"startedAt": f"2026-01-01T00:00:{self.began:02}Z"}},
        }
        self.pod["status"] = {"phase": phase, "containerStatuses": [container]}

    def pods(self, name: str = "", subresource: str = "") -> str:
        return f"{name}/{subresource}"

    def call(self, method: str, path: str) -> dict[str, Any]:
        assert (method, path) == ("GET", "a/")
        return copy.deepcopy(self.pod)

    def lines(self, path: str, query: Mapping[str, object], quiet: float) -> Iterator[str]:
        assert (path, quiet > 0) == ("a/log", True)
        previous = "previous" in query
        self.asked.append(previous)
        if previous and len(self.runs) == 1:
            raise Refused("previous terminated container not found", 400)
        yield from list(self.runs[-2 if previous else -1])


def line(second: int, words: str) -> str:
    return f"2026-01-01T00:00:{second:02}.5Z {words}"


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_container_that_is_restarted_goes_on_and_nothing_is_lost_or_there_twice() -> None:
    kubelet, out = Kubelet(), io.StringIO()
    printer = logs.Printer(cast("Api", kubelet), out, None)
    kubelet.runs = [[line(0, "one"), line(1, "two")]]
    kubelet.became("terminated")
    replicas = [copy.deepcopy(kubelet.pod)]
    printer.follow(replicas)
    until(lambda: not printer._streams["u"].is_read())
    assert printer.unended(replicas) == []

    kubelet.runs = [[line(0, "one"), line(1, "two"), line(2, "last words")], [line(3, "anew")]]
    kubelet.became("running")
    printer.follow([copy.deepcopy(kubelet.pod)])
    until(lambda: "anew" in out.getvalue())
    assert printer.unended([kubelet.pod]) == [kubelet.pod]
    kubelet.runs[-1].append(line(4, "trained"))
    kubelet.became("terminated", "Succeeded")
    printer.finish(printer.unended([kubelet.pod]))
    assert out.getvalue().splitlines() == [f"[worker-0] {words}" for words in ("one", "two", "last words", "anew", "trained")]


def test_what_a_wrapper_repeats_is_printed_once() -> None:
    kubelet, out = Kubelet(), io.StringIO()
    printer = logs.Printer(cast("Api", kubelet), out, None)
    kubelet.runs = [[line(0, "one"), line(1, "two")]]
    kubelet.became("terminated")
    printer.follow([copy.deepcopy(kubelet.pod)])
    until(lambda: not printer._streams["u"].is_read())

    repeats = "genericjob wrapper: attempt 0 had ended with exit code 1. The end of what it said:"
    kubelet.runs.append([line(2, "waits"), line(3, repeats), line(3, "one"), line(4, "two")])
    kubelet.became("terminated", "Failed")
    printer.follow([copy.deepcopy(kubelet.pod)])
    printer.finish([])
    assert out.getvalue().splitlines() == [f"[worker-0] {words}" for words in ("one", "two", "waits")]


def test_what_a_container_said_before_it_was_first_seen_is_printed_if_the_log_was_followed_then() -> None:
    for looked, want in ((True, ["crashed", "anew"]), (False, [])):
        kubelet, out = Kubelet(), io.StringIO()
        printer = logs.Printer(cast("Api", kubelet), out, None)
        if looked:
            printer.follow([])
        kubelet.runs = [[line(0, "crashed")], [line(1, "anew")] if looked else []]
        kubelet.began = 1
        kubelet.became("terminated", "Succeeded")
        printer.follow([copy.deepcopy(kubelet.pod)])
        printer.finish([])
        assert out.getvalue().splitlines() == [f"[worker-0] {words}" for words in want]


def test_a_container_that_waits_to_be_restarted_does_not_hold_up_the_end() -> None:
    kubelet, out = Kubelet(), io.StringIO()
    printer = logs.Printer(cast("Api", kubelet), out, None)
    printer.follow([copy.deepcopy(kubelet.pod)])
    kubelet.became("waiting")
    left = printer.unended([kubelet.pod])
    assert left == [kubelet.pod]
    printer.finish(left)
    assert out.getvalue() == "", "it does not run"
    kubelet.became("running")
    printer.finish([kubelet.pod])
    assert out.getvalue() == "[worker-0] still runs, though the job is over\n"


def test_the_end_is_waited_for_longer_where_a_wrapper_may_hold_it() -> None:
    pod = Kubelet().pod
    held = {**pod, "spec": {**pod["spec"], "volumes": [{"name": "genericjob-wrapper"}]}}
    going = {**pod, "metadata": {**pod["metadata"], "deletionGracePeriodSeconds": 10}}
    assert logs.seconds_to_end([pod]) < logs.seconds_to_end([going]) < logs.seconds_to_end([held])


GONE = (
    "unable to retrieve container logs for containerd://8cdfe489333df0",
    'failed to try resolving symlinks in path "/var/log/pods/a/b/0.log": lstat /var/log/pods/a/b/0.log: no such file or directory',
    'failed to open log file "/var/log/pods/a/b/0.log": open /var/log/pods/a/b/0.log: no such file or directory',
)


def test_what_a_kubelet_says_of_a_log_that_is_gone_is_no_output() -> None:
    for gone in GONE:
        kubelet, out = Kubelet(), io.StringIO()
        printer = logs.Printer(cast("Api", kubelet), out, None)
        kubelet.runs = [[line(0, "one"), gone]]
        printer.follow([copy.deepcopy(kubelet.pod)])
        until(lambda asked=kubelet.asked: asked.count(False) > 1)  # type: ignore[misc]
        kubelet.runs[0] = [line(0, "one"), line(1, gone), line(2, "two"), gone]
        until(lambda out=out: "two" in out.getvalue())  # type: ignore[misc]
        kubelet.became("terminated", "Succeeded")
        printer.finish([])
        no_log = "its node no longer has this log: what was said last may be missing"
        shown = out.getvalue().splitlines()
        assert [s.removeprefix("[worker-0] ") for s in shown] == ["one", gone, "two", no_log], "what has a time was said by the code"
        kubelet.runs = [[gone, gone, "two"]]
        assert list(printer.lines(kubelet.pod, "main", None, follow=False)) == [(None, gone), (None, gone), (None, "two")]
        assert lines.cut_gone(f"one\n{gone}") == (["one"], True)
        assert lines.cut_gone(f"{gone}\none") == ([gone, "one"], False)
    assert lines.cut_gone("") == ([], False)


@pytest.mark.parametrize("status", [401, 403])
def test_who_may_not_read_logs_is_told(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    kubelet = Kubelet()

    def refused(path: str, query: Mapping[str, object], quiet: float) -> Iterator[str]:
        raise Refused("you may not", status)

    monkeypatch.setattr(kubelet, "lines", refused)
    printer = logs.Printer(cast("Api", kubelet), io.StringIO(), None)
    printer.follow([copy.deepcopy(kubelet.pod)])
    until(lambda: not printer._streams["u"].is_read())
    with pytest.raises(Refused, match="you may not"):
        printer.follow([kubelet.pod])
    with pytest.raises(Refused, match="you may not"):
        printer.finish([])


def test_a_log_that_cannot_be_read_yet_is_read_later(monkeypatch: pytest.MonkeyPatch) -> None:
    kubelet, out = Kubelet(), io.StringIO()
    kubelet.runs = [[line(0, "one")]]
    told, refusals = kubelet.lines, [Refused("the container is waiting to start", 400), Refused("dial tcp: connection refused", 500)]

    def later(path: str, query: Mapping[str, object], quiet: float) -> Iterator[str]:
        if refusals:
            raise refusals.pop()
        return told(path, query, quiet)

    monkeypatch.setattr(kubelet, "lines", later)
    printer = logs.Printer(cast("Api", kubelet), out, None)
    printer.follow([copy.deepcopy(kubelet.pod)])
    until(lambda: "one" in out.getvalue())
    kubelet.became("terminated", "Succeeded")
    printer.finish([])
    assert out.getvalue() == "[worker-0] one\n"


def test_what_was_said_before_a_restart_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    kubelet, out = Kubelet(), io.StringIO()
    told, refusals = kubelet.lines, [Refused("too many requests", 429)]

    def later(path: str, query: Mapping[str, object], quiet: float) -> Iterator[str]:
        if "previous" in query and refusals:
            raise refusals.pop()
        return told(path, query, quiet)

    monkeypatch.setattr(kubelet, "lines", later)
    printer = logs.Printer(cast("Api", kubelet), out, None)
    printer.follow([])
    kubelet.runs = [[line(0, "crashed")], [line(1, "anew")]]
    kubelet.began = 1
    kubelet.became("terminated", "Succeeded")
    printer.follow([copy.deepcopy(kubelet.pod)])
    printer.finish([])
    assert out.getvalue() == "[worker-0] crashed\n[worker-0] anew\n"
