"""What can be told from a job's pods. All of it is pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from .errors import Usage
from .objects import Object
from .status import Failure, FirstFailure, time_of
from .wire import GROUP

_TYPE, _RANK = f"{GROUP}/replica-type", f"{GROUP}/replica-rank"
JOB_UID = f"{GROUP}/job-uid"
"""The label by which exactly the pods of one GenericJob are found."""


def replica(pod: Object) -> str:
    """What a pod's replica is called, as in worker-0."""
    labels = pod["metadata"]["labels"]
    return f"{labels[_TYPE]}-{labels[_RANK]}"


def main_container(pod: Object) -> str:
    """The container that trains."""
    name = pod["metadata"].get("annotations", {}).get("kubectl.kubernetes.io/default-container")
    names = [str(c["name"]) for c in pod["spec"]["containers"]]
    return str(name) if name in names else names[0]


def state(pod: Object, container: str) -> str:
    """running, terminated or waiting."""
    for status in pod.get("status", {}).get("containerStatuses", []):
        if status["name"] == container:
            return str(next(iter(status.get("state") or {"waiting": {}})))
    return "waiting"


def restarts(pod: Object, container: str) -> int:
    """How often a container was restarted in its pod."""
    statuses = pod.get("status", {}).get("containerStatuses", [])
    return next((int(c.get("restartCount", 0)) for c in statuses if c["name"] == container), 0)


def begun(pod: Object, container: str) -> datetime | None:
    """When a container began to run as it does, or did."""
    for status in pod.get("status", {}).get("containerStatuses", []):
        if status["name"] == container:
            return time_of(next(iter((status.get("state") or {"": {}}).values())).get("startedAt"))
    return None


def is_over(pod: Object, container: str) -> bool:
    """Says whether a container says nothing more, unless it is restarted."""
    return state(pod, container) == "terminated" or pod["status"].get("phase") in ("Succeeded", "Failed")


def check(replicas: dict[str, int], rank: int | str | None) -> None:
    """Refuses a replica that a job does not have, and says which it has."""
    names = [f"{t}-0" if n == 1 else f"{t}-0 to {t}-{n - 1}" for t, n in replicas.items()]
    of_rank = isinstance(rank, int) and any(0 <= rank < n for n in replicas.values())
    of_name = isinstance(rank, str) and any(rank in (t, f"{t}-{i}") for t, n in replicas.items() for i in range(n))
    if rank is not None and not of_rank and not of_name:
        raise Usage(f"the job has no replica {rank!r}: it has {', '.join(names)}")


def chosen(pods: Iterable[Object], types: list[str], rank: int | str | None) -> list[Object]:
    """The pods of a job that are asked for, by the order of its replica types and by rank."""
    if isinstance(rank, str) and not any(rank == t or re.fullmatch(re.escape(t) + r"-\d+", rank) for t in types):
        raise Usage(f"the job has no replica {rank!r}: want a type of {', '.join(types)}, or a replica such as {types[0]}-0")

    def wanted(pod: Object) -> bool:
        labels = pod["metadata"]["labels"]
        return rank is None or str(rank) in (labels[_TYPE], labels[_RANK], replica(pod))

    def place(pod: Object) -> tuple[int, int]:
        labels = pod["metadata"]["labels"]
        known = labels[_TYPE] in types
        return types.index(labels[_TYPE]) if known else len(types), int(labels[_RANK])

    return sorted(filter(wanted, pods), key=place)


def being_made(pods: Iterable[Object]) -> Object | None:
    """The first pod that has a node on which none of its containers has a reason not to run: only events tell what it waits for."""
    for pod in pods:
        s = pod.get("status", {})
        containers = s.get("initContainerStatuses", []) + s.get("containerStatuses", [])
        states = [(c.get("state") or {}).get("waiting") for c in containers]
        made = all(w is not None and w.get("reason", "") in ("ContainerCreating", "PodInitializing", "") for w in states)
        if s.get("phase") == "Pending" and pod["spec"].get("nodeName") and "deletionTimestamp" not in pod["metadata"] and made:
            return pod
    return None


def first_failure(
    pods: Iterable[Object], recorded: Iterable[Failure], told: FirstFailure | None = None
) -> tuple[Failure | None, Object | None]:
    """The failure that the operator tells of as the first, else the earliest of pods and status; and its pod if that is still there."""
    kept = {p["metadata"]["name"]: p for p in pods if p["status"].get("phase") == "Failed" and "deletionTimestamp" not in p["metadata"]}
    failures = [_failure(p) for p in kept.values()]
    failures += [f for f in recorded if not any((have.pod, have.time) == (f.pod, f.time) for have in failures)]
    if not failures and told is None:
        return None, None
    first = told.failure if told is not None else min(failures, key=lambda f: (f.time is None, f.time.timestamp() if f.time else 0, f.pod))
    pod = kept.get(first.pod)
    return first, pod if pod is not None and _failure(pod).time == first.time else None


def _failure(pod: Object) -> Failure:
    ended = [
        (time_of(t.get("finishedAt")), c["name"], t)
        for c in pod["status"].get("containerStatuses", [])
        for t in [(c.get("state") or {}).get("terminated")]
        if t and t.get("exitCode")
    ]
    if not ended:
        return Failure(pod["metadata"]["name"], reason=pod["status"].get("reason", ""), message=pod["status"].get("message", ""))
    time, container, t = min(ended, key=lambda e: (e[0] is None, e[0].timestamp() if e[0] else 0))
    return Failure(pod["metadata"]["name"], container, t["exitCode"], t.get("reason", ""), t.get("message", ""), time)


def replica_of(failure: Failure, types: Iterable[str]) -> str:
    """What the replica is called that failed."""
    for t in types:
        match = re.search("-(" + re.escape(t) + r"-\d+)$", failure.pod)
        if match:
            return match[1]
    return failure.pod
