"""Small training scripts, and the Python that has torch to run them with."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

TORCH_PYTHON = os.environ.get("GPUTOP_TORCH_PYTHON", "")
needs_torch = pytest.mark.skipif(
    not TORCH_PYTHON, reason="GPUTOP_TORCH_PYTHON names no Python with torch"
)

TRAIN = """
import json, os, sys, time

def report(dist=None):
    import multiprocessing
    api = sys.modules.get("gputop.probes.inprocess.api")
    probe = api.active() if api else None
    line = json.dumps({
        "rank": os.environ.get("RANK"),
        "pid": os.getpid(),
        "probe": probe is not None,
        "page": probe and probe.page.path,
        "on": sorted(n for n, i in probe.instruments.items() if i.state == "on") if probe else [],
        "argv": sys.argv[1:],
        "shim_on_path": any("shim" in each for each in sys.path),
    })
    sys.stdout.flush()
    os.write(1, (line + "\n").encode())  # In one piece: ranks share the pipe.

def main():
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    distributed = int(os.environ.get("WORLD_SIZE", "1")) > 1
    if distributed:
        torch.distributed.init_process_group("gloo")
    model = torch.nn.Linear(4, 4)
    if distributed:
        model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    workers = int(os.environ.get("WORKERS", "0"))
    data = DataLoader(
        TensorDataset(torch.randn(32, 4)),
        batch_size=4,
        num_workers=workers,
        multiprocessing_context=os.environ.get("CONTEXT") if workers else None,
        worker_init_fn=worker if workers else None,
    )
    import gputop
    end = time.monotonic() + float(os.environ.get("SECONDS_TO_TRAIN", "0"))
    while True:
        for (batch,) in data:
            optimizer.zero_grad()
            model(batch).square().mean().backward()
            optimizer.step()
            gputop.step(samples=4)
        if time.monotonic() > end:
            break
    report()
    if distributed:
        torch.distributed.destroy_process_group()

def worker(_number):
    import torch
    torch.optim.SGD([torch.zeros(1)], lr=0.1)  # as a dataset with a model of its own might
    report()

if __name__ == "__main__":
    main()
"""


@contextlib.contextmanager
def job_folder() -> Iterator[tuple[Path, dict[str, str]]]:
    """A folder with ``train.py`` on a tmpfs, and an environment whose pages go there."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        folder = Path(name)
        (folder / "train.py").write_text(TRAIN)
        hidden = ("PYTHONPATH", "RANK", "WORLD_SIZE", "LOCAL_RANK")
        environment = {key: value for key, value in os.environ.items() if key not in hidden}
        yield folder, {**environment, "XDG_RUNTIME_DIR": name, "OMP_NUM_THREADS": "1"}


def command(name: str) -> str:
    """A program that lies beside the Python with torch, such as ``torchrun``."""
    path = Path(TORCH_PYTHON).with_name(name)
    if not path.exists():
        pytest.skip(f"{name} is not installed beside GPUTOP_TORCH_PYTHON")
    return str(path)


def output_of(
    words: list[str], folder: Path, environment: Mapping[str, str], timeout: float = 300
) -> subprocess.CompletedProcess[str]:
    """Run to the end, in that folder."""
    return subprocess.run(
        words,
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
