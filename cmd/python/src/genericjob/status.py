"""What the operator says of a job, in words of Python. All of it is pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from .objects import Object
from .plain import plain

# What a runtime says of a program that is not there, or may not be executed. `kubectl gj` knows it by the same words.
_NOT_STARTED = re.compile(r'exec: "[^"]*": (executable file not found|stat |permission denied)')
_SIGNALS = {
    129: "SIGHUP",
    130: "SIGINT",
    131: "SIGQUIT",
    132: "SIGILL",
    133: "SIGTRAP",
    134: "SIGABRT",
    135: "SIGBUS",
    136: "SIGFPE",
    137: "SIGKILL",
    139: "SIGSEGV",
    141: "SIGPIPE",
    143: "SIGTERM",
}
"""The signals that end programs which fail, by what containers exit with that die of them. The operator names the same ones.

They are those of Linux, where containers run. Python's own `signal` has the numbers of the system that this runs on.
"""

_TOLD_TO_END = 143


@dataclass(frozen=True)
class Condition:
    """One observation of a job.

    type:    as in Running, Blocked or Failed
    holds:   whether it is so now
    reason:  one word of the API, as in DeadlineExceeded
    message: a sentence for people
    """

    type: str
    holds: bool
    reason: str
    message: str


@dataclass(frozen=True)
class Failure:
    """How a replica failed, once. What is not known is empty or None.

    pod, container: whose exit it was
    exit_code:      of the container; by_launcher: a launcher such as torchrun tells how its process ended, in message
    reason:         the kubelet's word, as in Error, OOMKilled or Evicted
    message:        the end of what was said last, of 256 bytes at most
    time:           when the code ended, by the clock of its node
    process_rank:   as the framework counts, which need not be the replica's rank
    exception:      the type and text of the exception that ended the code, as in "ValueError: x"
    frame:          the last place of your own code in the traceback, as in "/train.py:12, in main"
    follows:        by which words it follows from the end of another replica; empty for what may be a cause
    cause:          its kind: Exception, OutOfMemory, DeviceOutOfMemory, Hardware, Network, Storage, Timeout, Hang, Config, NotANumber,
                    Teardown or Unknown
    """

    pod: str
    container: str = ""
    exit_code: int | None = None
    reason: str = ""
    message: str = ""
    time: datetime | None = None
    process_rank: int | None = None
    exception: str = ""
    frame: str = ""
    follows: str = ""
    by_launcher: bool = False
    cause: str = ""

    @property
    def is_unstartable(self) -> bool:
        """Says whether the image lacks the program that was to run: no restart helps."""
        failed = self.reason in ("StartError", "ContainerCannotRun", "RunContainerError") or self.exit_code == 127
        return failed and bool(_NOT_STARTED.search(self.message))

    def __str__(self) -> str:
        words = []
        if self.exit_code is not None:
            signal = _SIGNALS.get(self.exit_code)
            words.append(f"exit code {self.exit_code}" + (f" ({signal})" if signal else ""))
        if self.reason not in ("", "Error"):
            words.append(self.reason)
        last = self.exception or self.message.strip().rpartition("\n")[2]
        if last:
            words.append(("" if self._tells_end else "last output: ") + json.dumps(last, ensure_ascii=False))
        where = f" at {self.frame}" if self.frame else ""
        return plain((", ".join(words) or "failed") + where)

    @property
    def _tells_end(self) -> bool:
        """Says whether its words tell of its end. Those that the code just said last may have nothing to do with it."""
        if self.exit_code is None or self.exception or self.by_launcher or self.is_unstartable:
            return True
        hangs = self.exit_code == 124 and self.message.startswith("heartbeat: ")
        follows = self.follows != "" and self.exit_code != _TOLD_TO_END
        return hangs or follows or self.reason not in ("", "Error", "OOMKilled")


@dataclass(frozen=True)
class FirstFailure:
    """The failure that others followed from, as far as the operator knows.

    failure:  how the replica failed
    summary:  that in a sentence, and how sure it is
    others:   how many other replicas have failed since, until the next start
    or_else:  pods that may have failed first as well
    probable: nothing proves that this one is the cause
    """

    failure: Failure
    summary: str = ""
    others: int = 0
    or_else: tuple[str, ...] = ()
    probable: bool = False


@dataclass(frozen=True)
class Time:
    """What the time of a job was spent on, in seconds: each second has one cause, and the parts add up to total.

    The parts are those of the intervals that are over: queued, starting, productive, paused and the values of lost.

    lost:       by what began the loss: restart, hang, disruption or node
    cause:      what time is spent on since `since`; empty and None once the job is over
    recomputed: of productive, what went into steps that had been done before; at least so much, if recomputed_at_least
    goodput:    the share that was productive, less what was recomputed, when the status was written; None before the first second
    basis:      steps, heartbeat or running: what shows that replicas which run also train
    """

    total: int = 0
    queued: int = 0
    starting: int = 0
    productive: int = 0
    paused: int = 0
    lost: Mapping[str, int] = field(default_factory=dict)
    cause: str = ""
    since: datetime | None = None
    recomputed: int = 0
    recomputed_at_least: bool = False
    goodput: float | None = None
    basis: str = ""


@dataclass(frozen=True)
class Entry:
    """What came between the work of a job, once. What is not known is empty or None.

    kind:     Start, Failure, Hang, Disruption, NodeLost, Pause, Queue or Scale
    begin:    when it began, by the clock of the code; end: None while it goes on
    seconds:  what it has taken of the job's time, and device_seconds, each as often as the job asked for accelerators
    restarts: how many restarts it came to
    pod:      of which it came, or, if it is only probable, may have come
    before, after: the number of replicas, of a Scale
    """

    kind: str
    begin: datetime | None = None
    end: datetime | None = None
    seconds: int = 0
    device_seconds: int = 0
    restarts: int = 0
    pod: str = ""
    probable: bool = False
    node: str = ""
    exit_code: int | None = None
    cause: str = ""
    message: str = ""
    before: int | None = None
    after: int | None = None


@dataclass(frozen=True)
class Sum:
    """What came of a kind before the entries that are listed; seconds may be of more than count, if an earlier operator kept none."""

    kind: str
    count: int = 0
    seconds: int = 0
    device_seconds: int = 0
    restarts: int = 0


@dataclass(frozen=True)
class History:
    """What came between the work of a job: its last entries in the order in which they began, and the sums of those before."""

    entries: tuple[Entry, ...] = ()
    earlier: tuple[Sum, ...] = ()


@dataclass(frozen=True)
class Status:
    """What the operator says of a job.

    phase:         Pending, Running, Paused, Resuming, Succeeded, Failed or Unknown; empty until the operator has seen the job
    running:       the replicas that run, of those that have not finished, as in "2/3"
    replicas:      the number of replicas by phase: creating, pending, running, succeeded, failed, unknown, deleted
    restarts:      how many a limit counted; excepted: how many rules excepted from that
    disruptions:   how often something outside the job ended replicas
    conditions:    all that were observed; `condition(type)` finds one
    failures:      the last five failures of replicas, the newest last
    first_failure: the failure that others followed from: of the last restart that was counted, or of the job's end. None without one
    started:       when the operator began with the job; completed: when it was over. None before that
    is_current:    it answers to the job's spec as it is now
    is_unstarted:  no code has started, so that templates may be edited without a pause
    step, loss:    the last that the code told, None and "" without; the loss as the code wrote it
    time:          what the job's time was spent on; None if nobody has kept that
    history:       what came between its work, and what that cost
    """

    phase: str
    running: str = ""
    replicas: Mapping[str, int] = field(default_factory=dict)
    restarts: int = 0
    disruptions: int = 0
    excepted: int = 0
    conditions: tuple[Condition, ...] = ()
    failures: tuple[Failure, ...] = ()
    first_failure: FirstFailure | None = None
    started: datetime | None = None
    completed: datetime | None = None
    is_current: bool = False
    is_unstarted: bool = False
    step: int | None = None
    loss: str = ""
    time: Time | None = None
    history: History = History()

    @property
    def is_over(self) -> bool:
        """Says whether the job has succeeded or failed."""
        return self.phase in ("Succeeded", "Failed")

    def condition(self, type: str) -> Condition:  # noqa: A002 (the API's word)
        """The condition of a type; without it one that does not hold."""
        return next((c for c in self.conditions if c.type == type), Condition(type, False, "", ""))


def read(job: Object) -> Status:
    """Reads the status of a job."""
    s: Object = job.get("status", {})
    return Status(
        phase=s.get("phase", ""),
        running=s.get("running", ""),
        replicas=s.get("aggregate", {}),
        restarts=s.get("backoffCount", 0),
        disruptions=s.get("disruptionCount", 0),
        excepted=s.get("exceptedCount", 0),
        conditions=tuple(
            Condition(c["type"], c["status"] == "True", c.get("reason", ""), c.get("message", "")) for c in s.get("conditions", [])
        ),
        failures=tuple(_failure(f) for f in s.get("failures", [])),
        first_failure=_first(s["firstFailure"]) if "firstFailure" in s else None,
        started=time_of(s.get("startTime")),
        completed=time_of(s.get("completionTime")),
        is_current=s.get("observedGeneration") == job["metadata"]["generation"],
        is_unstarted="unstartedSpec" in s,
        step=s.get("progress", {}).get("step"),
        loss=s.get("progress", {}).get("loss", ""),
        time=_time(s["time"]) if "time" in s else None,
        history=_history(s.get("history", {})),
    )


def _history(h: Object) -> History:
    return History(
        tuple(
            Entry(
                kind=e["kind"],
                begin=time_of(e.get("begin")),
                end=time_of(e.get("end")),
                seconds=e.get("seconds", 0),
                device_seconds=e.get("deviceSeconds", 0),
                restarts=e.get("restarts", 0),
                pod=e.get("pod", ""),
                probable=e.get("probable", False),
                node=e.get("node", ""),
                exit_code=e.get("exitCode"),
                cause=e.get("cause", ""),
                message=e.get("message", ""),
                before=e.get("from"),
                after=e.get("to"),
            )
            for e in h.get("entries", [])
        ),
        tuple(
            Sum(s["kind"], s.get("count", 0), s.get("seconds", 0), s.get("deviceSeconds", 0), s.get("restarts", 0))
            for s in h.get("earlier", [])
        ),
    )


def _time(t: Object) -> Time:
    now: Object = t.get("open", {})
    return Time(
        total=t.get("total", 0),
        queued=t.get("queued", 0),
        starting=t.get("starting", 0),
        productive=t.get("productive", 0),
        paused=t.get("paused", 0),
        lost=t.get("lost", {}),
        cause=now.get("cause", ""),
        since=time_of(now.get("since")),
        recomputed=t.get("recomputed", 0),
        recomputed_at_least=t.get("recomputedAtLeast", False),
        goodput=float(t["goodput"]) if "goodput" in t else None,
        basis=t.get("basis", ""),
    )


def _failure(f: Object) -> Failure:
    return Failure(
        pod=f["pod"],
        container=f.get("container", ""),
        exit_code=f.get("exitCode"),
        reason=f.get("reason", ""),
        message=f.get("message", ""),
        time=time_of(f.get("time")),
        process_rank=f.get("processRank"),
        exception=f.get("exception", ""),
        frame=f.get("frame", ""),
        follows=f.get("follows", ""),
        by_launcher="workerExitCode" in f or "workerSignal" in f,
        cause=f.get("cause", {}).get("kind", ""),
    )


def _first(f: Object) -> FirstFailure:
    return FirstFailure(_failure(f), f.get("summary", ""), f.get("others", 0), tuple(f.get("orElse", [])), f.get("probable", False))


def time_of(text: Any) -> datetime | None:  # noqa: ANN401 (of JSON)
    """A time as the API writes it, with its zone; None for none."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None


