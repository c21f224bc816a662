"""DDP over gloo, with a collective of the job's own in each step."""

import time

import torch
import torch.distributed as dist
from padded import SGD, Data, Model
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("gloo")
dataset = Data(24)
model = DistributedDataParallel(Model())
optimizer = SGD(model.parameters(), lr=0.01)
for inputs, labels in DataLoader(dataset, batch_size=1, sampler=DistributedSampler(dataset)):
    loss = (model(inputs) - labels).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    total = loss.detach()
    dist.all_reduce(total)
work = dist.all_reduce(torch.ones(4), async_op=True)
work.wait()
dist.barrier()
time.sleep(1.5)  # the probe's own thread comes by once more
del model  # before its group: DDP that is the last to hold one deadlocks at times (torch 2.13)
dist.destroy_process_group()
