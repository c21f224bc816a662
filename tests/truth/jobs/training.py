"""Healthy training whose steps come in an awkward way."""

import os
import random
import sys
import threading
import time

from common import burn


def plain(job):
    job.steps()
    job.ready()
    job.train()


def accumulates(job):
    """Two dozen micro batches for one step of the optimizer."""
    job.steps(2)
    job.ready()
    while True:
        for _ in range(24):
            job.micro()
        job.update()


def varies(job):
    """Log-normal times: one step in a hundred takes ten times as long as the median."""
    draw = random.Random(job.rank)
    job.ready()
    while True:
        job.step(min(0.1 * draw.lognormvariate(0, 1), 3.0))


def pauses(job):
    """Between epochs something else is done, for eight seconds."""
    job.ready()
    while True:
        job.steps(50)
        time.sleep(8)


def ends(job):
    """Comes to its normal end while it is watched."""
    job.steps(10)
    job.ready()
    job.steps(120)


def holds_gil(job):
    """A thread of the user's computes in Python all the time."""

    def augment():
        while True:
            burn(1.0)

    threading.Thread(target=augment, daemon=True).start()
    job.steps(10)
    job.ready()
    job.train()


def restarts(job):
    """A rank fails at first; torchrun starts all anew, and they train."""
    import torch.distributed as dist

    attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
    first = attempt == "0"
    # In the agent's store gloo finds the addresses of the ranks before, under torch 2.13.
    store = dist.FileStore(str(job.folder / f"store-{attempt}"), job.world)
    dist.init_process_group("gloo", store=store, rank=job.rank, world_size=job.world)
    job.steps(20)
    if first:
        if job.odd:
            sys.exit(3)
    else:
        job.ready()
    job.train()


def takes_turns(job):
    """Rank 0 generates with its engine while rank 1, the trainer, waits for it; then the other way."""
    import torch
    import torch.distributed as dist

    job.meet()
    model = torch.nn.Linear(128, 128)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    message = torch.zeros(128)
    if job.odd:
        job.ready()
    while True:
        if job.rank == 0:
            for _ in range(60):
                model(torch.randn(8, 128)).sum().item()
                time.sleep(0.1)
        dist.broadcast(message, src=0)
        if job.rank == 1:
            for _ in range(60):
                model(torch.randn(8, 128)).square().mean().backward()
                time.sleep(0.1)
                optimizer.step()
        dist.broadcast(message, src=1)
