"""Parts of a training job that take a known time, and a record of when they took it.

Written as JSON at the end of the process: [moment, phase, nanoseconds], on the clock of the state page.
"""

import atexit
import json
import os
import time

import torch

_pauses = []


def pause(phase, seconds):
    """Take that time, in that phase."""
    began = time.perf_counter_ns()
    time.sleep(seconds)
    _pauses.append((began, phase, time.perf_counter_ns() - began))


def _write():
    folder = os.environ.get("PADDED_OUT")
    if folder:
        rank = os.environ.get("RANK", "0")
        with open(f"{folder}/{rank}.json", "w") as file:
            json.dump(_pauses, file)


atexit.register(_write)


class Data(torch.utils.data.Dataset):
    """Each item takes 5 ms."""

    def __init__(self, length, phase="data", seconds=0.005, named=False):
        self.length, self.phase, self.seconds, self.named = length, phase, seconds, named

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        if index >= self.length:
            raise IndexError(index)
        pause(self.phase, self.seconds)
        inputs = torch.full((8,), index / self.length)
        labels = torch.ones(1)
        return {"inputs": inputs, "labels": labels} if self.named else (inputs, labels)


class _SlowBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value, seconds):
        ctx.seconds = seconds
        return value.clone()

    @staticmethod
    def backward(ctx, gradient):
        pause("backward", ctx.seconds)
        return gradient, None


class Model(torch.nn.Module):
    """A forward takes 25 ms, a backward 40 ms."""

    def __init__(self, forward=0.025, backward=0.04):
        super().__init__()
        self.first = torch.nn.Linear(8, 8)
        self.last = torch.nn.Linear(8, 1)
        self.seconds = forward, backward

    def forward(self, inputs):
        training = self.training and torch.is_grad_enabled()
        pause("forward" if training else "eval", self.seconds[0])
        value = self.last(torch.relu(self.first(inputs)))
        return _SlowBackward.apply(value, self.seconds[1]) if training else value


class SGD(torch.optim.SGD):
    """A step takes 20 ms."""

    def step(self, closure=None):
        loss = super().step(closure)
        pause("optimizer", 0.02)
        return loss
