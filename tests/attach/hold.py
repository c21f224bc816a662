"""Stands still in one place of a training step, for py-spy to see: ``hold.py SITUATION``.

``capture.py`` runs this in the environment of a job and keeps the stacks as fixtures.
"""

# It runs in the environment of a job, where torch is.
# mypy: ignore-errors

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

FOLDER = Path(sys.argv[2])


def hold(value: object = None) -> object:
    """Stand still."""
    (FOLDER / "here").touch()
    time.sleep(600)
    return value


if sys.argv[1] == "import":
    sys.path.insert(0, str(FOLDER))
    (FOLDER / "slow_module.py").write_text("import __main__; __main__.hold()")
    import slow_module  # noqa: F401

if sys.argv[1].startswith("jax"):
    import jax
    import jax.numpy as jnp
else:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset


def torch_parts() -> tuple:
    class Held(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return hold(grad)

    class Data(Dataset):
        def __init__(self, held: bool = False) -> None:
            self.held = held

        def __len__(self) -> int:
            return 64

        def __getitem__(self, index: int):
            if self.held:
                hold()
            return torch.randn(8)

    class Net(nn.Module):
        def __init__(self, where: str = "") -> None:
            super().__init__()
            self.layer = nn.Linear(8, 8)
            self.where = where

        def forward(self, x, **_):
            x = self.layer(x)
            if self.where == "forward":
                hold()
            return Held.apply(x) if self.where == "backward" else x

    return Data, Net


def pre_hook(*_: object) -> None:
    hold()


def bare(where: str) -> None:
    data, net = torch_parts()
    model = net(where)
    optimizer = torch.optim.Adam(model.parameters())
    scheduler = torch.optim.lr_scheduler.ConstantLR(optimizer)
    if where == "optimizer":
        optimizer.register_step_pre_hook(pre_hook)
    workers = 1 if where == "workers" else 0
    if where == "compile":
        model = torch.compile(model, backend=lambda graph, _: hold(graph))
    if where == "compiled":
        model = torch.compile(model, backend="aot_eager")
    for batch in DataLoader(data(where in ("workers", "main")), num_workers=workers):
        loss = model(batch).sum()
        if where == "item":
            loss.item(), hold()
        loss.backward()
        if where == "clip":
            nn.utils.clip_grad_norm_((hold(p) for p in model.parameters()), 1.0)
        optimizer.step()
        scheduler.step()
        if where == "save":
            torch.save(model.state_dict(), Writer())
        if where == "dcp":
            import torch.distributed.checkpoint as dcp

            dcp.save({"model": model.state_dict()}, storage_writer=planned(dcp), no_dist=True)


class Writer:
    def write(self, data: bytes) -> int:
        hold()
        return len(data)

    def flush(self) -> None: ...


def planned(dcp):
    class Held(dcp.FileSystemWriter):
        def write_data(self, *args, **kwargs):
            hold()

    return Held(FOLDER / "dcp")


def distributed(where: str) -> None:
    """Two ranks; the second one never comes."""
    import torch.distributed as dist

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=sys.argv[3], WORLD_SIZE="2")
    if os.fork() == 0:
        os.environ["RANK"] = "1"
        dist.init_process_group("gloo")
        dist.new_group([0, 1])
        time.sleep(600)
    os.environ["RANK"] = "0"
    dist.init_process_group("gloo")
    dist.new_group([0, 1])
    (FOLDER / "here").touch()
    if where == "all_reduce":
        dist.all_reduce(torch.ones(2))
    if where == "functional":
        from torch.distributed import _functional_collectives as functional

        functional.all_reduce(torch.ones(2), "sum", [0, 1]).sum()
    dist.barrier()


