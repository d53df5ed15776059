"""How often the apiserver is asked."""

from __future__ import annotations

import io
from typing import Any, cast

import pytest

import genericjob
from genericjob import NotFound
from genericjob.wire import Api

SPEC = {"replicaSpecs": [{"type": "worker", "replicas": 2}]}
TRAINING = {"kind": "PyTorchTrainingJob", "metadata": {"name": "train", "namespace": "team", "uid": "t"}, "spec": SPEC}
OWNER = {"kind": "PyTorchTrainingJob", "name": "train", "uid": "t", "controller": True}
OWNED = {"kind": "GenericJob", "metadata": {"name": "train", "namespace": "team", "uid": "g", "ownerReferences": [OWNER]}, "spec": SPEC}
ALONE = {"kind": "GenericJob", "metadata": {"name": "train", "namespace": "team", "uid": "g"}, "spec": SPEC}


class Cluster:
    """An apiserver with some jobs and no pods, which notes what it is asked for."""

    def __init__(self, *jobs: dict[str, Any]) -> None:
        self._jobs = {j["kind"]: j for j in jobs}
        self.asked: list[str] = []

    def jobs(self, kind: str, name: str, subresource: str = "") -> str:
        return kind

    def pods(self, name: str = "", subresource: str = "") -> str:
        return "pods"

    def call(self, method: str, path: str, query: dict[str, object] | None = None) -> dict[str, Any]:
        self.asked.append(path)
        if path == "pods":
            return {"items": []}
        if path not in self._jobs:
            raise NotFound(path)
        return self._jobs[path]


@pytest.mark.parametrize(
    ("jobs", "asked"),
    [
        ([TRAINING, OWNED], ["PyTorchTrainingJob", "GenericJob", "pods"]),
        ([TRAINING], ["PyTorchTrainingJob", "GenericJob"]),
        ([ALONE], ["GenericJob", "pods"]),
    ],
)
def test_logs_that_are_not_followed_read_each_job_once(jobs: list[dict[str, Any]], asked: list[str]) -> None:
    cluster = Cluster(*jobs)
    genericjob.Job(cast("Api", cluster), jobs[0]).logs(file=io.StringIO())
    assert cluster.asked == asked


def test_a_rank_that_no_job_has_is_refused_all_the_same() -> None:
    for jobs in [TRAINING, OWNED], [ALONE]:
        with pytest.raises(genericjob.Usage, match="worker-0 to worker-1"):
            genericjob.Job(cast("Api", Cluster(*jobs)), jobs[0]).logs(rank=2, file=io.StringIO())
