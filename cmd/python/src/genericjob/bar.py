"""Shows how far a job is: a line that changes in a terminal or a notebook, a line for each change elsewhere."""

from __future__ import annotations

import shutil
import sys
from typing import TextIO

from .errors import Error
from .plain import plain
from .status import Status

_CELLS = 20
_NOTEBOOK_WIDTH = 120


class Bar:
    """The progress of one job. Without `out` it shows nothing."""

    def __init__(self, title: str, out: TextIO | None) -> None:
        self._title = title
        self._out = out
        self._in_place = out is not None and (out.isatty() or in_notebook())
        self._last = ""

    def show(self, status: Status) -> None:
        """Shows a status, unless it looks like the last one."""
        self._write(describe(self._title, status))

    def tell(self, trouble: Error) -> None:
        """Tells of trouble with the cluster, until there is a status again."""
        self._write(f"{self._title}: asking again: {trouble}")

    def _write(self, text: str) -> None:
        if self._out is None or text == self._last:
            return
        if self._in_place:
            width = _NOTEBOOK_WIDTH if in_notebook() else shutil.get_terminal_size().columns - 1
            text = text[:width]
            self._out.write("\r" + text.ljust(min(width, len(self._last))))
        else:
            self._out.write(text + "\n")
        self._out.flush()
        self._last = text

    def close(self) -> None:
        """Ends the line."""
        if self._out is not None and self._in_place and self._last:
            self._out.write("\n")
            self._out.flush()


def in_notebook() -> bool:
    """Says whether a kernel of Jupyter's runs this, whose output is no terminal and takes a line's return all the same."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and type(ipython.get_ipython()).__name__ == "ZMQInteractiveShell"


def describe(title: str, s: Status) -> str:
    """One line: # are replicas that have succeeded, = those that run, ! those that have failed."""
    total = sum(s.replicas.values())
    cells = ""
    for count, sign in (
        (s.replicas.get("succeeded", 0), "#"),
        (s.replicas.get("running", 0), "="),
        (s.replicas.get("failed", 0), "!"),
    ):
        cells += sign * (_CELLS * count // total if total else 0)
    words = [f"{title} [{cells.ljust(_CELLS, '.')}] {s.phase or 'not seen yet'}"]
    if total:
        words.append(f"{s.replicas.get('succeeded', 0)} of {total} done, {s.replicas.get('running', 0)} running")
    if s.restarts:
        words.append(f"{s.restarts} restarts")
    waits = s.condition("Blocked") if s.condition("Blocked").holds else s.condition("Running")
    if not s.is_over and not s.condition("Running").holds and waits.message:
        words.append(" ".join(waits.message.split()))
    return plain(", ".join(words))
