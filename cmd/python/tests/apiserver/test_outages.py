"""Calls that wait, while the cluster answers now and then."""

from __future__ import annotations

import io
import threading
from collections import Counter
from typing import TYPE_CHECKING

import kubernetes.client
import pytest

import genericjob
from genericjob import create as creating
from genericjob.wire import Api

if TYPE_CHECKING:
    from faults import Faults
    from played import Kubelet

PATIENCE = 600.0
IMAGE = "registry.example/image"

PASSING = ["hangs up", "text", "408", "429", "500", "502", "503", "504"]
LASTING = ["400", "401", "403", "422"]


class EverySecond:
    """Spoils each call for a path, but for every second one."""

    def __init__(self, fault: str) -> None:
        self._fault = fault
        self.asked: Counter[str] = Counter()

    def __call__(self, path: str) -> str:
        self.asked[path] += 1
        return self._fault if self.asked[path] % 2 else ""


def through(faults: Faults, client: genericjob.Client, job: genericjob.Job) -> genericjob.Job:
    """The job as the proxy shows it."""
    return genericjob.Job(faults.api(client.namespace), job.manifest())


@pytest.mark.parametrize("fault", PASSING)
def test_no_read_of_a_wait_may_end_it(client: genericjob.Client, kubelet: Kubelet, faults: Faults, fault: str) -> None:
    job = client.submit(image=IMAGE, kind="GenericJob")
    (pod,) = kubelet.run(job, 1)
    faults.reads = spoiled = EverySecond(fault)
    through(faults, client, job).wait(PATIENCE, progress=False, until="running")
    kubelet.end(pod, 3, "ValueError: the cause\n")
    with pytest.raises(genericjob.JobFailed) as caught:
        through(faults, client, job).wait(progress=False)
    assert caught.value.failure is not None
    assert caught.value.failure.exit_code == 3
    assert caught.value.log_tail.endswith("ValueError: the cause")
    pods = f"/api/v1/namespaces/{client.namespace}/pods"
    assert spoiled.asked[pods] == 2, "the pods were asked for again"


@pytest.mark.parametrize("fault", PASSING)
def test_no_read_of_logs_that_are_followed_may_end_them(client: genericjob.Client, kubelet: Kubelet, faults: Faults, fault: str) -> None:
    job = client.submit(image=IMAGE)
    faults.reads = spoiled = EverySecond(fault)
    errors: list[BaseException] = []

    def follow() -> None:
        try:
            through(faults, client, job).logs(follow=True, file=io.StringIO())
        except BaseException as e:
            errors.append(e)

    reader = threading.Thread(target=follow, daemon=True)
    reader.start()
    (pod,) = kubelet.run(job, 1)
    kubelet.end(pod, 0)
    reader.join(PATIENCE)
    assert not reader.is_alive()
    assert not errors
    once = [path for path, n in spoiled.asked.items() if n == 1 and not path.endswith("/log")]
    assert not once
    assert len(spoiled.asked) >= 3, f"the training job, its GenericJob and the pods: {spoiled.asked}"


@pytest.mark.parametrize("fault", LASTING)
def test_what_lasts_is_raised_at_once(client: genericjob.Client, faults: Faults, fault: str) -> None:
    job = through(faults, client, client.submit(image=IMAGE))
    asked: list[str] = []

    def refuses(path: str) -> str:
        asked.append(path)
        return fault

    faults.reads = refuses
    for call in (lambda: job.wait(progress=False), lambda: job.logs(follow=True)):
        asked.clear()
        with pytest.raises(genericjob.Refused, match=f"spoiled: {fault}") as caught:
            call()
        assert caught.value.status == int(fault)
        assert len(asked) == 1


def test_a_wait_ends_in_time_though_no_read_goes(client: genericjob.Client, faults: Faults, capsys: pytest.CaptureFixture[str]) -> None:
    job = through(faults, client, client.submit(image=IMAGE))
    faults.reads = lambda path: "503"
    with pytest.raises(genericjob.JobTimeout, match=r"^Timed out after 8 seconds. The cluster has not answered.$"):
        job.wait(8)
    told = capsys.readouterr().out
    assert told == f"{job.kind}/{job.name}: asking again: spoiled: 503\n"


def test_who_may_not_read_pods_learns_that_the_job_has_failed(client: genericjob.Client, kubelet: Kubelet, faults: Faults) -> None:
    job = client.submit(image=IMAGE, kind="GenericJob")
    (pod,) = kubelet.run(job, 1)
    kubelet.end(pod, 3, "ValueError: the cause\n")
    faults.reads = lambda path: "403" if "/pods" in path else ""
    with pytest.raises(genericjob.JobFailed) as caught:
        through(faults, client, job).wait(PATIENCE, progress=False)
    assert caught.value.log_tail.endswith("ValueError: the cause"), "as the status has it"


def test_a_certificate_that_is_not_accepted_is_not_waited_for(client: genericjob.Client) -> None:
    job = client.submit(image=IMAGE)
    configuration = kubernetes.client.Configuration()
    configuration.host = client._api._client.configuration.host
    stranger = genericjob.Job(Api(kubernetes.client.ApiClient(configuration), client.namespace), job.manifest())
    with pytest.raises(genericjob.Unreachable, match="certificate verify failed"):
        stranger.wait(progress=False)


def proxied(faults: Faults, client: genericjob.Client) -> genericjob.Client:
    other = genericjob.Client(client.namespace, "served")
    other._api = faults.api(client.namespace)
    return other


@pytest.mark.parametrize("fault", ["lost", *PASSING])
def test_a_job_is_created_once(client: genericjob.Client, faults: Faults, fault: str) -> None:
    faults.creates = EverySecond(fault)
    made = proxied(faults, client).submit(image=IMAGE, name="once")
    assert [(j.name, j.uid) for j in client.jobs() if j.kind == made.kind] == [("once", made.uid)]


def test_a_name_that_somebody_else_takes_meanwhile_is_taken(client: genericjob.Client, faults: Faults) -> None:
    theirs: list[genericjob.Job] = []

    def taken(path: str) -> str:
        if theirs:
            return ""
        theirs.append(client.submit(image=IMAGE, name="a"))
        return "hangs up"

    faults.creates = taken
    with pytest.raises(genericjob.Refused, match='"a" already exists') as caught:
        proxied(faults, client).submit(image=IMAGE, name="a")
    assert caught.value.status == 409
    assert client.job("a").uid == theirs[0].uid


def test_a_create_that_nobody_answers_leaves_a_doubt(client: genericjob.Client, faults: Faults, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(creating, "SECONDS", 1.0)
    faults.creates = lambda path: "503"
    with pytest.raises(genericjob.Unreachable, match=r"spoiled: 503. Perhaps PyTorchTrainingJob a was created: ask for it once"):
        proxied(faults, client).submit(image=IMAGE, name="a")


def test_a_name_that_the_cluster_makes_is_asked_for_once(client: genericjob.Client, faults: Faults) -> None:
    manifest = genericjob.manifest(image=IMAGE)
    manifest["metadata"] = {"generateName": "many-"}
    faults.creates = EverySecond("503")
    with pytest.raises(genericjob.Refused, match="spoiled: 503"):
        proxied(faults, client).create(manifest)
    assert client.jobs() == []
