"""The way into a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from .create import create
from .errors import NotFound, Usage
from .job import Job
from .manifest import Kind, manifest
from .objects import Object, owner_of
from .wire import PLURALS, connect


class Client:
    """One namespace of a cluster.

    namespace:  default: that of the kubeconfig's context, or the one in which this program runs
    context:    of the kubeconfig; default: its current one, or the cluster in which this program runs

    Raises Unreachable if there is neither.
    """

    def __init__(self, namespace: str | None = None, context: str | None = None) -> None:
        self._api = connect(namespace, context)

    @property
    def namespace(self) -> str:
        """The namespace of all jobs of this client."""
        return self._api.namespace

    def submit(
        self,
        function: Callable[..., object] | None = None,
        *,
        image: str,
        name: str | None = None,
        kind: Kind = "PyTorchTrainingJob",
        arguments: Mapping[str, Any] | None = None,
        command: Sequence[str] | None = None,
        args: Sequence[str] | None = None,
        workers: int | None = None,
        gpus: int = 0,
        nproc_per_node: int | Literal["gpu", "cpu", "auto"] | None = None,
        elastic: tuple[int, int] | None = None,
        env: Mapping[str, str] | None = None,
        resources: Mapping[Literal["requests", "limits"], Mapping[str, str]] | None = None,
        volumes: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
        backoff_limit: int | None = None,
        deadline_seconds: int | None = None,
        failure_rules: Sequence[Mapping[str, Any]] | None = None,
        node_lost_seconds: int | None = None,
        avoid_nodes: Mapping[str, Any] | None = None,
        ttl_seconds: int | None = None,
    ) -> Job:
        """Creates a job that runs a function, or a command of the image, in each worker.

        function:          its source is sent, and nothing else: it imports and defines inside of it what it needs. What it returns is lost
        arguments:         what it is called with, by name: None, bool, numbers, str, and lists, tuples, dicts of them
        image:             what the workers run; for a function it needs python3
        name:              default: the function's, and six random characters
        kind:              PyTorchTrainingJob, TensorFlowTrainingJob or GenericJob
        command, args:     instead of a function, as in a pod. Default: the image's own
        workers:           default 1; of an elastic job: its least
        gpus:              of NVIDIA, for each worker. Default: none; others are `resources`
        nproc_per_node:    has torchrun start so many processes in each worker, or "gpu": as many as it has GPUs
        elastic:           the least and the most workers; torchrun starts them. Job.scale says how many
        env:               environment variables; $(rank), $(index) and other variables of GenericJob's have their values
        resources:         as in a pod: {"requests": {"cpu": "2"}, "limits": {"memory": "8Gi"}}
        volumes:           PersistentVolumeClaims by the folder where they are mounted: {"/data": "my-claim"}
        labels:            of the job, as in {"kueue.x-k8s.io/queue-name": "team"}
        backoff_limit:     the number of restarts that all workers share. Default: 3 of a PyTorchTrainingJob, 0 of the other kinds
        deadline_seconds:  how long the job may run, without pauses. Default: no limit
        failure_rules:     the rules of its failurePolicy, as in a manifest: {"match": {"exitCodes": [3]}, "action": "Fail"}
        node_lost_seconds: how long workers wait for a node that does not answer, before they are replaced. Default: the operator's, which
                           is 5 minutes unless its admin says otherwise
        avoid_nodes:       keeps new pods off nodes on which the job fails, as in a manifest: {"after": 2, "within": "24h"}. {} is enough
        ttl_seconds:       how long the job is kept once it is over. Default: until somebody deletes it

        Returns the job at once: wait() waits. Raises Usage, or NotSendable of a function, before anything is sent, and then what create()
        raises.
        """
        return self.create(
            manifest(
                function,
                image=image,
                name=name,
                kind=kind,
                arguments=arguments,
                command=command,
                args=args,
                workers=workers,
                gpus=gpus,
                nproc_per_node=nproc_per_node,
                elastic=elastic,
                env=env,
                resources=resources,
                volumes=volumes,
                labels=labels,
                backoff_limit=backoff_limit,
                deadline_seconds=deadline_seconds,
                failure_rules=failure_rules,
                node_lost_seconds=node_lost_seconds,
                avoid_nodes=avoid_nodes,
                ttl_seconds=ttl_seconds,
            )
        )

    def create(self, manifest: Mapping[str, Any]) -> Job:
        """Creates a job from a manifest: of your own, or one of `genericjob.manifest` that you have edited.

        A cluster that does not answer is asked again, for ten seconds. The job is created once: where an answer was lost, the next may be
        that its name is taken, which is a success only if this call has taken it.

        Raises Usage for a kind that this package does not know, Refused in the apiserver's words (as status 409: the name is taken),
        NotInstalled, and Unreachable, after which the job may be there.
        """
        kind = manifest.get("kind")
        if kind not in PLURALS:
            raise Usage(f"the manifest's kind is {kind!r}: want one of {', '.join(PLURALS)}")
        _check_policies(manifest)
        return Job(self._api, create(self._api, kind, manifest))

    def job(self, name: str, kind: Kind | None = None) -> Job:
        """Finds a job. Without a kind that of any kind, training jobs before the GenericJobs that they own. Raises NotFound."""
        for k in PLURALS if kind is None else [kind]:
            try:
                return Job(self._api, self._api.call("GET", self._api.jobs(k, name)))
            except NotFound:
                continue
        raise NotFound(f"namespace {self.namespace!r} has no job {name!r} of kind {kind or ', '.join(PLURALS)}")

    def jobs(self) -> list[Job]:
        """All jobs of the namespace, by kind and name, without GenericJobs that training jobs of these kinds own."""
        found: list[Job] = []
        for kind in PLURALS:
            items: list[Object] = self._api.call("GET", self._api.jobs(kind))["items"]
            found += [Job(self._api, {**o, "kind": kind}) for o in items if (owner := owner_of(o)) is None or owner["kind"] not in PLURALS]
        return found


def _check_policies(manifest: Mapping[str, Any]) -> None:
    """Says which shape a field has that is a word in other kinds; the apiserver's schema can only say that it is wrong."""
    if manifest["kind"] != "GenericJob":
        return
    for r in (manifest.get("spec") or {}).get("replicaSpecs") or []:
        policy = r.get("restartPolicy")
        if isinstance(policy, str):
            raise Usage(
                f"restartPolicy of type {r.get('type')!r} is {policy!r}: "
                f"in a GenericJob it is an object, as in {{'policy': {policy!r}, 'limit': 3}}"
            )
