"""What is said of jobs, their failures and their logs."""

from __future__ import annotations

import io
import re
import signal
import sys
from typing import Any

import pytest

from genericjob import Failure, Refused, Usage, bar, lines, pods, status
from genericjob.job import _GOALS


def job(phase: str, *conditions: tuple[str, str, str, str], **more: Any) -> dict[str, Any]:
    words = [{"type": t, "status": s, "reason": r, "message": m} for t, s, r, m in conditions]
    return {
        "kind": "GenericJob",
        "metadata": {"name": "a", "generation": 2},
        "status": {"phase": phase, "conditions": words, "backoffCount": 0, **more},
    }


@pytest.mark.parametrize(
    ("of", "says"),
    [
        (job(""), "GenericJob/a: not seen by the operator yet. If that lasts, look whether the operator runs"),
        (job("Pending", ("Running", "False", "PodsNotReady", "1 of 2 run")), "GenericJob/a: Pending. 1 of 2 run."),
        (job("Pending", ("Blocked", "True", "CreateFailed", "exceeded quota.")), "GenericJob/a: Pending. exceeded quota."),
        (job("Paused"), "It is paused: no unfinished replica has a pod"),
        (job("Running", ("Running", "False", "Pausing", "")), "It is being paused"),
        (job("Pending", ("ReplicaFailure", "True", "ErrImagePull", "no such image")), "GenericJob/a: Pending. no such image."),
        (
            job("Failed", ("Failed", "True", "Failed", "it failed"), backoffCount=1, disruptionCount=2),
            "it failed. It had 1 counted restart and 2 disruptions.",
        ),
        (
            job("Failed", ("Failed", "True", "Failed", "it failed"), exceptedCount=1),
            "it failed. It had 0 counted restarts and 0 disruptions, and 1 restart excepted by rules.",
        ),
        (
            job("Succeeded", startTime="2026-01-01T00:00:00Z", completionTime="2026-01-01T01:00:05Z"),
            "It has succeeded, 1:00:05 after it began.",
        ),
        (
            job("Succeeded", backoffCount=3, failures=[{"pod": f"a-{rank}", "exitCode": 3} for rank in (0, 1, 0)]),
            "It had 3 counted restarts and 0 disruptions. Before that, replicas failed: Pod[a-0]: exit code 3 (2 times); Pod[a-1]: exit",
        ),
        (
            job(
                "Running",
                ("Running", "True", "-", "All run."),
                failures=[{"pod": "a-0", "exitCode": 3, "reason": "Error", "message": "x\nlast words\n"}],
            ),
            'All run. The last failure was that of Pod[a-0]: exit code 3, last output: "last words".',
        ),
    ],
)
def test_why(of: dict[str, Any], says: str) -> None:
    assert says in status.why(of)


@pytest.mark.parametrize(
    ("of", "says"),
    [
        (Failure("a"), "failed"),
        (Failure("a", exit_code=3, message="step 6\nstep 7\n"), 'exit code 3, last output: "step 7"'),
        (
            Failure("a", exit_code=1, message="step 7", exception="ValueError: no", frame="/t.py:1, in f"),
            'exit code 1, "ValueError: no" at /t.py:1, in f',
        ),
        (Failure("a", exit_code=1, message="a peer is gone", follows="a peer closed its connection"), 'exit code 1, "a peer is gone"'),
        (Failure("a", exit_code=1, message="rank 3 exited with code 9", by_launcher=True), 'exit code 1, "rank 3 exited with code 9"'),
        (
            Failure("a", exit_code=124, message="heartbeat: no line", frame="/t.py:1, in f"),
            'exit code 124, "heartbeat: no line" at /t.py:1, in f',
        ),
        (Failure("a", exit_code=128, reason="StartError", message="no such file"), 'exit code 128, StartError, "no such file"'),
        (Failure("a", exit_code=137, reason="OOMKilled", message="step 7"), 'exit code 137 (SIGKILL), OOMKilled, last output: "step 7"'),
        (Failure("a", exit_code=143, message="step 7", follows="it was told to end"), 'exit code 143 (SIGTERM), last output: "step 7"'),
        (Failure("a", reason="Evicted", message="The node was low on memory"), 'Evicted, "The node was low on memory"'),
    ],
)
def test_a_failure_is_described_as_kubectl_gj_does(of: Failure, says: str) -> None:
    assert str(of) == says


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other numbers")
@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15])
def test_each_signal_by_which_a_program_dies_is_named(number: int) -> None:
    name = signal.Signals(number).name
    assert str(Failure("a", exit_code=128 + number)) == f"exit code {128 + number} ({name})"


