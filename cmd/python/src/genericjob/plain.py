"""Keeps what tenants write, in the fields and messages of their jobs, from doing anything to a terminal but being read."""

from __future__ import annotations

import re

_ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but for tab and newline, and those that turn the direction of writing."""


def plain(text: str) -> str:
    r"""A text in which control characters can be read, as in \u001b: they could clear a screen, or write over what was said before."""
    return _ACTS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
