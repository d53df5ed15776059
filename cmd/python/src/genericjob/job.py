"""A job in the cluster."""

from __future__ import annotations

import contextlib
import copy
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Literal, TextIO

from . import pods, status
from .bar import Bar
from .errors import Error, JobFailed, JobOver, JobTimeout, NotFound, Refused, Usage
from .follow import follow
from .lines import cut_gone
from .logs import LOG_SECONDS, Printer, seconds_to_end
from .objects import Object, owner_of
from .patience import Patience
from .status import Failure, Status, Warned
from .wire import Api

Goal = Literal["succeeded", "running", "paused"]

_GOALS: dict[str, Callable[[Status], bool]] = {
    "succeeded": lambda s: s.phase == "Succeeded",
    "running": lambda s: s.is_current and s.condition("Running").holds and s.condition("Blocked").reason != "InvalidSpec",
    "paused": lambda s: s.is_current and s.phase == "Paused",
}

_TAIL = 20
"""How many lines of a log a failure has."""

_CONFLICT, _TRIES = 409, 5
"""What an apiserver answers if a job has changed since it was read, and how often a scale is tried that meets that."""

_LOOK = 10.0
"""Seconds after which a job whose logs are followed is looked at, though nothing has changed in its pods."""


class Job:
    """A job in the cluster, as Client makes and finds it. Each method asks the cluster anew.

    kind, name, namespace: where it stands
    uid:                   what tells it from another job that somebody creates under its name. Each method means this one

    Each method raises NotFound if the job is gone, Refused if the apiserver refuses, and Unreachable if it does not answer.
    """

    def __init__(self, api: Api, job: Object) -> None:
        self._api = api
        self.kind: str = job["kind"]
        self.name: str = job["metadata"]["name"]
        self.namespace: str = job["metadata"]["namespace"]
        self.uid: str = job["metadata"]["uid"]

    def __repr__(self) -> str:
        return f"<{self.kind} {self.namespace}/{self.name}>"

    def manifest(self) -> dict[str, Any]:
        """The job as it stands in the cluster, as a dict of JSON."""
        return self._same(self._api.call("GET", self._path()))

    def status(self) -> Status:
        """What the operator says of the job."""
        return status.read(self.manifest())

    def why(self) -> str:
        """A paragraph: what the job waits for or died of, and what to do."""
        job = self.manifest()
        return status.why(job, warned=self._warned() if status.may_be_warned(job) else None)

    def wait(self, timeout: float | None = None, progress: bool = True, until: Goal = "succeeded") -> Status:
        """Waits for the job, and returns its status.

        timeout:   seconds after which to give up. Default: never
        progress:  whether to show how far it is. Default: yes
        until:     "succeeded"; "running": all replicas run; "paused". Default: succeeded

        Raises JobFailed when the job fails, JobOver when it ends otherwise than asked for, JobTimeout after `timeout` seconds, NotFound
        when it is deleted. A cluster that does not answer, or has too much to do, is asked again as long, the last time at the time-out.
        What lasts is raised at once, as when you may not read the job.
        """
        if until not in _GOALS:
            raise Usage(f"until is {until!r}: want one of {', '.join(_GOALS)}")
        last = ""
        bar = Bar(f"{self.kind}/{self.name}", sys.stdout if progress else None)
        patient = self._patient(Patience(timeout, bar.tell))
        try:
            for job in patient._follow():
                now, last = status.read(job), status.why(job)
                bar.show(now)
                if _GOALS[until](now):
                    return now
                if now.phase == "Failed":
                    raise patient._failed(job, now)
                self._open(now)
        finally:
            bar.close()
        raise JobTimeout(f"Timed out after {timeout:g} seconds. {last or 'The cluster has not answered.'}")

    def logs(self, rank: int | str | None = None, follow: bool = False, tail: int | None = None, file: TextIO | None = None) -> None:
        """Prints the logs of all replicas, each line behind the name of its replica.

        rank:    those of one rank, of one type ("worker") or of one replica ("worker-3") alone. Default: all
        follow:  go on until the job is over, also with replicas that are replaced, and through trouble with the cluster. Default: no
        tail:    no more than so many last lines of each. Default: all
        file:    where to print. Default: sys.stdout

        A log that cannot be read is not printed: a line behind the name of its replica says why. It is raised if there is no other.
        Raises Usage for a replica that the job does not have, Refused if you may not read logs. What `follow` waits for is as in wait().
        """
        out = file or sys.stdout
        if follow:
            self._patient(Patience())._follow_logs(out, tail, rank)
            return
        job, types, found = self._pods()
        if job is not None:
            pods.check(_replicas(job), rank)
        Printer(self._api, out, tail).print(pods.chosen(found, types, rank))

    def scale(self, replicas: int) -> None:
        """Sets the number of replicas of an elastic job, or of a GenericJob of one type, while it runs.

        Raises Usage for a job that is not so, JobOver if it is over, and Refused for a number that its spec does not allow.
        """
        for tries_left in reversed(range(_TRIES)):
            job = self.manifest()
            if self.kind == "TensorFlowTrainingJob":
                raise Usage("a TensorFlowTrainingJob has a fixed number of replicas while it runs: pause it, and edit its spec")
            if self.kind == "PyTorchTrainingJob" and not _is_elastic(job):
                raise Usage(f"{self.name} is not elastic: submit it with elastic=(min, max), or pause it and edit its spec")
            self._editable(job)
            version = job["metadata"]["resourceVersion"]  # the apiserver compares no UID of a scale
            try:
                self._patch({"metadata": {"resourceVersion": version}, "spec": {"replicas": replicas}}, "scale")
                return
            except Refused as e:
                if e.status != _CONFLICT or tries_left == 0:
                    raise

    def pause(self) -> None:
        """Stops the pods, which spends no restart; what has finished stays so. Once it is paused its spec may be edited.

        It asks for that alone: wait(until="paused") waits. Raises JobOver if the job is over, Usage for a GenericJob of a training job.
        """
        self._set_pause(True)

    def resume(self) -> None:
        """Ends a pause: what had not finished is started again. Raises the same as pause()."""
        self._set_pause(False)

    def delete(self) -> None:
        """Deletes the job; its pods follow, which it does not wait for."""
        precondition = {"preconditions": {"uid": self.uid}, "propagationPolicy": "Background"}
        self._api.call("DELETE", self._path(), precondition)

    def _path(self, subresource: str = "") -> str:
        return self._api.jobs(self.kind, self.name, subresource)

    def _patch(self, change: Object, subresource: str = "") -> None:
        """Makes a change, whose metadata have the apiserver refuse it for another job that somebody has created meanwhile."""
        query = {"fieldManager": "genericjob-python"}
        try:
            self._api.call("PATCH", self._path(subresource), change, query, "application/merge-patch+json")
        except Refused:
            self.manifest()  # raises NotFound if that was why: the apiserver says no more than that metadata differ
            raise

    def _set_pause(self, enabled: bool) -> None:
        self._editable(self.manifest())
        pause = {"enabled": enabled, "enable": None}  # enable is an older name of the field
        self._patch({"metadata": {"uid": self.uid}, "spec": {"runMode": {"pause": pause}}})

    def _same(self, job: Object) -> Object:
        if job["metadata"]["uid"] != self.uid:
            raise NotFound(f"{self.kind} {self.namespace}/{self.name} was deleted, and created again")
        return job

    def _open(self, now: Status) -> None:
        if now.is_over:
            raise JobOver(f"{self.kind}/{self.name} is over: its phase is {now.phase}")

    def _editable(self, job: Object) -> None:
        self._open(status.read(job))
        if owner := owner_of(job):
            raise Usage(f"{self.kind}/{self.name} belongs to {owner['kind']}/{owner['name']}, by which an edit would be undone: edit that")

    def _patient(self, patience: Patience) -> Job:
        """The same job, of which all that is read is asked for again where that may help."""
        patient = copy.copy(self)
        patient._api = self._api.patient(patience)
        return patient

    def _follow(self) -> Iterator[Object]:
        """Yields the job as it is, and after each change."""
        query = {"fieldSelector": f"metadata.name={self.name}"}
        for found in follow(self._api, self._api.jobs(self.kind), query):
            if not found:
                raise NotFound(f"{self.kind} {self.namespace}/{self.name} was deleted")
            yield {"kind": self.kind, **self._same(next(iter(found.values())))}

    def _generic_job(self) -> Object | None:
        """The GenericJob that runs the job; None as long as there is none."""
        return self._both()[1]

    def _both(self) -> tuple[Object, Object | None]:
        """The job, and the GenericJob that runs it, which may be the job itself; None as long as there is none."""
        job = self.manifest()
        if self.kind == "GenericJob":
            return job, job
        try:
            owned = self._api.call("GET", self._api.jobs("GenericJob", self.name))
        except NotFound:
            return job, None
        owners = owned["metadata"].get("ownerReferences", [])
        return job, owned if any(o["uid"] == self.uid and o.get("controller") for o in owners) else None

    def _pods(self) -> tuple[Object | None, list[str], list[Object]]:
        """The GenericJob that runs the job, the replica types of the job, and its pods, of which there are none without it."""
        job, generic = self._both()
        if generic is None:
            return None, [r["type"] for r in job["spec"]["replicaSpecs"]], []
        found = self._api.call("GET", self._api.pods(), query={"labelSelector": f"{pods.JOB_UID}={generic['metadata']['uid']}"})
        return generic, [r["type"] for r in generic["spec"]["replicaSpecs"]], found["items"]

    def _warned(self) -> Warned | None:
        """What Kubernetes warned of last about a pod that is being made. Who may not read events is told of none."""
        pod = pods.being_made(self._pods()[2])
        if pod is None:
            return None
        query = {"fieldSelector": f"involvedObject.uid={pod['metadata']['uid']},type=Warning", "limit": 100}
        try:
            found: list[Object] = self._api.call("GET", self._api.events(), query=query)["items"]
        except Refused:
            return None
        if not found:
            return None
        last = max(found, key=lambda e: e.get("lastTimestamp") or "")
        return Warned(pod["metadata"]["name"], last.get("reason", ""), last.get("message", ""))

    def _follow_logs(self, out: TextIO, tail: int | None, rank: int | str | None) -> None:
        """Prints the logs of all pods that the job has until it is over. Its end shows in the pods, which are let go then."""
        printer = Printer(self._api, out, tail)
        types = [r["type"] for r in self.manifest()["spec"]["replicaSpecs"]]
        pods.chosen([], types, rank)  # an error is told at once
        try:
            while True:
                job = self._generic_job()
                if job is not None:
                    break
                self._open(self.status())
                time.sleep(1)
            pods.check(_replicas(job), rank)
            query = {"labelSelector": f"{pods.JOB_UID}={job['metadata']['uid']}"}
            looked = float("-inf")
            for found in follow(self._api, self._api.pods(), query, every=_LOOK):
                replicas = pods.chosen(found.values(), types, rank)
                printer.measure(replicas)
                printer.follow(replicas)
                if time.monotonic() - looked < 1:
                    continue
                looked = time.monotonic()
                if self.status().is_over:
                    break
            printer.follow(pods.chosen(self._pods()[2], types, rank))
            printer.finish(self._unended(printer, types, rank))
        finally:
            printer.stop()

    def _unended(self, printer: Printer, types: list[str], rank: int | str | None) -> list[Object]:
        """Waits for the ends of the pods of a job that is over, and returns those that do not end."""
        began = time.monotonic()
        while True:
            left = printer.unended(pods.chosen(self._pods()[2], types, rank))
            if not left or time.monotonic() - began > seconds_to_end(left):
                return left
            time.sleep(1)

    def _failed(self, job: Object, now: Status) -> JobFailed:
        """The error that says why the job has failed, and what the replica said last that failed first."""
        text = status.why(job, advise=False)  # the last lines follow
        failure, tail = self._first_failure(now)
        if failure is not None:
            types = [r["type"] for r in job["spec"]["replicaSpecs"]]
            text += f" {pods.replica_of(failure, types)} failed first: {failure}."
        if tail:
            text += " Its last lines:\n    " + "\n    ".join(tail.splitlines())
        return JobFailed(text, now.condition("Failed").reason, failure, tail)

    def _first_failure(self, now: Status) -> tuple[Failure | None, str]:
        """Its log goes with its pod; what is left then are the last words that the operator has kept, also for who may not read pods."""
        found: list[Object] = []
        with contextlib.suppress(Error):
            found = self._pods()[2]
        failure, pod = pods.first_failure(found, now.failures, now.first_failure)
        if failure is None:
            return None, ""
        if pod is not None:
            query = {"container": failure.container or pods.main_container(pod), "tailLines": _TAIL}
            with contextlib.suppress(Error):  # the kubelet does not answer, or has thrown it away
                text = self._api.within(LOG_SECONDS).text(self._api.pods(failure.pod, "log"), query)
                lines, _ = cut_gone(text.rstrip("\n"))
                return failure, "\n".join(lines) or failure.message.strip()
        return failure, failure.message.strip()


def _is_elastic(job: Object) -> bool:
    elastic = job["spec"].get("elastic", {})
    return bool(elastic.get("enabled") or elastic.get("enable"))


def _replicas(job: Object) -> dict[str, int]:
    """How many replicas a GenericJob has of each type."""
    specs: list[Object] = job["spec"]["replicaSpecs"]
    whole = job["spec"].get("replicas") if len(specs) == 1 else None
    return {r["type"]: int(r.get("replicas", 1) if whole is None else whole) for r in specs}
