"""deploy/integrations/steps.py, as a workflow tool calls it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import genericjob

if TYPE_CHECKING:
    from played import Kubelet

STEPS = Path(__file__).parents[4] / "deploy" / "integrations" / "steps.py"


@pytest.fixture(scope="module")
def steps() -> Any:
    spec = importlib.util.spec_from_file_location("steps", STEPS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def manifest(name: str) -> dict[str, Any]:
    return genericjob.manifest(name=name, image="registry.example/image", command=["train"], kind="GenericJob")


def test_a_step_may_be_tried_again(client: genericjob.Client, kubelet: Kubelet, steps: Any) -> None:
    name = steps.submitted(client, manifest("night"))
    first = client.job(name)
    assert steps.submitted(client, manifest("night")) == name
    assert client.job(name).uid == first.uid
    assert not steps.succeeded(client, name)
    (pod,) = kubelet.run(first, 1)
    assert not steps.succeeded(client, name)
    kubelet.end(pod, 0)
    first.wait(600, progress=False)
    assert steps.succeeded(client, name)


def test_a_step_fails_with_the_cause(client: genericjob.Client, kubelet: Kubelet, steps: Any) -> None:
    name = steps.submitted(client, manifest("night"))
    job = client.job(name)
    (pod,) = kubelet.run(job, 1)
    kubelet.end(pod, 3, "ValueError: the cause\n")
    with pytest.raises(genericjob.JobFailed):
        job.wait(600, progress=False)
    with pytest.raises(genericjob.JobFailed, match="3") as caught:
        steps.succeeded(client, name)
    assert caught.value.log_tail.endswith("ValueError: the cause")


def test_what_is_refused_is_told(client: genericjob.Client, steps: Any) -> None:
    wrong = manifest("night")
    wrong["spec"]["replicaSpecs"][0]["replicas"] = -1
    with pytest.raises(genericjob.Refused, match="replicas"):
        steps.submitted(client, wrong)
