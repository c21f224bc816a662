"""What can happen to the workers of a DataLoader."""

import ctypes
import os
import signal
import threading
import time

import torch
from common import burn
from torch.utils.data import DataLoader, Dataset

PR_SET_PDEATHSIG = 1


class Data(Dataset):
    """Items that come fast, up to one at which the worker of the odd rank does something else."""

    def __init__(self, job, turns_odd):
        self.job, self.turns_odd = job, turns_odd

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        if index == 0:
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if self.turns_odd and self.job.odd and self.job.due():
            self.turns_odd(self.job)
        return torch.randn(128)


def _train(job, turns_odd):
    for number, _ in enumerate(DataLoader(Data(job, turns_odd), batch_size=1, num_workers=1)):
        if number == 20:
            job.soon()
        job.step()


def _deadlocked(job):
    mutex = threading.Lock()
    mutex.acquire()
    job.ready()
    mutex.acquire()


def _blocked(job):
    path = job.folder / "fifo"
    os.mkfifo(path)
    job.ready()
    with open(path, "rb") as file:
        file.read(1)


def _stopped(job):
    job.ready()
    os.kill(os.getpid(), signal.SIGSTOP)


def _slow(job):
    job.ready()
    burn(0.6)


def deadlocked(job):
    _train(job, _deadlocked)


def blocked(job):
    _train(job, _blocked)


def stopped(job):
    _train(job, _stopped)


def slow(job):
    """Each item takes the only worker seven times as long as the training of it."""
    _train(job, _slow)


def pauses(job):
    """Healthy: workers that persist wait between epochs, while the trainer does something else."""
    loader = DataLoader(Data(job, None), batch_size=1, num_workers=2, persistent_workers=True)
    job.ready()
    while True:
        for number, _ in enumerate(loader):
            job.step()
            if number == 60:
                break
        time.sleep(6)
