"""Errors in each place where the probe has put itself; the job catches them and goes on."""

import torch
from torch.utils.data import DataLoader


class Bad(torch.utils.data.Dataset):
    def __len__(self):
        return 3

    def __getitem__(self, index):
        if index == 1:
            raise KeyError("data")
        return torch.ones(4)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
        self.bad = False

    def forward(self, inputs):
        if self.bad:
            raise ValueError("forward")
        return self.layer(inputs)


class SGD(torch.optim.SGD):
    bad = False

    def step(self, closure=None):
        if self.bad:
            raise ArithmeticError("optimizer")
        return super().step(closure)


model = Model()
optimizer = SGD(model.parameters(), lr=0.1)


def good():
    model(torch.ones(1, 4)).sum().backward()
    optimizer.step()


def fails(function):
    try:
        function()
    except Exception as error:
        print(type(error).__name__, error)


def loss_twice():
    loss = model(torch.ones(1, 4)).sum()
    loss.backward()
    loss.backward()


good()
good()
fails(lambda: list(DataLoader(Bad(), batch_size=1)))
model.bad = True
fails(lambda: model(torch.ones(1, 4)))
model.bad = False
fails(loss_twice)
optimizer.bad = True
fails(optimizer.step)
fails(optimizer.step)
optimizer.bad = False
good()
good()
fails(lambda: torch.save(lambda: 0, "/nowhere/at/all"))
for batch in DataLoader([torch.ones(4)] * 2, batch_size=1):
    model(batch).sum().backward()
    optimizer.step()
