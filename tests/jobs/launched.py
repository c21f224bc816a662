"""A short job that says what it finds of the probe in each of its processes."""

import json
import os
import sys
import time

RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK")


def report():
    api = sys.modules.get("gputop.probes.inprocess.api")
    probe = api.active() if api else None
    line = json.dumps(
        {
            "rank": next((os.environ[name] for name in RANKS if name in os.environ), None),
            "pid": os.getpid(),
            "probe": probe is not None,
            "page": probe and probe.page.path,
            "on": sorted(n for n, i in probe.instruments.items() if i.state == "on")
            if probe
            else [],
            "argv": sys.argv[1:],
            "shim_on_path": any("shim" in each for each in sys.path),
        }
    )
    sys.stdout.flush()
    os.write(1, (line + "\n").encode())  # in one piece: ranks share the pipe


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
        del model  # before its group: see ddp.py
        torch.distributed.destroy_process_group()


def worker(_number):
    import torch

    torch.optim.SGD([torch.zeros(1)], lr=0.1)  # as a dataset with a model of its own might
    report()


if __name__ == "__main__":
    main()
