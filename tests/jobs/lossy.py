"""200 steps with everything that draws random numbers; prints the losses as they are, bit by bit."""

import hashlib
import struct
import sys

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
torch.set_num_threads(1)
data = TensorDataset(torch.randn(800, 16), torch.randn(800, 1))
model = torch.nn.Sequential(
    torch.nn.Linear(16, 64), torch.nn.Dropout(0.2), torch.nn.ReLU(), torch.nn.Linear(64, 1)
)
optimizer = torch.optim.AdamW(model.parameters())
losses = []
for _ in range(2):
    for inputs, targets in DataLoader(data, batch_size=8, shuffle=True):
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
print(len(losses), hashlib.sha256(struct.pack(f"{len(losses)}d", *losses)).hexdigest())
print("to the error stream", file=sys.stderr)
sys.exit(7)
