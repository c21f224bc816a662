"""The worker of a loader takes a lock that it has already, at the 13th item."""

import ctypes
import signal
import threading

import torch
from torch.utils.data import DataLoader

GOOD = 12
PR_SET_PDEATHSIG = 1


class Stuck(torch.utils.data.Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, index):
        if index == GOOD:
            # It hears of nothing any more, and must not outlive the test.
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            lock = threading.Lock()
            lock.acquire()
            lock.acquire()
        return torch.ones(4)


model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs in DataLoader(Stuck(), batch_size=1, num_workers=1):
    model(inputs).sum().backward()
    optimizer.step()
