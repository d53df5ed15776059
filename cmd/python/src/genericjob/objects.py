"""Objects of Kubernetes as they stand in JSON."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]
"""An object of Kubernetes, as it stands in JSON."""


def owner_of(o: Object) -> Object | None:
    """The reference to what controls an object; None if nothing does."""
    return next((r for r in o["metadata"].get("ownerReferences", []) if r.get("controller")), None)
