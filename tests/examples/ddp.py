"""DDP: `gputop run -- torchrun --nproc-per-node 2 ddp.py`."""

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

torch.distributed.init_process_group("gloo")
data = TensorDataset(torch.randn(512, 16), torch.randn(512, 1))
model = DistributedDataParallel(torch.nn.Linear(16, 1))
optimizer = torch.optim.AdamW(model.parameters())
for inputs, targets in DataLoader(data, batch_size=32, sampler=DistributedSampler(data)):
    loss = torch.nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
del model  # before its group: DDP that is the last to hold one deadlocks at times (torch 2.13)
torch.distributed.destroy_process_group()