@dataclass(frozen=True)
class Warned:
    """What Kubernetes warns of about a pod that has a node and does not start there: reason and message are those of its last event."""

    pod: str
    reason: str
    message: str

    @property
    def advice(self) -> str:
        """What to do, where the words tell the obstacle; as the operator says it of containers."""
        for thing in ("ConfigMap", "Secret"):
            found = re.search(f'{thing.lower()} "([^"]*)" not found', self.message)
            if found:
                return f"create the {thing} {json.dumps(found[1])} in the job's namespace, or correct its name in the template"
        if "references non-existent" in self.message:
            return "the ConfigMap or Secret lacks a key that the template's volume names: add the key, or correct the volume"
        return ""

    def __str__(self) -> str:
        return f"Pod[{self.pod}] cannot start: {self.reason}: {self.message}" + (f" ({self.advice})" if self.advice else "")


def why(job: Object, advise: bool = True, warned: Warned | None = None) -> str:
    """Says in a paragraph what a job waits for or died of, and what to do; the words are those of `kubectl gj why`."""
    s = read(job)
    if not may_be_warned(job):
        warned = None
    head = f"{job['kind']}/{job['metadata']['name']}: {s.phase or 'not seen by the operator yet'}."
    said = _sentence(str(warned)) if warned else _reason(job, s)
    return plain(" ".join(f"{head} {said} {_advice(s, warned) if advise else ''}".split()))


