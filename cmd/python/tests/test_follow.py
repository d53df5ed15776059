"""How a collection is followed where its watches fail. The clock is the test's."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import pytest

from genericjob import Refused, Unreachable
from genericjob import follow as following
from genericjob.follow import follow
from genericjob.patience import Patience
from genericjob.wire import Api
from test_patience import Clock

POD: dict[str, Any] = {"metadata": {"uid": "u", "name": "a"}}


class Collection:
    """An apiserver with one pod. `watch` is what a watch does that may last so many seconds, and `broken` fails that many lists."""

    def __init__(self, clock: Clock, waits: float | None, watch: Callable[[float], Iterator[str]]) -> None:
        self._clock = clock
        self._watch = watch
        self.patience = Patience(waits)
        self.listed: list[float] = []
        self.broken = 0

    def patient(self, patience: Patience) -> Collection:
        assert patience is self.patience
        return self

    def call(self, method: str, path: str, query: Mapping[str, object]) -> dict[str, Any]:
        return self.patience.keep_trying(self._list)

    def _list(self) -> dict[str, Any]:
        self.listed.append(self._clock.now - 1000)
        if self.broken:
            self.broken -= 1
            raise Unreachable("no")
        return {"metadata": {"resourceVersion": "1"}, "items": [copy.deepcopy(POD)]}

    def lines(self, path: str, query: Mapping[str, object], quiet: float) -> Iterator[str]:
        return self._watch(quiet - 10)

    def seen(self, every: float = 60) -> list[list[str]]:
        """The names of the pods, each time that they are told."""
        return [[o["metadata"]["name"] for o in have.values()] for have in follow(cast("Api", self), "pods", {}, every)]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    ours = Clock(monkeypatch)
    monkeypatch.setattr(following, "time", ours)
    return ours


def test_who_may_not_watch_lists_again_after_pauses_that_grow(clock: Clock) -> None:
    def refused(seconds: float) -> Iterator[str]:
        raise Refused("you may not watch pods", 403)

    pods = Collection(clock, 60, refused)
    assert pods.seen() == [["a"]] * 8
    assert pods.listed == [0, 1, 3, 7, 15, 30, 45, 60]


def test_a_watch_that_lasts_is_followed_by_a_list_at_once(clock: Clock) -> None:
    def silent(seconds: float) -> Iterator[str]:
        clock.now += seconds
        return iter(())

    pods = Collection(clock, 45, silent)
    assert pods.seen(every=20) == [["a"]] * 4
    assert pods.listed == [0, 20, 40, 45], "the last is at the deadline, though its watch has told nothing"


def test_a_list_that_fails_at_the_deadline_ends_it(clock: Clock) -> None:
    def breaks(seconds: float) -> Iterator[str]:
        pods.broken = 100
        raise Unreachable("no")

    pods = Collection(clock, 10, breaks)
    assert pods.seen() == [["a"]]
    assert pods.listed[-1] == 10


@pytest.mark.parametrize(
    "line", ["[]", '"MODIFIED"', "null", '{"error": "please log in"}', '{"type": "MODIFIED", "obj', '{"type": "ERROR"}']
)
def test_what_is_no_change_ends_a_watch(clock: Clock, line: str) -> None:
    def says(seconds: float) -> Iterator[str]:
        yield '{"type": "ADDED", "object": {"metadata": {"uid": "v", "name": "b"}}}'
        yield '{"type": "DELETED", "object": {"metadata": {"uid": "u", "name": "a"}}}'
        yield line
        raise AssertionError("it is over")

    assert Collection(clock, 1, says).seen() == [["a"], ["a", "b"], ["b"], ["a"]]
