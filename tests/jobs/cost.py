"""Measure what the probe costs, in this process; prints JSON. Arguments: package folder, repetitions."""

import json
import sys
import time

sys.path.append(sys.argv[1])
import torch
from inprocess import api, cost, layout

repetitions = int(sys.argv[2])
clock = time.thread_time_ns  # of this thread alone: others may have the processor meanwhile
torch.set_num_threads(1)


def best(function, times):
    """Nanoseconds of one call: the best of several runs, as whatever disturbs a run only adds to it."""
    found = []
    for _ in range(repetitions):
        began = clock()
        for _ in range(times):
            function()
        found.append((clock() - began) / times)
    return min(found)


class Nothing(torch.nn.Module):
    """What the probe puts itself around is made to take no time, so that its own remains."""

    def __init__(self):
        super().__init__()
        self.parameter = torch.nn.Parameter(torch.zeros(1))

    def forward(self, value):
        return value


class Pass(torch.optim.Optimizer):
    def __init__(self, parameters):
        super().__init__(parameters, {})

    def step(self, closure=None):
        return None


module = Nothing()
optimizer = Pass(module.parameters())
torch.utils.data.dataloader._BaseDataLoaderIter.__next__ = lambda iterator: None
torch.autograd.backward = lambda: None
iterator = iter(torch.utils.data.DataLoader([0] * 8, batch_size=2))


def step():
    next(iterator)
    module(None)
    torch.autograd.backward()
    optimizer.step()


def passes():  # a backward alone, again and again, would be taken for a sign of a model that is not seen
    module(None)
    torch.autograd.backward()


parts = {
    "draw": lambda: next(iterator),
    "forward": lambda: module(None),
    "forward and backward": passes,
    "optimizer": lambda: optimizer.step(),
    "step": step,
}


def measure():
    return {name: best(part, 50) for name, part in parts.items()}


without = measure()
attached = api.attach()
assert attached, attached.reason
probe = api.active()
step()
step()
with_probe = measure()

track = probe.track()
code = layout.CODES["forward"]
words = memoryview(bytearray(64)).cast("Q")
enter, leave = track.enter, track.leave


def pairs():
    for _ in range(100):
        leave(enter(code))


def stores():
    for _ in range(200):
        words[3] = time.perf_counter_ns() << 8 | code


def nothing():
    for _ in range(100):
        pass


empty = best(nothing, 5)
print(
    json.dumps(
        {
            "edge_ns": (best(pairs, 5) - empty) / 200,
            "store_ns": (best(stores, 5) - 2 * empty) / 200,
            "without": without,
            "with": with_probe,
            "reckoned_edges": {
                name: each.edges + cost.CALL_EDGES for name, each in probe.instruments.items()
            },
            "hooks": {name: each.state for name, each in probe.instruments.items()},
        }
    )
)
