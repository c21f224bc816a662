"""Small training jobs, each bound by one thing: ``gpu_jobs.py NAME --seconds N --ready FILE [--gate FILE]``.

Run by a Python with torch. With ``--device cpu`` the same code runs where there is no GPU, to be tried.
"""

import argparse
import threading
import time
from pathlib import Path

import torch

WIDTH = 4096
FREE_SHARE = 0.02
"""Of the GPU's memory that is left free near out of memory."""


class Samples(torch.utils.data.Dataset):
    """Made when asked for, and so slowly."""

    def __init__(self, shape, seconds=0.0):
        self.shape = shape
        self.seconds = seconds

    def __len__(self):
        return 1 << 30

    def __getitem__(self, index):
        if self.seconds:
            time.sleep(self.seconds)
        return torch.ones(self.shape)


class Job:
    """A model, its optimizer and the end of its time."""

    def __init__(self, options):
        self.options = options
        self.device = torch.device(options.device)
        self.gpu = options.device == "cuda"
        self.ends = time.monotonic() + options.seconds
        self.steps = 0

    def model(self, width, layers):
        network = torch.nn.Sequential(*(torch.nn.Linear(width, width) for _ in range(layers)))
        self.network = network.to(self.device)
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=1e-6)

    def batches(self, size, shape, *, seconds=0.0, workers=0, pinned=True):
        loader = torch.utils.data.DataLoader(
            Samples(shape, seconds),
            batch_size=size,
            num_workers=workers,
            pin_memory=pinned and self.gpu,
        )
        for batch in loader:
            yield batch.to(self.device, non_blocking=pinned)
            if time.monotonic() > self.ends:
                return

    def step(self, batch, repeats=1):
        output = batch
        for _ in range(repeats):
            output = self.network(output)
        output.square().mean().backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.steps += 1
        if self.steps == 5:
            self.synchronize()
            Path(self.options.ready).touch()

    def synchronize(self):
        if self.gpu:
            torch.cuda.synchronize()


def healthy(job):
    """The GPU computes all the time: what it needs is there before."""
    job.model(WIDTH if job.gpu else 256, 8)
    for batch in job.batches(512 if job.gpu else 32, (job.network[0].in_features,), workers=2):
        job.step(batch, repeats=8 if job.gpu else 1)


def input_bound(job):
    """Each batch takes five times as long to make as to compute."""
    job.model(1024 if job.gpu else 64, 4)
    for batch in job.batches(16, (job.network[0].in_features,), seconds=0.004):
        job.step(batch)


def launch_bound(job):
    """Many kernels on a few numbers: Python takes longer to launch each than the GPU to run it."""
    job.model(16, 400)
    batch = torch.ones(4, 16, device=job.device)
    while time.monotonic() < job.ends:
        job.step(batch)


def h2d_bound(job):
    """More bytes are copied to the GPU, out of memory that is not pinned, than computed with."""
    job.model(64, 2)
    rows = (256 << 20) // (64 * 4) if job.gpu else 4096
    host = torch.ones(rows, 64)
    while time.monotonic() < job.ends:
        job.step(host.to(job.device)[:1024])


def near_out_of_memory(job):
    """Tensors in use leave next to nothing of the GPU's memory."""
    job.model(WIDTH if job.gpu else 256, 4)
    batch = torch.ones(512, job.network[0].in_features, device=job.device)
    job.step(batch)
    held = []
    if job.gpu:
        free, whole = torch.cuda.mem_get_info()
        held.append(
            torch.empty(int(free - FREE_SHARE * whole), dtype=torch.uint8, device=job.device)
        )
    while time.monotonic() < job.ends:
        job.step(batch)


def hung_in_a_kernel(job):
    """After some steps one kernel spins and never ends, and the host waits for it."""
    job.model(1024 if job.gpu else 64, 4)
    batch = torch.ones(64, job.network[0].in_features, device=job.device)
    while job.steps < 200:
        job.step(batch)
    if not job.gpu:
        threading.Event().wait(max(job.ends - time.monotonic(), 0))
        return
    while time.monotonic() < job.ends:
        torch.cuda._sleep(1 << 40)  # some ten minutes
        torch.cuda.synchronize()


JOBS = {
    "healthy": healthy,
    "input-bound": input_bound,
    "launch-bound": launch_bound,
    "h2d-bound": h2d_bound,
    "near-out-of-memory": near_out_of_memory,
    "hung-in-a-kernel": hung_in_a_kernel,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=JOBS)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--ready", required=True, help="a file, made when steps are made")
    parser.add_argument("--gate", help="a file, waited for before the GPU is touched")
    options = parser.parse_args()
    torch.set_num_threads(1)
    while options.gate and not Path(options.gate).exists():
        time.sleep(0.05)
    job = Job(options)
    JOBS[options.name](job)
    print(f"{job.steps} steps", flush=True)


if __name__ == "__main__":
    main()
