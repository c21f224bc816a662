"""Train on the GPU with the probe's instruments in, and print what the page says, as JSON."""

import json
import os
import sys
import time

sys.path.append(sys.argv[1])
import torch
from inprocess import api

api.attach()
probe = api.active()
model = torch.nn.Sequential(*(torch.nn.Linear(2048, 2048) for _ in range(8))).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
data = torch.utils.data.TensorDataset(torch.randn(64 * 60, 2048))
found = []
probe.at_step_end.append(lambda step: found.append(step.number))
for (inputs,) in torch.utils.data.DataLoader(data, batch_size=64, pin_memory=True):
    model(inputs.cuda(non_blocking=True)).pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    time.sleep(0.006)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
static = torch.randn(64, 2048, device="cuda")
with torch.cuda.graph(graph):  # an event recorded in here would be an error or a part of the graph
    model(static)
graph.replay()
time.sleep(2.5)

from inprocess import layout

steps = []
for index in range(min(len(found), layout.STEPS)):
    at = layout.STEPS_AT + index * layout.STEP_SIZE
    record = layout.unrecord(bytes(probe.page.view[at : at + layout.STEP_SIZE]))
    step = layout.unpack_step(record[1])
    steps.append(
        {
            "run_ahead": step.run_ahead,
            "duration": step.duration,
            "gpu": {layout.PHASES[code]: gpu for code, _, gpu in step.phases},
        }
    )
clock = torch.cuda.Event(enable_timing=True)
began = time.perf_counter_ns()
for _ in range(1000):
    clock.record()
record_ns = (time.perf_counter_ns() - began) / 1000
print(
    json.dumps(
        {
            "hooks": {name: each.state for name, each in probe.instruments.items()},
            "steps": steps,
            "record_ns": record_ns,
        }
    )
)
sys.stdout.flush()
os._exit(0)