@pytest.mark.parametrize("code", [-9, 0, 1, 9, 128, 138, 255])
def test_other_exit_codes_name_no_signal(code: int) -> None:
    assert str(Failure("a", exit_code=code)) == f"exit code {code}"


def test_what_a_launcher_tells_is_known_from_its_words() -> None:
    told = status.read(job("Failed", failures=[{"pod": "a", "exitCode": 1, "workerExitCode": 9, "message": "rank 3 exited with code 9"}]))
    assert str(told.failures[0]) == 'exit code 1, "rank 3 exited with code 9"'


@pytest.mark.parametrize(
    ("of", "says"),
    [
        (job("Failed", ("Failed", "True", "Failed", "it failed")), "it failed. Read what was said: logs()."),
        (job("Failed", ("Failed", "True", "DeadlineExceeded", "late")), "See what took so long: logs()"),
        (job("Failed", ("Failed", "True", "InvalidSpec", "no")), "No restart helps"),
        (
            job(
                "Failed",
                ("Failed", "True", "Failed", "no"),
                failures=[
                    {"pod": "a-0", "exitCode": 128, "reason": "StartError", "message": 'exec: "trian": executable file not found in $PATH'}
                ],
            ),
            "No restart helps",
        ),
        (
            job("Failed", ("Failed", "True", "Failed", "no"), failures=[{"pod": "a-0", "exitCode": 127, "message": "no data"}]),
            "Read what was said",
        ),
        (job("Paused"), "To go on: resume()."),
        (
            job("Pending", ("ReplicaFailure", "True", "Unschedulable", "no node")),
            "no node. To edit the job: pause(), kubectl edit, resume().",
        ),
        (
            job("Pending", ("ReplicaFailure", "True", "ImagePullBackOff", "no image"), unstartedSpec="0123456789abcdef"),
            "no image. To edit the job: kubectl edit, without a pause.",
        ),
    ],
)
def test_why_says_what_to_do(of: dict[str, Any], says: str) -> None:
    assert says in status.why(of)
    assert says not in status.why(of, advise=False)


@pytest.mark.parametrize(
    ("message", "do"),
    [
        (
            'configmap "settings" not found',
            '(create the ConfigMap "settings" in the job\'s namespace, or correct its name in the template).',
        ),
        ('secret "keys" not found', '(create the Secret "keys" in the job\'s namespace, or correct its name in the template).'),
        ("references non-existent secret key: x", " (the ConfigMap or Secret lacks a key that the template's volume names"),
        ("the server does not answer", "the server does not answer. To edit the job"),
    ],
)
def test_why_says_what_only_an_event_tells(message: str, do: str) -> None:
    warned = status.Warned("a-0", "FailedMount", message)
    waits = job("Pending", ("Running", "False", "PodsNotReady", "0 of 1 run"))
    said = status.why(waits, warned=warned)
    assert f"GenericJob/a: Pending. Pod[a-0] cannot start: FailedMount: {message}" in said
    assert do in said
    assert said.endswith("To edit the job: pause(), kubectl edit, resume(). It goes on by itself once the obstacle is gone.")
    assert "0 of 1 run" not in said
    for told in (
        job("Succeeded"),
        job("Paused"),
        job("Running", ("Running", "True", "-", "All run.")),
        job("Pending", ("Blocked", "True", "X", "no")),
        job("Pending", ("ReplicaFailure", "True", "Unschedulable", "no node")),
    ):
        assert status.why(told, warned=warned) == status.why(told)


def test_a_pod_that_is_being_made() -> None:
    def pod(name: str, node: str, *containers: dict[str, Any], **more: str) -> dict[str, Any]:
        return {
            "metadata": {"name": name, **more},
            "spec": {"nodeName": node} if node else {},
            "status": {"phase": "Pending", "containerStatuses": [{"name": "main", "state": c} for c in containers]},
        }

    made = pod("made", "node", {"waiting": {"reason": "ContainerCreating"}})
    others = [
        pod("unplaced", ""),
        pod("unpulled", "node", {"waiting": {"reason": "ErrImagePull"}}),
        pod("runs", "node", {"running": {}}),
        pod("goes", "node", deletionTimestamp="2026-01-01T00:00:00Z"),
    ]
    assert pods.being_made([*others, made]) == made
    assert pods.being_made(others) is None


def test_no_advice_where_there_is_nothing_to_do() -> None:
    for of in (
        job(""),
        job("Running", ("Running", "True", "-", "All run.")),
        job("Succeeded"),
        job("Pending", ("Blocked", "True", "X", "no")),
    ):
        assert status.why(of) == status.why(of, advise=False)


