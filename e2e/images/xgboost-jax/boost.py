"""Trains one model with XGBoost in several replicas, each of which has its own part of the data. The first runs the tracker, too."""

import os
import socket
import threading
import zlib

import numpy
import xgboost
from xgboost.tracker import RabitTracker

host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
workers, rank = int(os.environ["WORLD_SIZE"]), int(os.environ["RANK"])


def track():
    """Begins to bring the workers together; returns what ends when all of them have left."""
    tracker = RabitTracker(n_workers=workers, host_ip=socket.gethostbyname(socket.gethostname()), port=port)
    tracker.start()
    tracking = threading.Thread(target=tracker.wait_for, daemon=True)
    tracking.start()
    return tracking


def points(seed, sign=None):
    """Are points of the plane, or of its left or right half, with what is to be learned: in which half they are."""
    random = numpy.random.default_rng(seed)
    x = random.normal(size=(2000, 2))
    if sign:
        x[:, 0] = sign * numpy.abs(x[:, 0])
    return xgboost.DMatrix(x, label=(x[:, 0] > 0).astype(int))


tracking = track() if rank == 0 else None
# The tracker may come later, and so may its name: each try takes a little longer than the one before.
with xgboost.collective.CommunicatorContext(dmlc_tracker_uri=host, dmlc_tracker_port=port, dmlc_task_id=str(rank), dmlc_retry=20):
    data = points(rank, sign=1 if rank % 2 else -1)  # one half: alone, nobody could learn anything of it
    model = xgboost.train({"objective": "binary:logistic", "max_depth": 2, "nthread": 1}, data, num_boost_round=10)
    every = points(100)
    right = ((model.predict(every) > 0.5) == (every.get_label() > 0.5)).mean()
    checksum = zlib.crc32(model.save_raw("json"))
    print(f"worker {rank} of {xgboost.collective.get_world_size()}: right={right:.3f} model={checksum}")
if tracking:
    tracking.join(600)  # a worker that finds no tracker when it leaves tries again for many minutes
