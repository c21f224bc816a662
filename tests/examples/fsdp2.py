"""FSDP2: `gputop run -- torchrun --nproc-per-node 2 fsdp2.py`."""

import torch
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

torch.distributed.init_process_group("gloo")
mesh = torch.distributed.init_device_mesh("cpu", (torch.distributed.get_world_size(),))
data = TensorDataset(torch.randn(512, 16), torch.randn(512, 1))
model = fully_shard(torch.nn.Linear(16, 1), mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters())
for inputs, targets in DataLoader(data, batch_size=32, sampler=DistributedSampler(data)):
    loss = torch.nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
torch.distributed.destroy_process_group()
