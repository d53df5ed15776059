"""A kubelet that tests play."""

from __future__ import annotations

from typing import Any

import genericjob
from genericjob.follow import follow
from genericjob.wire import Api

PATIENCE = 600.0
"""Bounds every wait, in seconds. No test depends on how fast anything is."""


class Kubelet:
    """Has pods run and end."""

    def __init__(self, api: Api) -> None:
        self.api = api

    def pods(self, job: genericjob.Job, n: int) -> list[dict[str, Any]]:
        """Waits until a job has so many pods that nobody deletes, and returns them by their rank. The store by which those of
        torchrun's meet is not counted: it runs as soon as it is there."""
        query = {"labelSelector": f"batch.tensorstack.dev/job-name={job.name}"}
        spec = job.manifest()["spec"]
        torchrun = spec.get("torchrunConfig") or {}
        stores = 1 if torchrun.get("enabled") and (spec.get("elastic") or torchrun.get("maxRestarts")) else 0
        for have in follow(self.api.within(PATIENCE), self.api.pods(), query):
            alive = [p for p in have.values() if "deletionTimestamp" not in p["metadata"]]
            store = [p for p in alive if p["metadata"]["labels"]["batch.tensorstack.dev/replica-type"] == "rendezvous"]
            alive = [p for p in alive if p not in store]
            if len(alive) == n and len(store) == stores:
                for pod in store:
                    self._set(pod, "Running", {"running": {"startedAt": "2026-01-01T00:00:00Z"}})
                return sorted(alive, key=lambda p: int(p["metadata"]["labels"]["batch.tensorstack.dev/replica-rank"]))
        raise AssertionError(f"{job!r} has no {n} pods: {job.manifest()}")

    def run(self, job: genericjob.Job, n: int) -> list[dict[str, Any]]:
        """Has all pods run."""
        pods = self.pods(job, n)
        for pod in pods:
            self._set(pod, "Running", {"running": {"startedAt": "2026-01-01T00:00:00Z"}})
        return pods

    def end(self, pod: dict[str, Any], code: int, words: str = "", at: str = "2026-01-01T00:00:01Z") -> None:
        """Has the code of a pod end."""
        end = {
            "exitCode": code,
            "reason": "Error" if code else "Completed",
            "message": words,
            "startedAt": "2026-01-01T00:00:00Z",
            "finishedAt": at,
        }
        self._set(pod, "Failed" if code else "Succeeded", {"terminated": end})

    def waits(self, pod: dict[str, Any], reason: str, message: str) -> None:
        """Has a pod wait on a node, and says why by an event alone."""
        name = pod["metadata"]["name"]
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": {"kind": "Node", "name": "node"}}
        self.api.call("POST", self.api.pods(name, "binding"), binding)
        self._set(pod, "Pending", {"waiting": {"reason": "ContainerCreating"}})
        of = {"kind": "Pod", "namespace": pod["metadata"]["namespace"], "name": name, "uid": pod["metadata"]["uid"]}
        told = {"metadata": {"name": f"{name}.1"}, "involvedObject": of, "reason": reason, "message": message, "type": "Warning"}
        self.api.call("POST", self.api.events(), {**told, "lastTimestamp": "2026-01-01T00:00:02Z"})

    def _set(self, pod: dict[str, Any], phase: str, state: dict[str, Any]) -> None:
        container = {
            "name": pod["spec"]["containers"][0]["name"],
            "image": "i",
            "imageID": "i",
            "ready": False,
            "restartCount": 0,
            "state": state,
        }
        change = {"status": {"phase": phase, "startTime": "2026-01-01T00:00:00Z", "containerStatuses": [container]}}
        path = self.api.pods(pod["metadata"]["name"], "status")
        self.api.call("PATCH", path, change, content="application/merge-patch+json")
