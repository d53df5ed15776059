"""Objects of Kubernetes as they stand in JSON."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]
"""An object of Kubernetes, as it stands in JSON."""


COMPILED = "batch.tensorstack.dev/compiled-generation"
"""The annotation of a GenericJob that was compiled from a training job."""


def owner_of(o: Object) -> Object | None:
    """The reference to the training job that a GenericJob was compiled from; None without one.

    A workflow that has the job as a step is none.
    """
    if COMPILED not in o["metadata"].get("annotations", {}):
        return None
    return next((r for r in o["metadata"].get("ownerReferences", []) if r.get("controller")), None)
