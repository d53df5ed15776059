"""A training job as a step of Airflow, Dagster, Prefect or Kubeflow Pipelines. Both functions may be called again, as these tools do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import genericjob


def submitted(client: genericjob.Client, manifest: Mapping[str, Any]) -> str:
    """Creates the job, unless an earlier try has, and returns its name."""
    try:
        return client.create(manifest).name
    except genericjob.Refused as refused:
        if refused.status != 409:
            raise
        return client.job(manifest["metadata"]["name"], manifest["kind"]).name


def succeeded(client: genericjob.Client, name: str) -> bool:
    """Whether the job has succeeded. Once it has failed, JobFailed says which replica did so first, and has the end of its log."""
    job = client.job(name)
    if not job.status().is_over:
        return False
    job.wait(progress=False)
    return True
