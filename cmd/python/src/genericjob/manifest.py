"""Makes the manifest of a job. All of it is pure: the apiserver has the last word."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from . import source
from .errors import Usage
from .objects import Object
from .wire import GROUP, PLURALS, VERSION

Kind = Literal["PyTorchTrainingJob", "TensorFlowTrainingJob", "GenericJob"]
"""The kinds of jobs."""

_TRAINING_CONTAINER = {"PyTorchTrainingJob": "python", "TensorFlowTrainingJob": "tensorflow", "GenericJob": "main"}
_REPLICA_TYPE = "worker"
_ELASTIC_RESTARTS = 100


def manifest(
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
) -> Object:
    """The manifest that `Client.submit` sends, which says what the arguments mean."""
    _check(kind, torchrun=elastic is not None or nproc_per_node is not None)
    if workers is None:
        workers = elastic[0] if elastic else 1
    what = _what_runs(function, arguments, command, args)
    torchrun = _torchrun(nproc_per_node, elastic, workers, no_python="command" in what)
    container: Object = {"name": _TRAINING_CONTAINER[kind], "image": image, **(_under_torchrun(what) if torchrun else what)}
    container.update(_environment(env, _with_gpus(resources, gpus), volumes))
    replicas: Object = {"type": _REPLICA_TYPE, "template": {"spec": _pod(container, volumes)}}
    if elastic is None:
        replicas["replicas"] = workers
    if kind == "TensorFlowTrainingJob" and backoff_limit:
        replicas["restartPolicy"] = "OnFailure"  # its default is Never
    policy = _policy(
        backoff_limit=backoff_limit,
        deadline_seconds=deadline_seconds,
        failure_rules=failure_rules,
        node_lost_seconds=node_lost_seconds,
        avoid_nodes=avoid_nodes,
        ttl_seconds=ttl_seconds,
    )
    spec = {"replicaSpecs": [replicas], **_in_its_place(kind, policy), **torchrun}
    metadata: Object = {"name": name or f"{source.name_of(function)[:40]}-{secrets.token_hex(3)}"}
    if labels:
        metadata["labels"] = dict(labels)
    return {"apiVersion": f"{GROUP}/{VERSION}", "kind": kind, "metadata": metadata, "spec": spec}


def _check(kind: str, torchrun: bool) -> None:
    if kind not in PLURALS:
        raise Usage(f"kind is {kind!r}: want one of {', '.join(PLURALS)}")
    if kind != "PyTorchTrainingJob" and torchrun:
        raise Usage(f"elastic and nproc_per_node are torchrun's, and a {kind} has none: leave them out")


def _pod(container: Object, volumes: Mapping[str, str] | None) -> Object:
    pod: Object = {"containers": [container]}
    if volumes:
        claims = enumerate(volumes.values())
        pod["volumes"] = [{"name": f"volume-{i}", "persistentVolumeClaim": {"claimName": claim}} for i, claim in claims]
    return pod


def _in_its_place(kind: str, policy: Object) -> Object:
    """The fields of a policy, where a kind has them."""
    if kind == "GenericJob":
        return {"service": {}, **policy}
    return {"runPolicy": policy} if policy else {}


_What = dict[str, list[str]]


def _what_runs(
    function: Callable[..., object] | None,
    arguments: Mapping[str, Any] | None,
    command: Sequence[str] | None,
    args: Sequence[str] | None,
) -> _What:
    """Command and args of the container."""
    if function is None:
        if arguments is not None:
            raise Usage("arguments are those of a function, and there is none: the image's program takes args")
        lists = {"command": command, "args": args}
        for key, value in lists.items():
            if isinstance(value, str):
                raise Usage(f"{key} is {value!r}: want a list of words, as in {value.split()}")
        return {key: list(value) for key, value in lists.items() if value is not None}
    if command is not None or args is not None:
        raise Usage("a function takes the place of command and args: leave them out, or the function")
    return {"command": source.command(function, arguments or {})}


def _under_torchrun(what: _What) -> _What:
    """Torchrun takes the place of the command, and starts what args say."""
    if "command" not in what:
        return what
    return {"args": what["command"] + what.get("args", [])}


def _torchrun(nproc_per_node: int | str | None, elastic: tuple[int, int] | None, workers: int, no_python: bool) -> Object:
    """What has torchrun start the processes; nothing if nobody asks for it."""
    if elastic is None and nproc_per_node is None:
        return {}
    config: Object = {"enabled": True}
    if nproc_per_node is not None:
        config["procPerNode"] = str(nproc_per_node)
    if no_python:
        config["extraOptions"] = ["--no-python"]
    if elastic is None:
        return {"torchrunConfig": config}
    config["maxRestarts"] = _ELASTIC_RESTARTS  # each change of the number of workers may cost one
    low, high = elastic
    bounds = {"enabled": True, "minReplicas": low, "maxReplicas": high, "expectedReplicas": workers}
    return {"torchrunConfig": config, "elastic": bounds}


def _with_gpus(resources: Mapping[Literal["requests", "limits"], Mapping[str, str]] | None, gpus: int) -> dict[str, dict[str, str]]:
    out = {str(key): dict(value) for key, value in (resources or {}).items()}
    if gpus:
        out.setdefault("limits", {})["nvidia.com/gpu"] = str(gpus)
    return out


def _environment(env: Mapping[str, str] | None, resources: dict[str, dict[str, str]], volumes: Mapping[str, str] | None) -> Object:
    out: Object = {}
    if env:
        out["env"] = [{"name": key, "value": value} for key, value in env.items()]
    if resources:
        out["resources"] = resources
    if volumes:
        out["volumeMounts"] = [{"name": f"volume-{i}", "mountPath": path} for i, path in enumerate(volumes)]
    return out


def _policy(
    *,
    backoff_limit: int | None,
    deadline_seconds: int | None,
    failure_rules: Sequence[Mapping[str, Any]] | None,
    node_lost_seconds: int | None,
    avoid_nodes: Mapping[str, Any] | None,
    ttl_seconds: int | None,
) -> Object:
    """The fields have the same names in all kinds."""
    fields = {
        "backoffLimit": backoff_limit,
        "activeDeadlineSeconds": deadline_seconds,
        "failurePolicy": None if failure_rules is None else {"rules": [dict(rule) for rule in failure_rules]},
        "nodeLost": None if node_lost_seconds is None else {"afterSeconds": node_lost_seconds},
        "avoidNodes": None if avoid_nodes is None else dict(avoid_nodes),
        "ttlSecondsAfterFinished": ttl_seconds,
    }
    return {key: value for key, value in fields.items() if value is not None}
