"""DeepSpeed with ZeRO, whose optimizer is none of torch's and has others inside; accumulation over two."""

import deepspeed
from padded import SGD, Data, Model

model = Model()
engine, *_ = deepspeed.initialize(
    model=model,
    optimizer=SGD(model.parameters(), lr=0.01),
    config={
        "train_micro_batch_size_per_gpu": 1,
        "gradient_accumulation_steps": 2,
        "zero_optimization": {"stage": 2},
        "zero_allow_untested_optimizer": True,
    },
)
# Without workers, so that what an item takes is what the loop waits.
loader = engine.deepspeed_io(Data(40), num_local_io_workers=0)
for inputs, labels in loader:
    engine.backward((engine(inputs) - labels).pow(2).mean())
    engine.step()
