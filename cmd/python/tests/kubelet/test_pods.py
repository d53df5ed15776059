"""Functions that really run in pods, and what they say there."""

from __future__ import annotations

import io
import pathlib
import re
import threading
import time

import nbclient
import nbformat
import pytest

import genericjob
from faults import Faults

PATIENCE = 300.0
"""Bounds every wait, in seconds. No test depends on how fast anything is."""


def logs(job: genericjob.Job, rank: int | str | None = None) -> str:
    out = io.StringIO()
    job.logs(rank, file=out)
    return out.getvalue()


def test_the_notebook(image: str, package: pathlib.Path) -> None:
    """The notebook beside the package, in a kernel of Jupyter's. Only the image is another."""
    notebook = nbformat.read(package / "train.ipynb", as_version=4)  # type: ignore[no-untyped-call, unused-ignore]
    cells = [c for c in notebook.cells if c.cell_type == "code"]
    assert not any(c.outputs for c in cells)
    assert cells[0].source.count('"pytorch/pytorch"') == 1
    cells[0].source = cells[0].source.replace('"pytorch/pytorch"', repr(image))
    nbclient.NotebookClient(notebook, timeout=PATIENCE).execute()
    said = ["".join(o.get("text", "") or o.get("data", {}).get("text/plain", "") for o in c.outputs) for c in cells]
    assert re.fullmatch(r"<PyTorchTrainingJob .*/train-[0-9a-f]{6}>", said[2])
    assert "\r" in said[3]
    assert said[3].endswith("'Succeeded'")
    assert "[####################] Succeeded, 2 of 2 done" in said[3]
    for rank in (0, 1):
        losses = [float(x) for x in re.findall(rf"(?m)^\[worker-{rank}\] rank {rank} of 2: step \d+, loss (\S+)$", said[4])]
        assert len(losses) == 5
        assert losses[-1] < losses[0]
    assert "It has succeeded" in said[5]


def test_the_readme(image: str, package: pathlib.Path) -> None:
    """What README.md begins with, as the cell of a notebook. Only the image is another."""
    block = (package / "README.md").read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    assert block.count('"registry.example/pytorch"') == 1
    cell = nbformat.v4.new_code_cell(block.replace('"registry.example/pytorch"', repr(image)))  # type: ignore[no-untyped-call, unused-ignore]
    notebook = nbformat.v4.new_notebook(cells=[cell])  # type: ignore[no-untyped-call, unused-ignore]
    nbclient.NotebookClient(notebook, timeout=PATIENCE).execute()
    said = "".join(o.text for o in cell.outputs)
    for rank in (0, 1):
        assert re.findall(rf"(?m)^\[worker-{rank}\] rank {rank} of 2: epoch (\d)$", said) == ["0", "1", "2"]


def test_no_character_is_changed_on_the_way(client: genericjob.Client, image: str) -> None:
    def prints(words: str) -> None:
        print(words)  # noqa: T201 (that is its work)
        print("$(rank) $$(x) ${HOME} $$ 'single' \"double\" \\ `tick` ü 雪")  # noqa: T201

    words = "$(index) $(nobody) $$ \"'"
    kinds: tuple[genericjob.Kind, ...] = ("GenericJob", "PyTorchTrainingJob", "TensorFlowTrainingJob")
    for job in [client.submit(prints, arguments={"words": words}, image=image, kind=kind) for kind in kinds]:
        job.wait(PATIENCE)
        assert logs(job).splitlines() == [
            f"[worker-0] {words}",
            "[worker-0] $(rank) $$(x) ${HOME} $$ 'single' \"double\" \\ `tick` ü 雪",
        ]
        job.delete()


def test_a_function_under_torchrun_is_scaled(client: genericjob.Client, image: str) -> None:
    def train() -> None:
        import time

        import torch.distributed as dist

        dist.init_process_group("gloo")
        world = dist.get_world_size()
        print(f"world={world} rank={dist.get_rank()}")  # noqa: T201
        if world < 4:
            time.sleep(3600)
        dist.barrier()
        dist.destroy_process_group()

    job = client.submit(train, image=image, elastic=(1, 2), nproc_per_node=2, env={"OMP_NUM_THREADS": "1"})
    job.wait(PATIENCE, until="running")
    end = time.monotonic() + PATIENCE
    while "world=2 " not in logs(job) and time.monotonic() < end:
        time.sleep(1)
    job.scale(2)
    job.wait(PATIENCE)
    assert re.search(r"world=4 rank=[0-3]", logs(job, "worker-0"))
    assert re.search(r"world=4 rank=[0-3]", logs(job, 1))
    job.delete()


def test_a_failure_has_its_last_lines(client: genericjob.Client, image: str) -> None:
    def train(n: int) -> None:
        for i in range(n):
            print("line", i)  # noqa: T201
        raise ValueError("this is the cause")

    job = client.submit(train, arguments={"n": 50}, image=image, kind="GenericJob")
    with pytest.raises(genericjob.JobFailed, match="worker-0 failed first: exit code 1") as caught:
        job.wait(PATIENCE)
    tail = caught.value.log_tail.splitlines()
    assert len(tail) == 20
    assert tail[0].startswith("line ")
    assert tail[-1] == "ValueError: this is the cause"
    assert caught.value.failure is not None
    assert caught.value.failure.exit_code == 1
    job.delete()


def test_logs_are_followed_through_a_restart(client: genericjob.Client, image: str) -> None:
    def train() -> None:
        import os
        import sys

        print("attempt", os.environ["ATTEMPT"])  # noqa: T201
        sys.exit(os.environ["ATTEMPT"] == "0")

    job = client.submit(train, image=image, kind="GenericJob", backoff_limit=1, env={"ATTEMPT": "$(attempt)"})
    out = io.StringIO()
    job.logs(follow=True, file=out)
    assert out.getvalue().splitlines() == ["[worker-0] attempt 0", "[worker-0] attempt 1"]
    assert job.wait(PATIENCE).restarts == 1
    assert "attempt 1" in logs(job, "worker")
    job.delete()


def test_a_log_that_breaks_goes_on_where_it_broke(client: genericjob.Client, image: str) -> None:
    def count() -> None:
        import time

        for i in range(20):
            print(i)  # noqa: T201
            time.sleep(0.2)

    job = client.submit(count, image=image, kind="GenericJob", workers=2)
    faults = Faults(client._api)
    faults.logs, faults.next = 4, ["gone", "cut", "hangs up"]
    out = io.StringIO()
    genericjob.Job(faults.api(client.namespace), job.manifest()).logs(follow=True, file=out)
    faults.close()
    assert faults.logs == 0
    for rank in (0, 1):
        lines = [line for line in out.getvalue().splitlines() if line.startswith(f"[worker-{rank}] ")]
        assert lines == [f"[worker-{rank}] {i}" for i in range(20)]
    job.delete()


def test_pods_that_outlive_the_job_are_left(client: genericjob.Client, image: str) -> None:
    manifest = genericjob.manifest(
        image=image, kind="GenericJob", workers=2, command=["sh", "-c"], args=["echo $(rank); [ $(rank) = 0 ] || exec sleep 3600"]
    )
    manifest["spec"]["successRules"] = [{"worker": [0]}]
    job = client.create(manifest)
    out = io.StringIO()
    reader = threading.Thread(target=job.logs, kwargs={"follow": True, "file": out}, daemon=True)
    reader.start()
    reader.join(PATIENCE)
    assert not reader.is_alive()
    assert "[worker-0] 0\n" in out.getvalue()
    assert "[worker-1] still runs, though the job is over\n" in out.getvalue()
    job.delete()