@pytest.mark.parametrize("acts", ["\x1b[2J", "\x9b31m", "\x07", "\x7f", "\u202e", "\x00"])
def test_no_text_of_a_job_acts_on_a_terminal(acts: str) -> None:
    text = f"field {acts} is wrong"
    shown = f"field \\u{ord(acts[0]):04x}{acts[1:]} is wrong"
    failed = job("Failed", ("Failed", "True", "InvalidSpec", text), failures=[{"pod": "a-0", "reason": text, "message": text}])
    waits = job("Pending", ("Blocked", "True", "CreateFailed", text), ("Running", "False", "", text))
    last = job("Running", ("Running", "True", "", "All run."), failures=[{"pod": "a-0", "reason": text, "message": text}])
    for said in (
        status.why(failed),
        status.why(waits),
        bar.describe("GenericJob/a", status.read(waits)),
        str(Refused(text, 422)),
        str(Usage(text)),
    ):
        assert shown in said
        assert acts not in said
    assert acts not in status.why(last) + str(status.read(last).failures[0])


def test_a_status_of_an_earlier_spec_is_told_apart() -> None:
    assert status.read(job("Running", observedGeneration=2)).is_current
    assert not status.read(job("Running", observedGeneration=1)).is_current


def test_an_edit_that_is_refused_does_not_run() -> None:
    runs = ("Running", "True", "-", "All run.")
    goal = _GOALS["running"]
    assert goal(status.read(job("Running", runs, observedGeneration=2)))
    assert not goal(status.read(job("Running", runs, ("Blocked", "True", "InvalidSpec", "It cannot run."), observedGeneration=2)))


def test_progress_is_told() -> None:
    told = status.read(job("Running", progress={"step": 70, "loss": "0.25"}))
    assert (told.step, told.loss) == (70, "0.25")
    assert status.read(job("Running")).step is None


def test_a_line_for_each_change() -> None:
    out = io.StringIO()
    shown = bar.Bar("GenericJob/a", out)
    waits = job(
        "Pending", ("Running", "False", "PodsNotReady", "waits for\na node"), aggregate={"creating": 2, "running": 1, "succeeded": 1}
    )
    for of in (job(""), waits, waits, job("Succeeded", aggregate={"succeeded": 4, "failed": 0})):
        shown.show(status.read(of))
    shown.close()
    assert out.getvalue().splitlines() == [
        "GenericJob/a [....................] not seen yet",
        "GenericJob/a [#####=====..........] Pending, 1 of 4 done, 1 running, waits for a node",
        "GenericJob/a [####################] Succeeded, 4 of 4 done, 0 running",
    ]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    out = Terminal()
    shown = bar.Bar("GenericJob/a", out)
    shown.show(status.read(job("Pending", ("Running", "False", "", "a long story"))))
    shown.show(status.read(job("Failed")))
    shown.close()
    head = "\rGenericJob/a [....................]"
    assert out.getvalue() == f"{head} Pending, a lo{head} Failed       \n"


def pod(name: str, rank: int, code: int | None = None, at: str = "2026-01-01T00:00:00Z", kind: str = "worker") -> dict[str, Any]:
    state = {"running": {}} if code is None else {"terminated": {"exitCode": code, "finishedAt": at, "reason": "Error"}}
    labels = {"batch.tensorstack.dev/replica-type": kind, "batch.tensorstack.dev/replica-rank": str(rank)}
    return {
        "metadata": {"name": name, "uid": name, "labels": labels},
        "spec": {"containers": [{"name": "main"}]},
        "status": {"phase": "Running" if code is None else "Failed", "containerStatuses": [{"name": "main", "state": state}]},
    }


def test_the_first_failure_is_found_in_pods_and_in_what_was_recorded() -> None:
    early = Failure("a-worker-3", "main", 4, "Error", "gone", status.time_of("2026-01-01T00:00:01Z"))
    kept = [pod("a-worker-0", 0), pod("a-worker-1", 1, 3, "2026-01-01T00:00:02Z"), pod("a-worker-2", 2, 2, "2026-01-01T00:00:03Z")]
    assert pods.first_failure(kept, [early]) == (early, None)
    failure, its_pod = pods.first_failure(kept, [])
    assert failure is not None
    assert (failure.pod, failure.exit_code, its_pod) == ("a-worker-1", 3, kept[1])
    assert pods.replica_of(failure, ["worker"]) == "worker-1"
    assert pods.first_failure([kept[0]], []) == (None, None)
    told = status.FirstFailure(failure)
    assert pods.first_failure(kept, [early], told) == (failure, its_pod), "the operator knows what followed from what"
    gone = Failure("a-9", time=failure.time)
    assert pods.first_failure(kept, [early], status.FirstFailure(gone)) == (gone, None)


