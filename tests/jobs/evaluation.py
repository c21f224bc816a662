"""An evaluation before the training and after every fifth step, a checkpoint after every sixth."""

import io

import torch
from padded import SGD, Data, Model, pause
from torch.utils.data import DataLoader


class _Slow:
    """Takes 30 ms to be pickled."""

    def __reduce__(self):
        pause("checkpoint", 0.03)
        return int, ()


def save():
    torch.save({"model": model.state_dict(), "slow": _Slow()}, io.BytesIO())


@torch.no_grad()
def evaluate():
    model.eval()
    for inputs, _ in DataLoader(Data(3, "eval"), batch_size=1):
        model(inputs)
    pause("eval", 0.08)
    model.train()


model = Model()
optimizer = SGD(model.parameters(), lr=0.01)
evaluate()
for number, (inputs, labels) in enumerate(DataLoader(Data(15), batch_size=1), 1):
    loss = (model(inputs) - labels).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if number % 5 == 0:
        evaluate()
    if number % 6 == 0:
        save()
