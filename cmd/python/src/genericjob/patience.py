"""Tries again what may pass: a connection that breaks, an apiserver that is away, or that has too much to do."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TypeVar

from .errors import Error, Refused, Unreachable

_FIRST, LONGEST = 0.5, 15.0
"""Seconds before the second try, and the most before a later one: each pause is twice as long as the one before."""

_TOLD = 4.0
"""The pause from which on the user is told: trouble that lasts for some seconds is nobody's business."""

_LAST_CALL = 1.0
"""Seconds that a call has at least, though the deadline is near."""

T = TypeVar("T")


def may_pass(error: Error) -> bool:
    """Says whether asking again later may help."""
    if isinstance(error, Unreachable):
        return not error.lasts
    return isinstance(error, Refused) and error.status in (408, 429, 500, 502, 503, 504)


class Patience:
    """How long one call of the user's waits for a cluster.

    seconds:  from now until the deadline. Default: as long as what goes wrong may pass
    told:     is told what goes wrong, if it lasts
    """

    def __init__(self, seconds: float | None = None, told: Callable[[Error], None] | None = None) -> None:
        self._deadline = math.inf if seconds is None else time.monotonic() + seconds
        self._told = told

    def left(self) -> float:
        """Seconds until the deadline; 0 once it has come."""
        return max(0.0, self._deadline - time.monotonic())

    def bound(self, seconds: float) -> float:
        """Seconds that a call may take: so many, or until the deadline if that is earlier, and _LAST_CALL at least."""
        return min(seconds, max(self.left(), _LAST_CALL))

    def end(self) -> None:
        """Has the deadline come: nobody waits any more."""
        self._deadline = 0.0

    def until(self, seconds: float) -> Patience:
        """The same, for no more than so many seconds."""
        return Patience(min(self.left(), seconds), self._told)

    def keep_trying(self, ask: Callable[[], T]) -> T:
        """Calls until there is an answer, the last time at the deadline. Raises what lasts at once, and what went wrong that last time."""
        pause = _FIRST
        while True:
            try:
                return ask()
            except Error as e:
                if not may_pass(e) or self.left() <= 0:
                    raise
                if pause >= _TOLD and self._told is not None:
                    self._told(e)
            time.sleep(min(pause, self.left()))
            pause = min(2 * pause, LONGEST)
