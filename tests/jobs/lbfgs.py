"""An optimizer that calls forward and backward itself, three times a step."""

import torch
from padded import Data, Model
from torch.utils.data import DataLoader

model = Model()
optimizer = torch.optim.LBFGS(
    model.parameters(), lr=0.01, max_iter=3, max_eval=3, tolerance_grad=0, tolerance_change=0
)
for inputs, labels in DataLoader(Data(8), batch_size=1):

    def closure():
        optimizer.zero_grad()
        loss = (model(inputs) - labels).pow(2).mean()  # noqa: B023
        loss.backward()
        return loss

    optimizer.step(closure)
