"""DeepSpeed with ZeRO 1 on the CPU: accumulation over two batches."""

import os

os.environ["DS_ACCELERATOR"] = "cpu"
import deepspeed
from padded import SGD, Data, Model
from torch.utils.data import DataLoader

model = Model()
engine, *_ = deepspeed.initialize(
    model=model,
    optimizer=SGD(model.parameters(), lr=0.01),
    config={
        "train_micro_batch_size_per_gpu": 1,
        "gradient_accumulation_steps": 2,
        "zero_optimization": {"stage": 1},
        "zero_allow_untested_optimizer": True,
    },
    dist_init_required=True,
)
for inputs, labels in DataLoader(Data(20), batch_size=1):
    loss = (engine(inputs) - labels).pow(2).mean()
    engine.backward(loss)
    engine.step()
