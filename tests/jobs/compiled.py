"""Models, functions and an optimizer that are compiled; prints how many graphs and breaks there were."""

import sys

import torch
from torch._dynamo.utils import counters

graphs = []


def counting(module, _inputs):
    graphs.append(module)
    return module.forward


def train(model, call, steps=6):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for number in range(steps):
        loss = call(torch.ones(2 + number // 4, 8)).pow(2).mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


def model():
    return torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))


def report(name):
    breaks = sum(counters["graph_break"].values())
    print(name, len(graphs), breaks, dict(counters["stats"]).get("unique_graphs"))
    graphs.clear()
    torch._dynamo.reset()
    counters.clear()


first = model()
train(first, torch.compile(first, backend=counting, fullgraph=True))
report("wrapper, fullgraph")

second = model()
second.compile(backend=counting)
train(second, second)
report("in place")

third = model()
train(third, third)  # known to the probe before it is compiled
train(third, torch.compile(third, backend=counting, fullgraph=True))
report("known before")

fourth = model()
function = torch.compile(lambda inputs: fourth(inputs) * 2, backend=counting, fullgraph=True)
train(fourth, function, steps=12)
report("within a function")

fifth = model()
optimizer = torch.optim.SGD(fifth.parameters(), lr=0.01)
clip = torch.nn.utils.clip_grad_norm_


@torch.compile(backend=counting)
def step():
    clip(fifth.parameters(), 1.0)
    optimizer.step()


for _ in range(4):
    fifth(torch.ones(2, 8)).mean().backward()
    step()
report("optimizer")
sys.stdout.flush()