def may_be_warned(job: Object) -> bool:
    """Says whether only events may tell what a job waits for: it is to run and does not, and its status knows no obstacle."""
    s = read(job)
    stands = not s.phase or s.is_over or s.phase == "Paused" or s.condition("Running").reason == "Pausing"
    told = s.condition("Running").holds or s.condition("Blocked").holds or _is_stuck(s)
    return not stands and not told and "deletionTimestamp" not in job["metadata"]


def _reason(job: Object, s: Status) -> str:
    running, blocked = s.condition("Running"), s.condition("Blocked")
    if "deletionTimestamp" in job["metadata"]:
        return "It is being deleted."
    if not s.phase:
        return "If that lasts, look whether the operator runs: kubectl get deployment -n genericjob-system genericjob-manager"
    if s.phase == "Failed":
        return _sentence(s.condition("Failed").message) + _count(s)
    if s.phase == "Succeeded":
        took = f", {s.completed - s.started} after it began" if s.started and s.completed else ""
        return f"It has succeeded{took}.{_count(s)}{_failed_before(s)}"
    if blocked.holds:
        return _sentence(blocked.message)
    if s.phase == "Paused":
        return "It is paused: no unfinished replica has a pod, and its spec may be edited."
    if running.reason == "Pausing":
        return "It is being paused: its pods have until the end of their grace period."
    if _is_stuck(s):
        return _sentence(s.condition("ReplicaFailure").message)
    if s.first_failure and s.first_failure.summary:
        last = f" The last crash: {s.first_failure.summary}."
        return _sentence(running.message) + (_count(s) if running.holds else "") + last
    last = f" The last failure was that of Pod[{s.failures[-1].pod}]: {s.failures[-1]}." if s.failures else ""
    return _sentence(running.message) + (_count(s) if running.holds else "") + last


