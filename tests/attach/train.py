"""A training job that knows nothing of gputop, and can be given one fault: run it with torchrun."""

# It runs in the environment of a job, where torch is.
# mypy: disable-error-code="misc, no-any-return, untyped-decorator"

from __future__ import annotations

import ctypes
import os
import sys
import time
from pathlib import Path
from typing import IO

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

FAULT, FOLDER = sys.argv[1], Path(sys.argv[2])
FAULTY_RANK = int(os.environ.get("FAULTY_RANK", "1"))
FAULT_STEP = 5
RANK = int(os.environ["RANK"])
LOCK = torch.multiprocessing.get_context("fork").Lock()


def faulty(fault: str, step: int) -> bool:
    return fault == FAULT and RANK == FAULTY_RANK and step >= FAULT_STEP


def endless() -> None:
    number = 0
    while True:
        number += 1


class Pictures(Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return 1 << 20

    def __getitem__(self, index: int) -> torch.Tensor:
        step = index // 8
        if faulty("sleeping_data_set", step):
            time.sleep(3600)
        if faulty("blocked_read", step):
            with (FOLDER / "fifo").open("rb") as fifo:
                fifo.read(1)
        if faulty("endless_loop", step):
            endless()
        if faulty("dead_loader", step):
            LOCK.acquire()
            LOCK.acquire()
        return torch.randn(256)


def compute_loss(model: torch.nn.Module, batch: torch.Tensor) -> torch.Tensor:
    return model(batch).square().mean()


def report(loss: torch.Tensor) -> None:
    dist.all_reduce(loss)


def skip_report() -> None:
    dist.barrier()


def save(model: torch.nn.Module) -> None:
    if RANK == FAULTY_RANK:
        with (FOLDER / "model.pt").open("wb") as file:
            torch.save(model.state_dict(), SlowFile(file))
    dist.barrier()


class SlowFile:
    """A file on a slow disk."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file

    def write(self, data: bytes) -> int:
        for _ in range(3000):
            self.file.seek(0)
            self.file.write(os.urandom(1 << 20))
            self.file.flush()
            os.fsync(self.file.fileno())
            time.sleep(0.05)
        return len(data)

    def flush(self) -> None:
        self.file.flush()


def compile_long(model: torch.nn.Module) -> torch.nn.Module:
    def back_end(graph: torch.fx.GraphModule, _: object) -> object:
        ended = time.monotonic() + 3600
        while time.monotonic() < ended:
            graph.recompile()
        return graph.forward

    return torch.compile(model, backend=back_end)


def forbid_inspection() -> None:
    """As a program with secrets does; the kernel then gives its files in /proc to root."""
    set_dumpable = 4
    ctypes.CDLL(None).prctl(set_dumpable, 0, 0, 0, 0)


def main() -> None:
    if os.environ.get("DUMPABLE") == "0":
        forbid_inspection()
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    layers = [torch.nn.Linear(256, 256) for _ in range(4)]
    model: torch.nn.Module = DistributedDataParallel(torch.nn.Sequential(*layers))
    optimizer = torch.optim.Adam(model.parameters())
    workers = 2 if FAULT == "dead_loader" else 0
    loader = DataLoader(Pictures(), batch_size=8, num_workers=workers)
    for step, batch in enumerate(loader):
        if FAULT == "compile" and step == FAULT_STEP:
            compile_long(torch.nn.Linear(256, 256))(batch)
        loss = compute_loss(model, batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if FAULT == "mismatch":
            if faulty("mismatch", step):
                skip_report()
            else:
                report(loss.detach())
        if FAULT == "checkpoint" and step == FAULT_STEP:
            save(model)
        time.sleep(float(os.environ.get("STEP_SECONDS", "0.02")))
        if step == FAULT_STEP - 2 and RANK == 0:
            (FOLDER / "running").touch()


main()
