"""Workers of a loader that end of themselves; the loop makes new ones and goes on."""

import os
import time

import torch
from torch.utils.data import DataLoader

DEATHS = 3
BAD = 5


class Deadly(torch.utils.data.Dataset):
    def __init__(self):
        self.kills = True

    def __len__(self):
        return 16

    def __getitem__(self, index):
        if self.kills and index == BAD:
            os._exit(3)
        return torch.ones(4)


class Broken(torch.utils.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        raise ConnectionResetError("the bucket is gone")


model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = Deadly()
deaths = 0
while deaths < DEATHS:
    try:
        for inputs in DataLoader(data, batch_size=1, num_workers=2):
            model(inputs).sum().backward()
            optimizer.step()
    except (RuntimeError, ConnectionError, EOFError):
        deaths += 1
try:
    for _ in DataLoader(Broken(), batch_size=1, num_workers=2):
        pass
except ConnectionError:  # of the data set's own: all workers live
    pass
data.kills = False
try:
    raise RuntimeError("DataLoader worker of somebody else")  # caught before: no draw has raised it
except RuntimeError:
    for inputs in DataLoader(data, batch_size=1, num_workers=2):
        model(inputs).sum().backward()
        optimizer.step()
        time.sleep(0.05)
print("done", flush=True)
time.sleep(60)
