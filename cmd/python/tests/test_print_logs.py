"""What is printed of logs that are not followed, where some cannot be read."""

from __future__ import annotations

import io
from typing import Any, cast

import pytest

from genericjob import Error, NotFound, Refused, Unreachable
from genericjob.logs import LOG_SECONDS, Printer
from genericjob.wire import Api

LOST = Refused('Get "https://10.0.0.7:10250/containerLogs/team/b/main": dial tcp 10.0.0.7:10250: connect: connection refused', 500)
SILENT = Unreachable("the cluster cannot be reached for b/log: Read timed out.")


def pod(name: str, rank: int, state: str = "running") -> dict[str, Any]:
    return {
        "metadata": {
            "name": name,
            "uid": name,
            "labels": {"batch.tensorstack.dev/replica-type": "worker", "batch.tensorstack.dev/replica-rank": str(rank)},
        },
        "spec": {"containers": [{"name": "main"}]},
        "status": {"phase": "Running", "containerStatuses": [{"name": "main", "state": {state: {}}}]},
    }


PODS = [pod("a", 0), pod("b", 1), pod("c", 2)]


class Cluster:
    """An apiserver with PODS, of which it cannot read some logs. `of_pods` is what it says of pods instead of them."""

    def __init__(self, broken: dict[str, Error], of_pods: Error | None = None) -> None:
        self._broken = broken
        self._of_pods = of_pods

    def within(self, seconds: float) -> Cluster:
        assert seconds == LOG_SECONDS, "a lost node is not waited for longer"
        return self

    def pods(self, name: str, subresource: str = "") -> str:
        return f"{name}/{subresource}"

    def text(self, path: str, query: dict[str, object]) -> str:
        name = path.partition("/")[0]
        if name in self._broken:
            raise self._broken[name]
        return f"words of {name}\n"

    def call(self, method: str, path: str) -> dict[str, Any]:
        if self._of_pods:
            raise self._of_pods
        return next(p for p in PODS if path == f"{p['metadata']['name']}/")


def printed(cluster: Cluster, pods: list[dict[str, Any]], raised: Error | None = None) -> list[str]:
    """What is printed, and raised in the end."""
    out = io.StringIO()
    printer = Printer(cast("Api", cluster), out, None)
    if raised is None:
        printer.print(pods)
    else:
        with pytest.raises(type(raised)) as caught:
            printer.print(pods)
        assert str(caught.value) == str(raised)
    return out.getvalue().splitlines()


@pytest.mark.parametrize("problem", [LOST, SILENT])
def test_a_lost_node_holds_up_no_other_log(problem: Error) -> None:
    says = f"[worker-1] its log cannot be read, its node may be lost: {problem}"
    assert printed(Cluster({"b": problem}), PODS) == ["[worker-0] words of a", says, "[worker-2] words of c"]


def test_a_pod_that_is_gone_meanwhile_holds_up_no_other_log() -> None:
    says = '[worker-1] its log cannot be read: pods "b" not found'
    assert printed(Cluster({"b": NotFound('pods "b" not found')}), PODS) == ["[worker-0] words of a", says, "[worker-2] words of c"]


def test_a_log_that_cannot_be_read_is_an_error_if_there_is_no_other() -> None:
    assert printed(Cluster({"b": LOST}), [PODS[1]], LOST) == [f"[worker-1] its log cannot be read, its node may be lost: {LOST}"]
    assert len(printed(Cluster({"a": SILENT, "b": LOST, "c": LOST}), PODS, SILENT)) == 3
    assert printed(Cluster({}), [pod("a", 0, "waiting")]) == ["[worker-0] has not started: see why()"]
    assert printed(Cluster({}), []) == []


def test_a_cluster_that_is_away_is_not_asked_for_each_log() -> None:
    away = Unreachable("the cluster cannot be reached")
    assert printed(Cluster({"b": SILENT}, away), PODS, away) == ["[worker-0] words of a"]
    assert len(printed(Cluster({"b": SILENT}, Refused("you may list pods, and not get one", 403)), PODS)) == 3


@pytest.mark.parametrize("status", [401, 403])
def test_who_may_not_read_logs_is_told_at_once(status: int) -> None:
    assert printed(Cluster({"a": Refused("you may not", status)}), PODS, Refused("you may not", status)) == []
