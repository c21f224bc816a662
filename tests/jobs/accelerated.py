"""Accelerate: accumulation over two batches."""

from accelerate import Accelerator
from padded import SGD, Data, Model
from torch.utils.data import DataLoader

accelerator = Accelerator(gradient_accumulation_steps=2, cpu=True)
model = Model()
model, optimizer, loader = accelerator.prepare(
    model, SGD(model.parameters(), lr=0.01), DataLoader(Data(20), batch_size=1)
)
for inputs, labels in loader:
    with accelerator.accumulate(model):
        loss = (model(inputs) - labels).pow(2).mean()
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
