"""Follows the objects of a collection through watches that end, break, or have missed something."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator, Mapping

from .errors import Error
from .objects import Object
from .wire import Api, may_pass

PATIENCE = 600.0
"""Seconds for which a cluster that cannot be reached is waited for."""

_AGAIN = 1.0
"""Seconds to wait after a list that failed, or a watch that ended at once."""


def follow(api: Api, path: str, query: Mapping[str, object], deadline: float | None, every: float = 60) -> Iterator[dict[str, Object]]:
    """Yields the objects of a collection by UID: as they are, after each change, and every `every` seconds.

    It ends at the deadline, which is a time of time.monotonic. Trouble on the way is waited for, PATIENCE long.
    """
    answered = time.monotonic()
    left = every
    while left > 0:
        try:
            listing = api.call("GET", path, query=query)
        except Error as e:
            if not may_pass(e) or time.monotonic() - answered > PATIENCE:
                raise
            time.sleep(_AGAIN)
            left = _left(deadline, every)
            continue
        answered = time.monotonic()
        have: dict[str, Object] = {o["metadata"]["uid"]: o for o in listing["items"]}
        yield have
        left = _left(deadline, every)
        if left <= 0:
            return
        version = listing["metadata"]["resourceVersion"]
        began = time.monotonic()
        with contextlib.suppress(Error, ValueError):  # ValueError: a line that was cut off. The next list tells what it said
            yield from _watch(api, path, {**query, "resourceVersion": version}, left, have)
        if time.monotonic() - began < _AGAIN:
            time.sleep(_AGAIN)
        left = _left(deadline, every)


def _left(deadline: float | None, every: float) -> float:
    """Seconds until the next list, none of them behind the deadline."""
    return every if deadline is None else min(every, deadline - time.monotonic())


def _watch(api: Api, path: str, query: Mapping[str, object], seconds: float, have: dict[str, Object]) -> Iterator[dict[str, Object]]:
    """Yields `have` after each change. It returns when the apiserver ends the watch, or has forgotten that version (410)."""
    query = {**query, "watch": "true", "timeoutSeconds": max(1, round(seconds))}
    for line in api.lines(path, query, quiet=seconds + 10):
        event = json.loads(line)
        if event["type"] == "ERROR":
            return
        uid = event["object"]["metadata"]["uid"]
        if event["type"] == "DELETED":
            have.pop(uid, None)
        else:
            have[uid] = event["object"]
        yield have