def test_pods_are_chosen_and_in_order() -> None:
    all_of = [pod("c", 10), pod("b", 2), pod("a", 0, kind="chief"), pod("d", 0)]

    def names(rank: int | str | None) -> str:
        return "".join(p["metadata"]["name"] for p in pods.chosen(all_of, ["chief", "worker"], rank))

    assert [names(r) for r in (None, 0, 2, "worker", "worker-10", "chief")] == ["adbc", "ad", "b", "dbc", "c", "a"]
    with pytest.raises(Usage, match="has no replica 'worker-x': want a type of chief, worker, or a replica such as chief-0"):
        names("worker-x")


def test_a_replica_that_the_job_does_not_have_is_refused() -> None:
    have = {"master": 1, "worker": 2}
    for rank in (None, 0, 1, "master", "worker", "worker-1", "master-0"):
        pods.check(have, rank)
    for wrong in (2, -1, "worker-9", "worker-x", "worker-01", "chief"):
        with pytest.raises(Usage, match=re.escape(f"the job has no replica {wrong!r}: it has master-0, worker-0 to worker-1")):
            pods.check(have, wrong)


def test_times_of_log_lines_are_compared_to_the_nanosecond() -> None:
    earlier, words = lines.cut_time("2026-01-01T00:00:00.10000001Z two  words ")
    later, _ = lines.cut_time("2026-01-01T01:00:00.1000001+01:00 x")
    assert words == "two  words "
    assert earlier is not None
    assert later is not None
    assert earlier < later
    assert lines.cut_time("unable to retrieve container logs") == (None, "unable to retrieve container logs")


def test_time_is_told() -> None:
    assert status.read(job("Running")).time is None
    told = status.read(
        job(
            "Running",
            time={
                "total": 3600,
                "queued": 1200,
                "productive": 1800,
                "lost": {"hang": 600},
                "recomputed": 60,
                "recomputedAtLeast": True,
                "goodput": "0.483",
                "basis": "steps",
                "since": "2026-01-01T00:00:00Z",
                "open": {"cause": "productive", "since": "2026-01-01T01:00:00Z"},
            },
        )
    ).time
    assert told is not None
    assert (told.total, told.queued, told.starting, told.productive, told.paused) == (3600, 1200, 0, 1800, 0)
    assert (dict(told.lost), told.cause, told.recomputed, told.recomputed_at_least) == ({"hang": 600}, "productive", 60, True)
    assert (told.goodput, told.basis) == (0.483, "steps")
    assert told.since is not None and told.since.isoformat() == "2026-01-01T01:00:00+00:00"
    over = status.read(job("Succeeded", time={"total": 0, "since": "2026-01-01T00:00:00Z"})).time
    assert over is not None and over.goodput is None and over.cause == "" and over.since is None


def test_history_is_told() -> None:
    assert status.read(job("Running")).history == status.History()
    told = status.read(
        job(
            "Running",
            history={
                "entries": [
                    {"kind": "Start", "begin": "2026-01-01T00:00:00Z", "end": "2026-01-01T00:01:00Z", "seconds": 60},
                    {
                        "kind": "Failure",
                        "begin": "2026-01-01T01:00:00Z",
                        "restarts": 1,
                        "pod": "a-worker-1",
                        "probable": True,
                        "node": "n",
                        "exitCode": 1,
                        "cause": "Network",
                        "message": "Connection closed by peer",
                    },
                    {"kind": "Scale", "begin": "2026-01-01T02:00:00Z", "end": "2026-01-01T02:00:00Z", "from": 2, "to": 4},
                ],
                "earlier": [{"kind": "Hang", "count": 3, "seconds": 90, "deviceSeconds": 720, "restarts": 3}],
            },
        )
    ).history
    start, failure, scale = told.entries
    assert (start.kind, start.seconds) == ("Start", 60)
    assert start.begin is not None and start.begin.isoformat() == "2026-01-01T00:00:00+00:00"
    assert start.end is not None and start.end.isoformat() == "2026-01-01T00:01:00+00:00"
    assert (failure.end, failure.restarts, failure.pod, failure.probable, failure.node) == (None, 1, "a-worker-1", True, "n")
    assert (failure.exit_code, failure.cause, failure.message) == (1, "Network", "Connection closed by peer")
    assert (scale.before, scale.after, scale.exit_code) == (2, 4, None)
    assert told.earlier == (status.Sum("Hang", 3, 90, 720, 3),)
