"""Runs torchrun beside a rendezvous store that may be lost, in a pod that may be told to go.

    agent.py HOST:PORT COMMAND [ARGUMENT...]

Waits until the store answers, runs the command, and ends with its exit code. Two things are not left to torchrun:

The store is lost. All torchruns of the job end then, with an error. As soon as there is a store again, the command is run again.

The pod is told to go. Some versions of torchrun close the rendezvous then, and by that end all others of the job. It is killed instead;
the training processes are told to go, and have the rest of the grace period. The others hear that it has gone; else they would wait until
it has been silent for 9 to 15 seconds. Where pods restart in place, their wrapper tells all processes to go but those below this one.
"""

import base64
import datetime
import io
import os
import pickle
import signal
import socket
import subprocess
import sys
import time

NAME = b"gj-agent"
PR_SET_NAME = 15  # of prctl(2)

told = 0  # the signal that tells the pod to go


def hear(number, _):
    global told
    told = number


def say(text):
    print(f"genericjob: {text}", file=sys.stderr, flush=True)


def meet(host, port):
    """Returns a connection to the store, which nothing is sent through: it ends when the store does."""
    began = patient = time.monotonic()
    while not told:
        try:
            line = socket.create_connection((host, port), timeout=5)
        except OSError as e:
            if time.monotonic() > patient + 30:
                patient = time.monotonic()
                say(f"waiting for the rendezvous store at {host}:{port} for {patient - began:.0f} s: {e}")
            time.sleep(0.5)
            continue
        line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, seconds in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
            if hasattr(socket, option):  # a node that is gone says nothing
                line.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), seconds)
        line.setblocking(False)
        return line
    return None


def lost(line):
    try:
        return line.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def reap(child):
    """Returns the exit code of the child if it has ended. As process 1 this has the orphans of others to reap, too."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return None
        if pid == 0:
            return None
        if pid == child:
            return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def living():
    """Returns the parent of each process that lives."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as f:
                    state, parent = f.read().rpartition(")")[2].split()[:2]
            except OSError:
                continue  # it has just ended
            if state != "Z":
                parents[int(name)] = int(parent)
    return parents


def family(pids, parents):
    """Returns those of the processes that live, and all that descend from them."""
    found, more = set(), {pid for pid in pids if pid in parents}
    while more:
        found |= more
        more = {pid for pid, parent in parents.items() if parent in found} - found
    return found


def send(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            pass  # it has just ended


def end(child, then=lambda: None):
    """Kills the command, and tells the processes that it has started to go. What these leave behind is told when they have gone: they may
    need it to save, as they need data loaders. Returns when all have gone, after half a minute by force."""
    parents = living()
    heard = {pid for pid, parent in parents.items() if parent == child}
    ours = family(heard, parents)
    send([child], signal.SIGKILL)
    send(heard, signal.SIGTERM)
    then()
    begun = time.monotonic()
    while ours:
        time.sleep(0.1)
        reap(0)
        parents = living()
        left = family(ours, parents)
        heard |= left - ours  # what has just begun may be what saves
        ours = left
        orphans = {pid for pid in ours - heard if parents[pid] not in ours}
        send(orphans, signal.SIGTERM)
        heard |= orphans
        if not told and time.monotonic() > begun + 30:
            send(ours, signal.SIGKILL)


class State(pickle.Unpickler):
    """Reads how torchruns note who is there. That they pickle it is theirs; but whoever reaches the store can write there, and a pickle may
    call anything. So nothing is taken but what such a note is made of."""

    module = "torch.distributed.elastic.rendezvous.dynamic_rendezvous"
    parts = {(module, "_RendezvousState"), (module, "_NodeDesc"), ("builtins", "set")}
    parts |= {("datetime", name) for name in ("datetime", "timedelta", "timezone")}

    def find_class(self, module, name):
        if (module, name) not in self.parts:
            raise pickle.UnpicklingError(f"{module}.{name} does not belong there")
        return super().find_class(module, name)


def leave(host, port, command, pid):
    """Dates the last sign of life of a torchrun that was killed to long ago. What the versions of PyTorch up to 2.15 share of how they note that is
    all that this needs. If it is not so, or the user's own, nothing is changed: the others wait then."""
    name = next((a.partition("=")[2] for a in command if a.startswith("--rdzv_id=")), None)
    if name is None:
        return
    from torch.distributed import TCPStore

    store = TCPStore(host, port, is_master=False, timeout=datetime.timedelta(seconds=5))
    here = (os.environ.get("PET_LOCAL_ADDR"), socket.getfqdn())
    key = "torch.rendezvous." + name
    for _ in range(20):  # others write, too
        before = store.get(key)
        state = State(io.BytesIO(base64.b64decode(before))).load()
        gone = [node for node in state.last_heartbeats if node.pid == pid and node.addr in here]
        for node in gone:  # before 2.6 times have no zone, and the two kinds cannot be compared
            state.last_heartbeats[node] = datetime.datetime(1970, 1, 1, tzinfo=state.last_heartbeats[node].tzinfo)
        after = base64.b64encode(pickle.dumps(state))
        if not gone or store.compare_set(key, before.decode(), after.decode()) == after:
            return


def take_name():
    """Takes the name by which the wrapper of a pod knows that this program tells its own processes to go."""
    import ctypes

    ctypes.CDLL(None).prctl(PR_SET_NAME, NAME, 0, 0, 0)


def try_to(do, *arguments):
    try:
        do(*arguments)
    except Exception as e:
        say(f"could not {do.__name__}: {type(e).__name__}: {e}")


def run(host, port, command):
    while True:
        line = meet(host, port)
        if told:
            return 128 + told
        child = subprocess.Popen(command, start_new_session=True).pid  # it hears no signal to this group
        code, since = None, None
        while code is None:
            time.sleep(0.1)
            if told:
                end(child, lambda: try_to(leave, host, port, command, child))
                return 128 + told
            code = reap(child)
            if since is None and lost(line):
                since = time.monotonic()
            elif since and code is None and time.monotonic() > since + 30:
                end(child)  # it has not noticed
                break
        if code == 0 or not since and not lost(line):
            return code
        say("the rendezvous store was lost: torchrun starts again once it is back")


def main():
    host, _, port = sys.argv[1].rpartition(":")
    os.environ.pop("GENERICJOB_AGENT", None)
    try_to(take_name)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, hear)
    sys.exit(run(host, int(port), sys.argv[2:]))


main()
