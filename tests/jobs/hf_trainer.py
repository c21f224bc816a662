"""The HF Trainer: accumulation over two batches, an evaluation and checkpoints."""

import tempfile

import torch
from padded import SGD, Data, Model
from transformers import Trainer, TrainingArguments


class Scored(torch.nn.Module):
    """Gives the loss with the values, as the Trainer wants it."""

    def __init__(self):
        super().__init__()
        self.model = Model()

    def forward(self, inputs, labels):
        values = self.model(inputs)
        return {"loss": (values - labels).pow(2).mean(), "values": values}


model = Scored()
with tempfile.TemporaryDirectory() as folder:
    Trainer(
        model,
        TrainingArguments(
            folder,
            per_device_train_batch_size=1,
            per_device_eval_batch_size=1,
            gradient_accumulation_steps=2,
            max_steps=10,
            eval_strategy="steps",
            eval_steps=4,
            save_steps=6,
            report_to=[],
            disable_tqdm=True,
            logging_steps=5,
            use_cpu=True,
        ),
        train_dataset=Data(40, named=True),
        eval_dataset=Data(3, "eval", named=True),
        optimizers=(SGD(model.parameters(), lr=0.01), None),
    ).train()
