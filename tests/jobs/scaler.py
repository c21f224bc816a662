"""A gradient scaler that leaves out every third step."""

import torch
from padded import SGD, Data, Model
from torch.utils.data import DataLoader

model = Model()
optimizer = SGD(model.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
for number, (inputs, labels) in enumerate(DataLoader(Data(12), batch_size=1)):
    with torch.autocast("cpu", torch.bfloat16):
        loss = (model(inputs) - labels).pow(2).mean()
    scaler.scale(loss * (float("inf") if number % 3 == 2 else 1.0)).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
