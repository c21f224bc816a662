"""A checkpoint that is written by a thread in the background, while the training goes on."""

import tempfile

import torch.distributed.checkpoint
from padded import SGD, Data, Model
from torch.utils.data import DataLoader

model = Model()
optimizer = SGD(model.parameters(), lr=0.01)
with tempfile.TemporaryDirectory() as folder:
    saved = None
    for number, (inputs, labels) in enumerate(DataLoader(Data(10), batch_size=1)):
        (model(inputs) - labels).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if number == 4:
            saved = torch.distributed.checkpoint.async_save(
                {"model": model.state_dict()}, checkpoint_id=folder
            )
    saved.result()
