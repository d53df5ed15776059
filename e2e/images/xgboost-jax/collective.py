"""Adds up what the processes of a JAX job know, and trains a line on the data of all of them."""

import os

import jax
import jax.numpy as jnp
from jax.experimental import multihost_utils

address = os.environ["COORDINATOR_ADDRESS"] + ":" + os.environ["COORDINATOR_PORT"]
jax.distributed.initialize(address, int(os.environ["NUM_PROCESSES"]), int(os.environ["PROCESS_ID"]))

ranks = multihost_utils.process_allgather(jnp.array([jax.process_index()]))
print(f"process {jax.process_index()} of {jax.process_count()}: devices={jax.device_count()} sum={int(ranks.sum())}")
jax.distributed.shutdown()
