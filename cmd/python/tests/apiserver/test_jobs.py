"""The lives of jobs, as a client sees them."""

from __future__ import annotations

import io
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

import genericjob

if TYPE_CHECKING:
    from played import Kubelet

PATIENCE = 600.0
IMAGE = "registry.example/image"


def train(epochs: int) -> None:
    print(epochs)  # noqa: T201 (that is its work)


WISHES: list[dict[str, Any]] = [
    {"function": train, "arguments": {"epochs": 3}},
    {"function": train, "arguments": {"epochs": 3}, "nproc_per_node": 2},
    {"function": train, "arguments": {"epochs": 3}, "kind": "TensorFlowTrainingJob", "backoff_limit": 1},
    {"function": train, "arguments": {"epochs": 3}, "kind": "GenericJob", "gpus": 1, "env": {"RANK": "$(index) of $(replicas[*])"}},
    {"command": ["train", "--fast"], "nproc_per_node": "auto", "volumes": {"/data": "claim"}},
    {
        "args": ["train.py"],
        "elastic": (2, 4),
        "labels": {"team": "a"},
        "deadline_seconds": 600,
        "failure_rules": [{"match": {"causes": ["Config"]}, "action": "Fail"}],
        "node_lost_seconds": 30,
        "avoid_nodes": {"after": 3, "within": "1h30m"},
        "ttl_seconds": 600,
        "resources": {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}},
    },
]


