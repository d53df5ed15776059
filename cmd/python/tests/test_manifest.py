"""What submit makes of its arguments. That the apiserver takes it is tested in apiserver."""

from __future__ import annotations

from typing import Any

import pytest

from genericjob import Client, Usage, manifest

IMAGE = "registry.example/torch"


def train(epochs: int) -> None: ...


def test_the_smallest_job() -> None:
    job = manifest(image=IMAGE, name="a")
    assert job == {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "PyTorchTrainingJob",
        "metadata": {"name": "a"},
        "spec": {
            "replicaSpecs": [{"type": "worker", "replicas": 1, "template": {"spec": {"containers": [{"name": "python", "image": IMAGE}]}}}]
        },
    }


def container(job: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = job["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]
    return found


def test_a_function_is_a_command() -> None:
    job = manifest(train, image=IMAGE, arguments={"epochs": 3}, workers=2)
    assert container(job)["command"][:2] == ["python3", "-c"]
    assert "train(epochs=3)" in container(job)["command"][3]
    assert "torchrunConfig" not in job["spec"]
    assert job["metadata"]["name"].startswith("train-")
    assert job["metadata"]["name"] != manifest(train, image=IMAGE, arguments={"epochs": 3})["metadata"]["name"]


def test_torchrun_starts_a_function() -> None:
    job = manifest(train, image=IMAGE, arguments={"epochs": 3}, elastic=(2, 4), nproc_per_node="gpu", gpus=8)
    assert "command" not in container(job)
    assert container(job)["args"][:2] == ["python3", "-c"]
    assert job["spec"]["torchrunConfig"] == {"enabled": True, "procPerNode": "gpu", "extraOptions": ["--no-python"], "maxRestarts": 100}
    assert job["spec"]["elastic"] == {"enabled": True, "minReplicas": 2, "maxReplicas": 4, "expectedReplicas": 2}
    assert container(job)["resources"] == {"limits": {"nvidia.com/gpu": "8"}}


def test_torchrun_starts_what_args_say() -> None:
    job = manifest(image=IMAGE, args=["train.py", "--epochs=3"], nproc_per_node=2)
    assert container(job)["args"] == ["train.py", "--epochs=3"]
    assert job["spec"]["torchrunConfig"] == {"enabled": True, "procPerNode": "2"}


def test_all_the_rest() -> None:
    job = manifest(
        image=IMAGE,
        kind="GenericJob",
        command=["sh", "-c"],
        args=["echo $(rank)"],
        workers=3,
        env={"RANK": "$(index)"},
        resources={"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}},
        gpus=1,
        volumes={"/data": "claim", "/out": "other"},
        labels={"a": "b"},
        backoff_limit=0,
        deadline_seconds=60,
        failure_rules=[{"match": {"exitCodes": [3]}, "action": "Fail"}],
        node_lost_seconds=30,
        avoid_nodes={},
        ttl_seconds=5,
    )
    spec = job["spec"]
    assert container(job) == {
        "name": "main",
        "image": IMAGE,
        "command": ["sh", "-c"],
        "args": ["echo $(rank)"],
        "env": [{"name": "RANK", "value": "$(index)"}],
        "resources": {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi", "nvidia.com/gpu": "1"}},
        "volumeMounts": [{"name": "volume-0", "mountPath": "/data"}, {"name": "volume-1", "mountPath": "/out"}],
    }
    assert spec["replicaSpecs"][0]["template"]["spec"]["volumes"] == [
        {"name": "volume-0", "persistentVolumeClaim": {"claimName": "claim"}},
        {"name": "volume-1", "persistentVolumeClaim": {"claimName": "other"}},
    ]
    assert (spec["backoffLimit"], spec["activeDeadlineSeconds"], spec["ttlSecondsAfterFinished"], spec["service"]) == (0, 60, 5, {})
    assert spec["failurePolicy"] == {"rules": [{"match": {"exitCodes": [3]}, "action": "Fail"}]}
    assert spec["nodeLost"] == {"afterSeconds": 30}
    assert spec["avoidNodes"] == {}
    assert job["metadata"]["labels"] == {"a": "b"}


def test_tensorflow_restarts_if_asked_to() -> None:
    job = manifest(image=IMAGE, kind="TensorFlowTrainingJob", backoff_limit=2)
    assert job["spec"]["replicaSpecs"][0]["restartPolicy"] == "OnFailure"
    assert job["spec"]["runPolicy"] == {"backoffLimit": 2}
    assert container(job)["name"] == "tensorflow"
    assert "restartPolicy" not in manifest(image=IMAGE, kind="TensorFlowTrainingJob", backoff_limit=0)["spec"]["replicaSpecs"][0]


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"kind": "MPIJob"}, "kind is 'MPIJob': want one of PyTorchTrainingJob, TensorFlowTrainingJob, GenericJob"),
        ({"kind": "GenericJob", "elastic": (1, 2)}, "a GenericJob has none"),
        ({"kind": "TensorFlowTrainingJob", "nproc_per_node": 2}, "a TensorFlowTrainingJob has none"),
        ({"function": train, "command": ["true"]}, "a function takes the place of command and args"),
        ({"arguments": {"a": 1}}, "there is none: the image's program takes args"),
        ({"command": "python train.py"}, r"command is 'python train.py': want a list of words, as in \['python', 'train.py'\]"),
    ],
)
def test_contradictions_are_told(wishes: dict[str, Any], message: str) -> None:
    with pytest.raises(Usage, match=message):
        manifest(image=IMAGE, **wishes)


def test_a_restart_policy_that_is_a_word_is_told_its_shape() -> None:
    client = Client.__new__(Client)  # it asks no cluster
    wrong = {"kind": "GenericJob", "spec": {"replicaSpecs": [{"type": "worker", "restartPolicy": "OnFailure"}]}}
    with pytest.raises(Usage, match="it is an object, as in {'policy': 'OnFailure', 'limit': 3}"):
        client.create(wrong)
