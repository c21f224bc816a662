"""Measure what the probe costs, in this process; prints JSON. Arguments: package folder, repetitions."""

import json
import sys
import time

sys.path.append(sys.argv[1])
import torch
from inprocess import api, layout, timing

repetitions = int(sys.argv[2])
clock = time.thread_time_ns  # of this thread alone: others may have the processor meanwhile
torch.set_num_threads(1)


def best(parts, times):
    """Nanoseconds of one call of each: the best of several runs, as what disturbs a run only adds to it.

    They take turns, so that a time at which the processor is slow is no single one's.
    """
    found = dict.fromkeys(parts, float("inf"))
    for _ in range(repetitions):
        for name, function in parts.items():
            began = clock()
            for _ in range(times):
                function()
            found[name] = min(found[name], (clock() - began) / times)
    return found


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


without = best(parts, 50)
attached = api.attach()
assert attached, attached.reason
probe = api.active()
step()
step()
with_probe = best(parts, 50)

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


def told():
    """What the probe would tell of a step: the median call of each instrument, around real calls."""
    reading = timing.reading_nanoseconds()
    batches = {}
    for name, each in probe.instruments.items():
        each.timing = batches[name] = timing.Timing(each, reading)
    for _ in range(timing.CALLS):
        step()
    return {
        name: sorted(each.spent)[len(each.spent) // 2]
        for name, each in batches.items()
        if each.spent
    }


loops = best({"pairs": pairs, "stores": stores, "nothing": nothing}, 5)
print(
    json.dumps(
        {
            "edge_ns": (loops["pairs"] - loops["nothing"]) / 200,
            "store_ns": (loops["stores"] - 2 * loops["nothing"]) / 200,
            "without": without,
            "with": with_probe,
            "told": told(),
            "hooks": {name: each.state for name, each in probe.instruments.items()},
        }
    )
)
