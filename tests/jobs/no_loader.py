"""No DataLoader: the batches are there already."""

import torch
from padded import SGD, Model, pause

model = Model()
optimizer = SGD(model.parameters(), lr=0.01)
for _ in range(10):
    pause("other", 0.01)
    loss = model(torch.ones(2, 8)).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
