"""A loop that goes on, with time in each phase: input, forward, backward and the optimizer."""

import time

import torch
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)


class Data(Dataset):
    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        time.sleep(0.006)
        return torch.randn(512)


layers = [torch.nn.Linear(512, 512) for _ in range(12)]
model = torch.nn.Sequential(*layers)
optimizer = torch.optim.Adam(model.parameters())
for batch in DataLoader(Data(), batch_size=8):
    loss = model(batch.repeat(64, 1)).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