@pytest.mark.parametrize("wishes", WISHES)
def test_a_job_succeeds(client: genericjob.Client, kubelet: Kubelet, wishes: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    job = client.submit(image=IMAGE, workers=2, **wishes)
    pods = kubelet.run(job, 2)
    running = job.wait(PATIENCE, until="running", progress=False)
    assert (running.phase, running.running, running.replicas["running"]) == ("Running", "2/2", 2)
    for pod in pods:
        kubelet.end(pod, 0)
    done = job.wait(PATIENCE)
    assert done.is_over
    assert done.completed is not None
    told = capsys.readouterr().out.splitlines()[-1]
    assert told.startswith(f"{job.kind}/{job.name} [##########")
    whole = "elastic" in wishes or "[####################] " in told  # an elastic job has succeeded when its first worker has
    assert whole, told
    assert "] Succeeded" in told
    assert "It has succeeded" in job.why()
    with pytest.raises(genericjob.JobOver, match="is over: its phase is Succeeded"):
        job.pause()
    with pytest.raises(genericjob.JobOver, match="is over: its phase is Succeeded"):
        job.wait(PATIENCE, until="paused", progress=False)


def test_what_a_pod_is_asked_to_run(client: genericjob.Client, kubelet: Kubelet) -> None:
    def fetch() -> None:
        print("$(rank) $$(rank) $")  # noqa: T201 (that is its work)

    plain = client.submit(fetch, image=IMAGE)
    (pod,) = kubelet.pods(plain, 1)
    assert 'print("$$(rank) $$$$(rank) $$")' in pod["spec"]["containers"][0]["command"][-1]
    launched = client.submit(fetch, image=IMAGE, nproc_per_node=2)
    (pod,) = kubelet.pods(launched, 1)
    container = pod["spec"]["containers"][0]
    assert container["command"][0] == "torchrun"
    assert container["command"][-1] == "--no-python"
    assert container["args"][:2] == ["python3", "-c"]


def test_a_failure_is_told(client: genericjob.Client, kubelet: Kubelet) -> None:
    job = client.submit(train, arguments={"epochs": 1}, image=IMAGE, kind="GenericJob", workers=3)
    pods = kubelet.run(job, 3)
    kubelet.end(pods[2], 7, "Traceback\nValueError: the cause\n", at="2026-01-01T00:00:01Z")
    kubelet.end(pods[0], 1, "connection lost", at="2026-01-01T00:00:09Z")
    with pytest.raises(genericjob.JobFailed) as caught:
        job.wait(PATIENCE, progress=False)
    error = caught.value
    assert error.failure is not None
    assert (error.failure.pod, error.failure.exit_code) == (pods[2]["metadata"]["name"], 7)
    assert error.log_tail.endswith("ValueError: the cause")
    assert (error.reason, error.code) == ("Failed", 1)
    text = str(error)
    assert text.startswith(f"GenericJob/{job.name}: Failed. ")
    assert 'worker-2 failed first: exit code 7, last output: "ValueError: the cause". Its last lines:\n    ' in text
    assert text.endswith("    ValueError: the cause")


def test_a_volume_that_is_missing_is_named(client: genericjob.Client, kubelet: Kubelet) -> None:
    job = client.submit(image=IMAGE, kind="GenericJob")
    (pod,) = kubelet.pods(job, 1)
    assert "ConfigMap" not in job.why()
    end = time.monotonic() + PATIENCE
    while "not seen by the operator" in job.why():  # its first status waits for a view of the pods
        assert time.monotonic() < end
        time.sleep(0.1)
    kubelet.waits(pod, "FailedMount", 'MountVolume.SetUp failed for volume "settings" : configmap "settings" not found')
    assert 'cannot start: FailedMount: MountVolume.SetUp failed for volume "settings"' in job.why()
    assert '(create the ConfigMap "settings" in the job\'s namespace' in job.why()


def test_a_variable_that_names_nobody_fails_the_job(client: genericjob.Client) -> None:
    job = client.submit(image=IMAGE, kind="GenericJob", args=["$(service.ps[0].host)"])
    with pytest.raises(genericjob.JobFailed, match="ps") as caught:
        job.wait(PATIENCE, progress=False)
    assert (caught.value.reason, caught.value.failure) == ("InvalidSpec", None)


def test_a_wait_ends_in_time(client: genericjob.Client, kubelet: Kubelet) -> None:
    job = client.submit(image=IMAGE)
    kubelet.pods(job, 1)
    assert client.job(job.name).uid == job.uid
    with pytest.raises(genericjob.JobTimeout, match="^Timed out after 0 seconds. PyTorchTrainingJob/"):
        job.wait(0, progress=False)
    with pytest.raises(genericjob.JobTimeout, match=f"^Timed out after 0.5 seconds. PyTorchTrainingJob/{job.name}: ") as caught:
        job.wait(0.5, progress=False)
    assert caught.value.code == 3
    with pytest.raises(genericjob.Usage, match="until is 'done': want one of succeeded, running, paused"):
        job.wait(0.5, until="done")  # type: ignore[arg-type]


def test_an_elastic_job_is_scaled(client: genericjob.Client, kubelet: Kubelet) -> None:
    job = client.submit(train, arguments={"epochs": 1}, image=IMAGE, elastic=(2, 4))
    kubelet.run(job, 2)
    job.scale(3)
    kubelet.run(job, 3)
    assert job.wait(PATIENCE, until="running", progress=False).running == "3/3"
    with pytest.raises(genericjob.Refused, match="expectedReplicas must be from minReplicas to maxReplicas") as caught:
        job.scale(5)
    assert caught.value.status == 422
    job.scale(2)
    kubelet.pods(job, 2)


def test_a_scale_is_tried_again_if_the_job_changes_at_that_moment(
    client: genericjob.Client, kubelet: Kubelet, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = client.submit(image=IMAGE, kind="GenericJob")
    had = job.manifest()
    kubelet.run(job, 1)
    look, looks = job.manifest, iter([had])
    monkeypatch.setattr(job, "manifest", lambda: next(looks, None) or look())
    job.scale(2)
    kubelet.pods(job, 2)
    monkeypatch.setattr(job, "manifest", lambda: had)
    with pytest.raises(genericjob.Refused, match="the object has been modified") as caught:
        job.scale(3)
    assert caught.value.status == 409


def test_what_can_be_scaled(client: genericjob.Client, kubelet: Kubelet) -> None:
    job = client.submit(image=IMAGE, kind="GenericJob", workers=1)
    job.scale(2)
    kubelet.pods(job, 2)
    with pytest.raises(genericjob.Usage, match="is not elastic: submit it with elastic="):
        client.submit(image=IMAGE).scale(2)
    with pytest.raises(genericjob.Usage, match="a TensorFlowTrainingJob has a fixed number of replicas"):
        client.submit(image=IMAGE, kind="TensorFlowTrainingJob").scale(2)


@pytest.mark.parametrize("kind", ["PyTorchTrainingJob", "GenericJob"])
def test_a_pause(client: genericjob.Client, kubelet: Kubelet, kind: genericjob.Kind) -> None:
    job = client.submit(image=IMAGE, kind=kind)
    kubelet.run(job, 1)
    job.wait(PATIENCE, until="running", progress=False)
    job.pause()
    assert job.wait(PATIENCE, until="paused", progress=False).phase == "Paused"
    assert "It is paused" in job.why()
    job.resume()
    (pod,) = kubelet.run(job, 1)
    job.wait(PATIENCE, until="running", progress=False)
    kubelet.end(pod, 0)
    assert job.wait(PATIENCE, progress=False).restarts == 0


def test_a_job_that_is_deleted_is_neither_waited_for_nor_taken_for_another(
    client: genericjob.Client, kubelet: Kubelet, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = client.submit(image=IMAGE, kind="GenericJob", name="gone")
    kubelet.pods(job, 1)
    had = job.manifest()
    threading.Timer(0.5, job.delete).start()
    with pytest.raises(genericjob.NotFound, match=r"GenericJob .*/gone was deleted"):
        job.wait(PATIENCE, progress=False)
    with pytest.raises(genericjob.NotFound):
        job.status()
    client.submit(image=IMAGE, kind="GenericJob", name="gone")
    for ask in (job.status, job.why, lambda: job.wait(PATIENCE, progress=False)):
        with pytest.raises(genericjob.NotFound, match="was deleted, and created again"):
            ask()
    with pytest.raises(genericjob.Refused, match="UID"):
        job.delete()
    other = client.job("gone").manifest()["spec"]
    look, looks = job.manifest, iter([had, None] * 3)
    monkeypatch.setattr(job, "manifest", lambda: next(looks) or look())  # it is created again between a look at it and the change
    for change in (job.pause, job.resume, lambda: job.scale(2)):
        with pytest.raises(genericjob.NotFound, match="was deleted, and created again"):
            change()
    assert client.job("gone").manifest()["spec"] == other
    assert client.job("gone").uid != job.uid


def test_jobs_are_found(client: genericjob.Client, kubelet: Kubelet) -> None:
    for kind, name in (("PyTorchTrainingJob", "p"), ("GenericJob", "g"), ("TensorFlowTrainingJob", "t")):
        kubelet.pods(client.submit(image=IMAGE, kind=kind, name=name), 1)  # type: ignore[arg-type]
    assert [repr(j) for j in client.jobs()] == [
        f"<{kind} {client.namespace}/{name}>"
        for kind, name in (("PyTorchTrainingJob", "p"), ("TensorFlowTrainingJob", "t"), ("GenericJob", "g"))
    ]
    assert client.job("p").kind == "PyTorchTrainingJob"
    assert client.job("p", "GenericJob").kind == "GenericJob"
    with pytest.raises(genericjob.NotFound, match="has no job 'x' of kind PyTorchTrainingJob, TensorFlowTrainingJob, GenericJob"):
        client.job("x")


def test_a_job_of_a_kind_that_the_cluster_defines_is_seen_as_its_generic_job(client: genericjob.Client) -> None:
    manifest = genericjob.manifest(image=IMAGE, kind="GenericJob", name="theirs")
    owner = {"apiVersion": "frameworks.example.com/v1", "kind": "JAXJob", "name": "theirs", "uid": "1", "controller": True}
    manifest["metadata"]["ownerReferences"] = [owner]
    manifest["metadata"]["annotations"] = {"batch.tensorstack.dev/compiled-generation": "1"}
    client.create(manifest)
    assert [repr(j) for j in client.jobs()] == [f"<GenericJob {client.namespace}/theirs>"]
    job = client.job("theirs")
    for edit in (job.pause, job.resume, lambda: job.scale(2)):
        with pytest.raises(genericjob.Usage, match="belongs to JAXJob/theirs, by which an edit would be undone"):
            edit()


def test_a_job_that_is_a_step_of_a_workflow_may_be_edited(client: genericjob.Client) -> None:
    manifest = genericjob.manifest(image=IMAGE, kind="GenericJob", name="step")
    owner = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "name": "all", "uid": "1", "controller": True}
    manifest["metadata"]["ownerReferences"] = [owner]
    job = client.create(manifest)
    job.pause()
    assert job.manifest()["spec"]["runMode"]["pause"]["enabled"]


def test_logs_of_pods_that_have_not_started(client: genericjob.Client, kubelet: Kubelet) -> None:
    job = client.submit(image=IMAGE, workers=2)
    kubelet.pods(job, 2)
    out = io.StringIO()
    job.logs(file=out)
    assert out.getvalue() == "[worker-0] has not started: see why()\n[worker-1] has not started: see why()\n"
    with pytest.raises(genericjob.Usage, match="the job has no replica 'master'"):
        job.logs("master")
    with pytest.raises(genericjob.Usage, match="the job has no replica 'master'"):
        job.logs("master", follow=True)
