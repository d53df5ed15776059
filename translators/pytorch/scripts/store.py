"""Serves the rendezvous of a job of torchrun's, until it is told to go.

    store.py PORT
"""

import os
import signal
import sys

signal.signal(signal.SIGTERM, lambda *_: os._exit(0))  # first of all: process 1 does not hear what it has not asked for

from torch.distributed import TCPStore  # noqa: E402

store = TCPStore("localhost", int(sys.argv[1]), is_master=True, wait_for_workers=False)
print(f"genericjob: the rendezvous store serves port {sys.argv[1]}", flush=True)
while True:
    signal.pause()