def accelerate(where: str) -> None:
    from accelerate import Accelerator

    data, net = torch_parts()
    accelerator = Accelerator(cpu=True)
    model = net(where)
    optimizer = torch.optim.Adam(model.parameters())
    if where == "optimizer":
        optimizer.register_step_pre_hook(pre_hook)
    collate = Moved if where == "to" else None
    loader = DataLoader(data(where == "data"), batch_size=4, collate_fn=collate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        accelerator.backward(model(batch).sum())
        optimizer.step()


class Moved:
    """A batch that is moved to its device for ever."""

    def __init__(self, items) -> None:
        self.items = items

    def to(self, *_, **__):
        return hold(self)


def transformers(where: str) -> None:
    import transformers as hf

    data, net = torch_parts()

    class Rows(data):
        def __getitem__(self, index):
            return {"x": super().__getitem__(index)}

    class Loss(net):
        def forward(self, x, **_):
            out = super().forward(x)
            return {"loss": out.sum(), "logits": out}

        def state_dict(self, *args, **kwargs):
            if where == "save":
                hold()
            return super().state_dict(*args, **kwargs)

    model = Loss("" if where == "eval" else where)
    if where == "eval":
        model.register_forward_pre_hook(lambda module, _: None if module.training else hold())
    arguments = hf.TrainingArguments(
        FOLDER / "out",
        use_cpu=True,
        report_to=[],
        max_steps=4,
        save_steps=1,
        eval_steps=1,
        save_strategy="steps" if where == "save" else "no",
        eval_strategy="steps" if where == "eval" else "no",
        disable_tqdm=True,
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if where == "optimizer":
        optimizer.register_step_pre_hook(pre_hook)
    hf.Trainer(
        model,
        arguments,
        train_dataset=Rows(where == "data"),
        eval_dataset=Rows(),
        optimizers=(optimizer, torch.optim.lr_scheduler.ConstantLR(optimizer)),
    ).train()


def lightning(where: str) -> None:
    import lightning as pl

    data, net = torch_parts()

    class Module(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = net(where)

        def training_step(self, batch, _):
            if where == "step":
                hold()
            return self.net(batch).sum()

        def validation_step(self, batch, _):
            hold()

        def configure_optimizers(self):
            optimizer = torch.optim.SGD(self.parameters(), lr=0.1)
            if where == "optimizer":
                optimizer.register_step_post_hook(pre_hook)
            return optimizer

        def on_save_checkpoint(self, _) -> None:
            hold()

        def transfer_batch_to_device(self, batch, *_):
            return hold(batch) if where == "to" else batch

    trainer = pl.Trainer(
        accelerator="cpu",
        max_steps=2,
        default_root_dir=FOLDER,
        logger=False,
        enable_progress_bar=False,
        enable_checkpointing=where == "save",
        num_sanity_val_steps=0,
    )
    validation = {"val_dataloaders": DataLoader(data())} if where == "eval" else {}
    if where == "eval":
        trainer.validate(Module(), DataLoader(data()))
    trainer.fit(Module(), DataLoader(data(where == "data")), **validation)


def deepspeed(where: str) -> None:
    import deepspeed as ds

    os.environ.update(
        RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT=sys.argv[3]
    )
    data, net = torch_parts()
    model = net(where)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if where == "optimizer":
        optimizer.register_step_pre_hook(pre_hook)
    settings = {"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 1}}
    settings["zero_allow_untested_optimizer"] = True
    engine, *_ = ds.initialize(model=model, optimizer=optimizer, config=settings)
    for batch in DataLoader(data(), batch_size=4):
        engine.backward(engine(batch).sum())
        engine.step()
        if where == "save":
            torch.save = hold
            engine.save_checkpoint(FOLDER)


def jax_step(where: str) -> None:
    def slow(x):
        return jax.pure_callback(hold, jax.ShapeDtypeStruct((), jnp.float32), x)

    def traced(x):
        hold()
        return x

    if where == "trace":
        jax.jit(traced)(jnp.float32(1))
    if where == "compile":
        xs = [jnp.ones((3, 3)) for _ in range(2)]
        (FOLDER / "here").touch()
        while True:
            n = int(time.time() * 1e6) % 1000 + 200

            def unrolled(x, n=n):
                for _ in range(n):
                    x = jnp.tanh(x @ x)
                return x

            jax.jit(unrolled)(xs[0])
    if where == "dispatch":
        result = jnp.float32(1)
    else:
        result = jax.jit(lambda x: jax.lax.fori_loop(0, 2_000_000_000, lambda _, y: y * 1.01, x))(
            jnp.float32(1)
        )
    (FOLDER / "here").touch()
    if where == "block":
        result.block_until_ready()
    if where == "value":
        print(float(result))
    if where == "dispatch":
        step = jax.jit(lambda x: x + 1)
        while True:
            result = step(1.0)


RUN: dict[str, Callable[[str], None]] = {
    "bare": bare,
    "distributed": distributed,
    "accelerate": accelerate,
    "transformers": transformers,
    "lightning": lightning,
    "deepspeed": deepspeed,
    "jax": jax_step,
}
kind, _, where = sys.argv[1].partition("-")
RUN[kind](where)
