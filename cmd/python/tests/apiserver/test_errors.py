"""What is told when a cluster refuses something, lacks something, or cannot be reached."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import genericjob
from genericjob.follow import _watch, follow
from genericjob.wire import Api

if TYPE_CHECKING:
    from faults import Faults
    from played import Kubelet

PATIENCE = 600.0
IMAGE = "registry.example/image"


def test_the_apiserver_says_what_is_invalid(client: genericjob.Client) -> None:
    with pytest.raises(genericjob.Refused) as caught:
        client.submit(image=IMAGE, name="My-Job")
    assert caught.value.status == 422
    assert str(caught.value).startswith('PyTorchTrainingJob.batch.tensorstack.dev "My-Job" is invalid: ')
    assert "metadata.name is 'My-Job', but the Service and the pods' host names are made of it" in str(caught.value)


def test_a_field_that_is_not_there_is_refused(client: genericjob.Client) -> None:
    job = genericjob.manifest(image=IMAGE)
    job["spec"]["replicaSpec"] = []
    with pytest.raises(genericjob.Refused, match=r'unknown field "spec.replicaSpec"'):
        client.create(job)
    with pytest.raises(genericjob.Usage, match="the manifest's kind is 'Pod'"):
        client.create({"kind": "Pod"})


def test_a_name_is_taken(client: genericjob.Client) -> None:
    client.submit(image=IMAGE, name="a")
    with pytest.raises(genericjob.Refused, match='"a" already exists'):
        client.submit(image=IMAGE, name="a")


def test_a_namespace_is_not_there() -> None:
    with pytest.raises(genericjob.NotFound, match='namespaces "nowhere" not found'):
        genericjob.Client("nowhere", "served").submit(image=IMAGE)


@pytest.mark.parametrize("kind", ["PyTorchTrainingJob", "GenericJob"])
def test_the_cluster_has_no_such_kind(kind: genericjob.Kind) -> None:
    bare = genericjob.Client(context="bare")
    message = f"^GenericJob is not installed in this cluster: its apiserver knows no batch.tensorstack.dev/v1beta1 {kind.lower()}s"
    with pytest.raises(genericjob.NotInstalled, match=message):
        bare.submit(image=IMAGE, kind=kind)
    with pytest.raises(genericjob.NotInstalled, match=message):
        bare.job("a", kind)


def test_there_is_no_cluster() -> None:
    with pytest.raises(genericjob.Unreachable, match=r"the kubeconfig has no context 'x': want one of \['bare', 'closed', 'served'\]"):
        genericjob.Client(context="x")
    with pytest.raises(genericjob.Unreachable, match="the cluster cannot be reached for /apis/"):
        genericjob.Client(context="closed").jobs()


def test_an_old_version_is_gone(client: genericjob.Client, kubelet: Kubelet) -> None:
    """The real apiserver sends an error in a watch from a version that it has forgotten. Such a watch is over."""
    job = client.submit(image=IMAGE)
    kubelet.pods(job, 1)
    query = {"resourceVersion": "1"}
    watching = {**query, "watch": "true", "timeoutSeconds": "60"}
    event = json.loads(next(client._api.lines(client._api.jobs(job.kind), watching, quiet=60)))
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
    assert list(_watch(client._api, client._api.jobs(job.kind), query, 60, {})) == []


@pytest.mark.parametrize("fault", ["cut", "gone", "ends", "unavailable", "hangs up"])
def test_a_wait_survives(client: genericjob.Client, kubelet: Kubelet, faults: Faults, fault: str) -> None:
    job = client.submit(image=IMAGE)
    pods = kubelet.run(job, 1)
    through = genericjob.Job(faults.api(client.namespace), job.manifest())
    for goal in ("running", "succeeded"):
        faults.next = [fault, fault]
        if goal == "succeeded":
            kubelet.end(pods[0], 0)
        through.wait(PATIENCE, progress=False, until=goal)
    faults.next = [fault, fault]
    for _ in follow(through._api, through._api.pods(), {}, every=1):
        if not faults.next:
            break


def test_a_wait_ends_though_the_cluster_is_away(client: genericjob.Client) -> None:
    job = client.submit(image=IMAGE)
    away = genericjob.Job(Api(genericjob.Client(context="closed")._api._client, client.namespace), job.manifest())
    with pytest.raises(genericjob.JobTimeout, match=r"^Timed out after 2 seconds. The cluster has not answered.$"):
        away.wait(2, progress=False)
