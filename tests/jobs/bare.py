"""A plain loop."""

from padded import SGD, Data, Model
from torch.utils.data import DataLoader

model = Model()
optimizer = SGD(model.parameters(), lr=0.01)
for inputs, labels in DataLoader(Data(24), batch_size=2):
    loss = (model(inputs) - labels).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
