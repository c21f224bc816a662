"""Collectives inside compiled functions; prints what came of them."""

import torch
import torch.distributed as dist
from torch._dynamo.utils import counters

dist.init_process_group("gloo")


@torch.compile(backend="eager", fullgraph=True)
def total(value):
    dist.all_reduce(value)
    return value * 2


print(total(torch.ones(3)).tolist(), sum(counters["graph_break"].values()))
dist.destroy_process_group()
