"""How long and how often something is tried again. The clock is the test's."""

from __future__ import annotations

import pytest

from genericjob import Refused, Unreachable, patience


class Clock:
    """Time that passes while somebody sleeps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        self.pauses: list[float] = []
        monkeypatch.setattr(patience, "time", self)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


def busy() -> str:
    raise Refused("too many requests", 429)


def test_pauses_grow_until_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    told: list[Exception] = []
    with pytest.raises(Refused, match="too many requests"):
        patience.Patience(60, told.append).keep_trying(busy)
    assert clock.pauses == [0.5, 1, 2, 4, 8, 15, 15, 14.5]
    assert sum(clock.pauses) == 60
    assert len(told) == 5, "of trouble that lasts"


def test_the_last_time_is_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)

    def ask() -> str:
        return "yes" if clock.now >= 1060 else busy()

    assert patience.Patience(60).keep_trying(ask) == "yes", "it came back while the last pause went by"
    with pytest.raises(Refused, match="too many requests"):
        patience.Patience(-1).keep_trying(busy)
    assert clock.now == 1060, "nobody waits for what is over"


def test_without_a_deadline_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    answers = iter([Unreachable("no")] * 1000)

    def ask() -> str:
        for error in answers:
            raise error
        return "yes"

    assert patience.Patience().keep_trying(ask) == "yes"
    assert sum(clock.pauses) > 3600


def test_nobody_waits_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    waits = patience.Patience()

    def ask() -> str:
        waits.end()
        return busy()

    with pytest.raises(Refused):
        waits.keep_trying(ask)
    assert clock.pauses == []


def test_a_call_takes_no_longer_than_there_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    Clock(monkeypatch)
    assert patience.Patience(5).bound(30) == 5
    assert patience.Patience(50).bound(30) == 30
    assert patience.Patience().bound(30) == 30
    assert patience.Patience(0).bound(30) == 1, "it is asked once"
    assert patience.Patience().until(5).bound(30) == 5
