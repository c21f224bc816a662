"""Bare PyTorch: a model, a loader, an optimizer."""

import torch
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(512, 16), torch.randn(512, 1))
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
optimizer = torch.optim.AdamW(model.parameters())
for inputs, targets in DataLoader(data, batch_size=32):
    loss = torch.nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(f"loss {loss.item():.2f}")
