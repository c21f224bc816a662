"""DeepSpeed, ZeRO stage 1, under `deepspeed` or `torchrun`."""

import deepspeed
import torch
from torch.utils.data import TensorDataset

model = torch.nn.Linear(16, 1)
data = TensorDataset(torch.randn(512, 16), torch.randn(512, 1))
config = {"train_micro_batch_size_per_gpu": 32, "zero_optimization": {"stage": 1}}
optimizer = torch.optim.AdamW(model.parameters())
engine, _, loader, _ = deepspeed.initialize(
    model=model, optimizer=optimizer, training_data=data, config=config
)
for inputs, targets in loader:
    engine.backward(torch.nn.functional.mse_loss(engine(inputs), targets))
    engine.step()