def _is_stuck(s: Status) -> bool:
    """Says whether a pod cannot start. The operator's message says what to do where it knows the obstacle."""
    problem = s.condition("ReplicaFailure")
    return problem.holds and problem.reason != "ErrorInPod" and not s.condition("Running").holds


def _failed_before(s: Status) -> str:
    """What the restarts of a job that has succeeded were for, as far as its status still knows."""
    told = [f"Pod[{f.pod}]: {f}" for f in s.failures]
    texts = [t + (f" ({told.count(t)} times)" if told.count(t) > 1 else "") for t in dict.fromkeys(told)]
    return f" Before that, replicas failed: {'; '.join(texts)}." if texts else ""


def _advice(s: Status, warned: Warned | None) -> str:
    """What to do, in methods of Job. Messages of the condition Blocked say it themselves."""
    if s.phase == "Failed":
        reason = s.condition("Failed").reason
        if reason == "InvalidSpec" or any(f.is_unstartable for f in s.failures):
            return "No restart helps: correct it, call delete(), and submit it again."
        if reason == "DeadlineExceeded":
            return "See what took so long: logs(); or raise the deadline. Then call delete(), and submit it again."
        return "Read what was said: logs(). Correct it, or raise the limit of restarts; then call delete(), and submit it again."
    if s.is_over or s.condition("Blocked").holds:
        return ""
    if s.phase == "Paused":
        return "To go on: resume()."
    if _is_stuck(s) or warned:
        edit = "kubectl edit, without a pause" if s.is_unstarted else "pause(), kubectl edit, resume()"
        return f"To edit the job: {edit}. It goes on by itself once the obstacle is gone."
    return ""


def _count(s: Status) -> str:
    if s.restarts + s.disruptions + s.excepted == 0:
        return ""
    excepted = f", and {_number(s.excepted, 'restart')} excepted by rules" if s.excepted else ""
    return f" It had {_number(s.restarts, 'counted restart')} and {_number(s.disruptions, 'disruption')}{excepted}."


def _number(n: int, what: str) -> str:
    return f"{n} {what}" + ("" if n == 1 else "s")


def _sentence(text: str) -> str:
    text = text.strip()
    return text if not text or text.endswith(".") else text + "."
