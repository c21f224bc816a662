"""Steps of some 10 ms without the probe and with it, in one process; prints JSON.

``short_steps.py PACKAGE --seconds N [--device cpu]``, run by a Python with torch.
"""

import argparse
import json
import sys
import time

import torch

STEP_SECONDS = 0.010
WARM_STEPS = 30


class Loop:
    """A training loop whose step takes as long as it shall, most of it on the GPU."""

    def __init__(self, device):
        self.gpu = device == "cuda"
        width = 512 if self.gpu else 64
        layers = (torch.nn.Linear(width, width) for _ in range(8))
        self.model = torch.nn.Sequential(*layers).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-6)
        self.device = device
        data = torch.utils.data.TensorDataset(torch.randn(64 * 100, width))
        self.loader = torch.utils.data.DataLoader(data, batch_size=64, pin_memory=self.gpu)
        self.batches = iter(())
        self.pad = 0

    def batch(self):
        try:
            return next(self.batches)[0]
        except StopIteration:
            self.batches = iter(self.loader)
            return next(self.batches)[0]

    def step(self):
        began = time.perf_counter()
        loss = self.model(self.batch().to(self.device, non_blocking=True)).square().mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        if self.gpu:
            if self.pad:
                torch.cuda._sleep(self.pad)
            torch.cuda.synchronize()
        elif self.pad:
            time.sleep(self.pad)
        return time.perf_counter() - began

    def fill(self):
        """Pad the step to its length: by a kernel that spins, or by sleeping."""
        for _ in range(WARM_STEPS):
            self.step()
        bare = median([self.step() for _ in range(WARM_STEPS)])
        left = max(STEP_SECONDS - bare, 0.0)
        if self.gpu:
            began = time.perf_counter()
            torch.cuda._sleep(20_000_000)
            torch.cuda.synchronize()
            self.pad = int(left * 20_000_000 / (time.perf_counter() - began))
        else:
            self.pad = left


def median(values):
    return sorted(values)[len(values) // 2]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("package", help="the folder that has inprocess in it")
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    options = parser.parse_args()
    sys.path.append(options.package)
    from inprocess import api

    torch.set_num_threads(1)
    loop = Loop(options.device)
    loop.fill()
    count = max(int(options.seconds / 2 / STEP_SECONDS), WARM_STEPS)
    without = [loop.step() for _ in range(count)]
    attached = api.attach()
    for _ in range(WARM_STEPS):
        loop.step()
    watched = [loop.step() for _ in range(count)]
    probe = api.active()
    print(
        json.dumps(
            {
                "attached": bool(attached),
                "reason": attached.reason,
                "steps": count,
                "without_seconds": sorted(without),
                "with_seconds": sorted(watched),
                "hooks": {name: each.state for name, each in probe.instruments.items()}
                if attached
                else {},
            }
        )
    )


if __name__ == "__main__":
    main()
