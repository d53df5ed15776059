"""Creates a job once, though the answer may be lost."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from .errors import Error, Unreachable
from .objects import Object
from .patience import Patience, may_pass
from .wire import GROUP, Api

SECONDS = 10.0
"""How long a create is tried again, and how long the job is looked for after that."""

CREATED_BY = f"{GROUP}/created-by"
"""The annotation that tells a job which one call has created from one of the same name that somebody else has."""


def create(api: Api, kind: str, manifest: Mapping[str, Any]) -> Object:
    """Creates a job, and returns it as the cluster has it.

    An apiserver may have created it although its answer does not come. So the same job is sent again. Whatever is answered then, a job of
    this name that is this one by its annotation is what was asked for. A name that the cluster makes, by generateName, is sent once.
    """
    metadata = manifest.get("metadata") or {}
    mark = f"python-{secrets.token_hex(8)}"
    body = {**manifest, "metadata": {**metadata, "annotations": {**(metadata.get("annotations") or {}), CREATED_BY: mark}}}
    query = {"fieldManager": "genericjob-python", "fieldValidation": "Strict"}
    doubted = False

    def send() -> Object:
        nonlocal doubted
        try:
            return api.call("POST", api.jobs(kind), body, query)
        except Error as e:
            doubted = doubted or may_pass(e)
            raise

    name = metadata.get("name")
    if not name:
        return send()
    try:
        return Patience(SECONDS).keep_trying(send)
    except Error as e:
        if doubted and (have := _ours(api, kind, name, mark)):
            return have
        if not may_pass(e):
            raise
        raise Unreachable(f"{e}. Perhaps {kind} {name} was created: ask for it once the cluster answers") from e


def _ours(api: Api, kind: str, name: str, mark: str) -> Object | None:
    """The job of a name, if it can be read, and is the one with this mark."""
    try:
        have = api.within(SECONDS).call("GET", api.jobs(kind, name))
    except Error:
        return None
    return have if have["metadata"].get("annotations", {}).get(CREATED_BY) == mark else None
