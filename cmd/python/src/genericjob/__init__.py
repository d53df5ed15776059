"""Distributed training jobs on Kubernetes, from a notebook: submit, wait, read logs, scale.

import genericjob

client = genericjob.Client()
job = client.submit(train, image="pytorch/pytorch", workers=2, gpus=1)
job.wait()
job.logs()
"""

from .client import Client
from .errors import (
    Error,
    JobFailed,
    JobOver,
    JobTimeout,
    NotFound,
    NotInstalled,
    NotSendable,
    Refused,
    Unreachable,
    Usage,
)
from .job import Job
from .manifest import Kind, manifest
from .status import Condition, Failure, Status

__version__ = "0.1.0"

__all__ = [
    "Client",
    "Condition",
    "Error",
    "Failure",
    "Job",
    "JobFailed",
    "JobOver",
    "JobTimeout",
    "Kind",
    "NotFound",
    "NotInstalled",
    "NotSendable",
    "Refused",
    "Status",
    "Unreachable",
    "Usage",
    "manifest",
]
