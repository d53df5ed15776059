"""Kubeflow's SDK, as it is on PyPI, with the operator in place of Kubeflow's own. Run by TestKubeflow of e2e/suite."""

import os

import pytest
from kubeflow.training import (
    KubeflowOrgV1ReplicaSpec,
    KubeflowOrgV1RunPolicy,
    KubeflowOrgV1TFJob,
    KubeflowOrgV1TFJobSpec,
    TrainingClient,
)
from kubernetes.client import V1Container, V1ObjectMeta, V1PodSpec, V1PodTemplateSpec

NAMESPACE = os.environ["NAMESPACE"]
PATIENCE = 300


@pytest.fixture
def client():
    return TrainingClient(namespace=NAMESPACE)


def wait(client, name, kind):
    return client.wait_for_job_conditions(name, job_kind=kind, wait_timeout=PATIENCE, polling_interval=2)


def gone(client, name, kind):
    with pytest.raises(RuntimeError, match="Failed to get"):
        client.get_job(name, job_kind=kind)
    return name not in [job.metadata.name for job in client.list_jobs(job_kind=kind)]


@pytest.mark.parametrize("processes", [1, 2])  # without it, as many as the machine has cores
def test_a_function_is_trained_by_pytorch(client, processes):
    def train(parameters):
        import torch.distributed as dist

        dist.init_process_group("gloo")
        print(f"{parameters['word']} from {dist.get_rank()} of {dist.get_world_size()}")
        dist.barrier()
        dist.destroy_process_group()

    name, kind = f"sdk-{processes}", "PyTorchJob"
    client.create_job(
        name=name,
        job_kind=kind,
        base_image="localhost/genericjob-pytorch:dev",
        train_func=train,
        parameters={"word": "hello"},
        num_workers=2,
        num_procs_per_worker=processes,
        env_vars={"OMP_NUM_THREADS": "1"},
    )
    wait(client, name, kind)
    assert client.is_job_succeeded(name, job_kind=kind)
    pods = sorted(client.get_job_pod_names(name))
    assert pods == [f"{name}-master-0", f"{name}-worker-0"]
    assert client.get_job_pod_names(name, is_master=True) == [f"{name}-master-0"]
    master, _ = client.get_job_logs(name, job_kind=kind)
    assert list(master) == [f"{name}-master-0"]
    every, _ = client.get_job_logs(name, job_kind=kind, is_master=False)
    words = "".join(every.values())
    world = 2 * processes
    for rank in range(world):
        assert f"hello from {rank} of {world}" in words
    client.delete_job(name, job_kind=kind)
    assert gone(client, name, kind)


def tf_job(name, code):
    container = V1Container(name="tensorflow", image="localhost/genericjob-tensorflow:dev", command=["python", "-uc", code])
    worker = KubeflowOrgV1ReplicaSpec(
        replicas=2, restart_policy="Never", template=V1PodTemplateSpec(spec=V1PodSpec(containers=[container]))
    )
    return KubeflowOrgV1TFJob(
        api_version="kubeflow.org/v1",
        kind="TFJob",
        metadata=V1ObjectMeta(name=name),
        spec=KubeflowOrgV1TFJobSpec(run_policy=KubeflowOrgV1RunPolicy(clean_pod_policy="None"), tf_replica_specs={"Worker": worker}),
    )


@pytest.fixture
def tf_client():
    return TrainingClient(namespace=NAMESPACE, job_kind="TFJob")


def test_a_tfjob(tf_client):
    tf_client.create_job(tf_job("sdk-tf", "import os; print('config:', os.environ['TF_CONFIG'])"))
    job = wait(tf_client, "sdk-tf", "TFJob")
    assert job.status.replica_statuses["Worker"].succeeded >= 1  # worker 0's success is the job's
    assert {c.type for c in tf_client.get_job_conditions("sdk-tf") if c.status == "True"} == {"Created", "Succeeded"}
    logs, _ = tf_client.get_job_logs("sdk-tf", is_master=False, replica_type="worker", replica_index=0)
    assert list(logs) == ["sdk-tf-worker-0"]
    assert '"index":0' in logs["sdk-tf-worker-0"].replace(" ", "")
    tf_client.delete_job("sdk-tf")
    assert gone(tf_client, "sdk-tf", "TFJob")


def test_a_failure_is_told(tf_client):
    tf_client.create_job(tf_job("sdk-fails", "raise SystemExit(3)"))
    with pytest.raises(RuntimeError, match="sdk-fails is Failed"):
        wait(tf_client, "sdk-fails", "TFJob")
    tf_client.delete_job("sdk-fails")
