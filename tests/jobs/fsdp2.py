"""FSDP2 over gloo."""

import torch.distributed as dist
from padded import SGD, Data, Model
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("gloo")
dataset = Data(24)
model = Model()
mesh = dist.init_device_mesh("cpu", (dist.get_world_size(),))
for layer in (model.first, model.last, model):
    fully_shard(layer, mesh=mesh)
optimizer = SGD(model.parameters(), lr=0.01)
for inputs, labels in DataLoader(dataset, batch_size=1, sampler=DistributedSampler(dataset)):
    loss = (model(inputs) - labels).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
dist.barrier()
dist.destroy_process_group()
