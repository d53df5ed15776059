"""What a rank does: see code.go."""

import os
import signal
import sys
import time

env = os.environ
name, fault = env["NAME"], env["FAULT"]
attempt = int(env["ATTEMPT"]) + int(env.get("TORCHELASTIC_RESTART_COUNT", "0"))
steps, at, times = int(env["STEPS"]), int(env["AT"]), int(env["TIMES"])
is_victim = name == env["VICTIM"]
said = 0


def say(text):
    global said
    said += 1
    line = f"drawn {name} attempt {attempt} line {said}: {text}"
    print(line, flush=True)  # first: what the file has was printed
    with open(f"/data/said-{name}", "a", encoding="ascii") as file:
        print(line, file=file)


def stop(*_):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    saves = int(env["SAVES"])
    for n in range(saves):
        say(f"saves {n + 1} of {saves}")
        time.sleep(1)
    say("saved")
    sys.stdout.flush()
    os._exit(int(env["SAVED"]))


def wait_for_ever():
    while True:
        time.sleep(1)


def end():
    say(f"fault {fault}")
    if fault == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault in ("hang", "delete"):
        wait_for_ever()
    if env["WORDS"]:
        print(env["WORDS"], file=sys.stderr, flush=True)
    sys.exit(int(env["CODE"]))


signal.signal(signal.SIGTERM, stop)
say("begins")
with open(f"/data/up-{name}", "w", encoding="ascii"):
    pass
if steps == 0:
    wait_for_ever()
if attempt == 0 and (is_victim or not env["VICTIM"]):
    for awaited in env["AWAITS"].split():
        while not os.path.exists(f"/data/{awaited}"):
            time.sleep(1)
    if is_victim:
        time.sleep(2)
for step in range(1, steps + 1):
    say(f"step {step} of {steps}")
    time.sleep(1)
    if is_victim and step == at and attempt < times:
        end()
say("done")
