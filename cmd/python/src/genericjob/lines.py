"""What the lines of a log say, beside what the code said. All of it is pure."""

from __future__ import annotations

import re
from datetime import datetime

REPEATS = re.compile(r"genericjob wrapper: attempt \d+ had ended with exit code \d+\. The end of what it said:")
"""The line with which a wrapper begins to repeat what the container before has said. Nothing else follows."""

GONE = re.compile(
    r"unable to retrieve container logs for [a-z0-9-]+://[0-9a-f]+"
    r'|failed to try resolving symlinks in path "/[^"]+\.log": lstat /.+: no such file or directory'
    r'|failed to open log file "/[^"]+\.log": open /.+: no such file or directory'
)
"""The words with which a kubelet ends its answer that no longer has the log. They are none of the code's."""

NO_LOG = "its node no longer has this log: what was said last may be missing"

_STAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d) ?(.*)", re.DOTALL)

Moment = tuple[float, str]
"""Seconds, and a fraction of nine digits, which a float would not hold."""


def cut_gone(text: str) -> tuple[list[str], bool]:
    """The lines of a log, and whether the node no longer has it, or the end of it."""
    lines = text.splitlines()
    gone = bool(lines) and GONE.fullmatch(lines[-1]) is not None
    return lines[: len(lines) - gone], gone


def cut_time(line: str) -> tuple[Moment | None, str]:
    """Reads the time that a line begins with, and what follows it."""
    match = _STAMP.match(line)
    if match is None:
        return None, line  # a kubelet's own words
    seconds, fraction, zone, words = match.groups()
    at = datetime.fromisoformat(seconds + zone.replace("Z", "+00:00"))
    return (at.timestamp(), (fraction or "").ljust(9, "0")), words
