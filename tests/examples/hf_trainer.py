"""The Trainer of Hugging Face."""

import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

small = BertConfig(
    vocab_size=64, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
)
data = [{"input_ids": torch.randint(64, (8,)), "labels": number % 2} for number in range(64)]
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        folder, max_steps=8, use_cpu=True, report_to=[], save_strategy="no", disable_tqdm=True
    )
    Trainer(BertForSequenceClassification(small), arguments, train_dataset=data).train()
