"""Follows the objects of a collection through watches that end, break, or have missed something."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping

from .errors import Error
from .objects import Object
from .patience import LONGEST, Patience, may_pass
from .wire import Api, as_object

_AGAIN = 1.0
"""Seconds to wait after a watch that ended within such a time. Each such pause is twice as long as the one before, up to LONGEST."""


def follow(api: Api, path: str, query: Mapping[str, object], every: float = 60) -> Iterator[dict[str, Object]]:
    """Yields the objects of a collection by UID: as they are, after each change, and every `every` seconds.

    It has the patience of `api`: it waits for trouble to pass, looks a last time at the deadline, and ends. Where no watch can be had, as
    for who may list and not watch, it lists again after each pause.
    """
    patience = api.patience or Patience()
    api = api.patient(patience)
    pause = _AGAIN
    while True:
        try:
            listing = api.call("GET", path, query=query)
        except Error as e:
            if may_pass(e):  # the deadline has come
                return
            raise
        have: dict[str, Object] = {o["metadata"]["uid"]: o for o in listing["items"]}
        yield have
        left = min(every, patience.left())
        if left <= 0:
            return
        version = listing["metadata"]["resourceVersion"]
        began = time.monotonic()
        with contextlib.suppress(Error):  # the next list tells what the watch would have
            yield from _watch(api, path, {**query, "resourceVersion": version}, left, have)
        if time.monotonic() - began >= _AGAIN:
            pause = _AGAIN
            continue
        time.sleep(min(pause, patience.left()))
        pause = min(2 * pause, LONGEST)


def _watch(api: Api, path: str, query: Mapping[str, object], seconds: float, have: dict[str, Object]) -> Iterator[dict[str, Object]]:
    """Yields `have` after each change. It returns when the apiserver ends the watch, or says what is no change.

    That is an ERROR if it has forgotten the version (410), and a line that was cut off.
    """
    query = {**query, "watch": "true", "timeoutSeconds": max(1, round(seconds))}
    for line in api.lines(path, query, quiet=seconds + 10):
        event = as_object(line)
        if event.get("type") not in ("ADDED", "MODIFIED", "DELETED"):
            return
        uid = event["object"]["metadata"]["uid"]
        if event["type"] == "DELETED":
            have.pop(uid, None)
        else:
            have[uid] = event["object"]
        yield have
