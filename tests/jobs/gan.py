"""Two models that train each other, with an optimizer each."""

import torch
from padded import SGD, Data, Model
from torch.utils.data import DataLoader

judge = Model()
dreamer = torch.nn.Sequential(torch.nn.Linear(8, 8), Model(0.01, 0.01), torch.nn.Linear(1, 8))
judging = SGD(judge.parameters(), lr=0.01)
dreaming = SGD(dreamer.parameters(), lr=0.01)
for real, labels in DataLoader(Data(10), batch_size=1):
    judging.zero_grad()
    fake = dreamer(torch.randn(1, 8))
    (judge(real) - judge(fake.detach()) + labels).mean().backward()
    judging.step()
    dreaming.zero_grad()
    judge(fake).mean().backward()
    dreaming.step()
