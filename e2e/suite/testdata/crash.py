"""Four ranks step together, and one of them ends as FAULT says: in its first start, once for the whole job.

Each rank writes what it prints into a file of its own in /data, too: a log is complete if it has all of that.
"""

import os
import socket
import sys
import time

REPLICA = int(socket.gethostname().rsplit("-", 1)[1])
FAULT, VICTIM = os.environ["FAULT"], int(os.environ["VICTIM"])
START, STEPS, AT = time.time_ns(), 8, 3
said = 0


def say(text):
    global said
    said += 1
    line = f"crash {REPLICA} start {START} line {said}: {text}"
    print(line, flush=True)  # first: what the file has was printed
    with open(f"/data/said-{REPLICA}", "a", encoding="ascii") as file:
        print(line, file=file)


def is_due():
    """Says whether this start of this rank is the one that ends, and never says so again."""
    if REPLICA != VICTIM:
        return False
    try:
        os.close(os.open("/data/fault", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    for n in range(20):
        say(f"line {n} before the fault")
    return True


def end():
    if FAULT == "raise":
        raise ValueError("loss is nan at step 3 in shard 17")
    if FAULT == "kill":
        os.kill(os.getpid(), 9)
    if FAULT == "exit":
        sys.exit(3)
    if FAULT == "memory":
        hoard()
    if FAULT == "hang":
        wait_for_data()


def hoard():
    batches = []
    while True:
        batches.append(b"x" * (16 << 20))


def wait_for_data():
    while True:
        time.sleep(1)


say("begins")
if FAULT == "import" and is_due():
    import no_such_module

import torch
import torch.distributed as dist


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    say(f"rank {rank} of {world}")
    for step in range(STEPS):
        if step == AT and FAULT != "import" and is_due():
            end()
        dist.all_reduce(torch.ones(1))
        say(f"step {step}")
        time.sleep(0.2)
    dist.destroy_process_group()
    say("done")


if os.environ["RECORD"] == "yes":
    from torch.distributed.elastic.multiprocessing.errors import record

    main = record(main)

if __name__ == "__main__":
    main()
