"""The probe is attached when the training runs already, and its page is kept. Run without the probe."""

import os

from padded import SGD, Data, Model
from torch.utils.data import DataLoader

model = Model()
optimizer = SGD(model.parameters(), lr=0.01)
for number, (inputs, labels) in enumerate(DataLoader(Data(18), batch_size=1)):
    if number == 6:
        from inprocess import api

        attached = api.attach()
        assert attached, attached.reason
    loss = (model(inputs) - labels).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
with open(os.environ["PADDED_OUT"] + "/0.page", "wb") as file:
    file.write(api.active().page.view)
