"""Which Python function stands for which phase: the table that stacks are read with.

A row fits a stack frame when its file ends with ``file`` (a name that ends with ``/`` is a folder, all
of it) and its function, without the class, is one of ``functions`` (``*``: any). How a stack is read:

1. `WHOLE` rows say what everything below them is part of, so the outermost one wins: a compilation
   runs a backward of its own, a checkpoint issues collectives, an evaluation runs forwards.
2. Otherwise, from the innermost frame outwards, the first frame that fits a row of `INNERMOST` wins;
   within one frame, the first row. Outwards would be wrong: Lightning's forward and backward lie
   *inside* its optimizer's frames.
3. `STARTUP` wins over `WHOLE` where it is outermost, unless a row of `INNERMOST` fits inside of it:
   there the import runs the program itself.

All phases are the host's: what Python is doing, while the GPU may be far behind. Rows were seen in
stacks of real programs (``tests/fixtures/stacks``) unless their ``source`` says "read", which means
that they were read in the framework's source.
"""

from __future__ import annotations

from typing import NamedTuple

from ..model.stack_places import PROBE_FOLDER

SEEN, READ = "seen", "read"


class Row(NamedTuple):
    """Frames that stand for a phase."""

    phase: str
    doing: str
    """In words, what the process does there."""
    file: str
    functions: str
    source: str = SEEN


STARTUP = (
    Row("startup", "imports modules", "<frozen importlib._bootstrap>", "*"),
    Row("startup", "imports modules", "importlib/_bootstrap.py", "*", READ),
)

THIN = (
    Row("", "", PROBE_FOLDER, "*"),
    # Wrappers around every call of what was compiled: nothing is compiled in them.
    Row("", "", "torch/_dynamo/eval_frame.py", "_fn inner compile_wrapper __call__ _call_impl"),
    Row("", "", "torch/_dynamo/external_utils.py", "*"),
    Row("", "", "torch/_dynamo/decorators.py", "*", READ),
    Row("", "", "torch/_dynamo/utils.py", "*", READ),
    Row("", "", "torch/_functorch/_aot_autograd/runtime_wrappers.py", "*"),
    Row("", "", "torch/_functorch/_aot_autograd/utils.py", "*"),
    Row("", "", "torch/_functorch/_aot_autograd/subclass_utils.py", "*", READ),
    Row("", "", "torch/_inductor/output_code.py", "*", READ),
    Row("", "", "torch/_inductor/utils.py", "*", READ),
    Row("", "", "torch/_inductor/cudagraph_trees.py", "*", READ),
    Row("", "", "torch/_inductor/runtime/triton_heuristics.py", "run launcher", READ),
)
"""Frames that are never looked at, in any table."""

WHOLE = (
    Row("compile", "traces the model", "torch/_dynamo/", "*"),
    Row("compile", "compiles kernels", "torch/_inductor/", "*", READ),
    Row("compile", "traces the backward", "torch/_functorch/_aot_autograd/", "*", READ),
    Row("compile", "traces the model", "torch/fx/experimental/proxy_tensor.py", "*", READ),
    Row("compile", "traces the function", "jax/_src/interpreters/partial_eval.py", "*"),
    Row("compile", "compiles for XLA", "jax/_src/compiler.py", "*"),
    Row("checkpoint", "saves", "torch/serialization.py", "save _save _legacy_save"),
    Row("checkpoint", "saves a distributed checkpoint", "torch/distributed/checkpoint/", "*"),
    Row(
        "checkpoint",
        "saves a checkpoint",
        "transformers/trainer.py",
        "_save_checkpoint save_model _save _save_optimizer_and_scheduler",
    ),
    Row(
        "checkpoint",
        "saves a checkpoint",
        "accelerate/accelerator.py",
        "save_state save_model",
        READ,
    ),
    Row("checkpoint", "saves tensors", "safetensors/torch.py", "save_file save_model", READ),
    Row("checkpoint", "saves a checkpoint", "trainer/trainer.py", "save_checkpoint"),
    Row("checkpoint", "saves a checkpoint", "callbacks/model_checkpoint.py", "*", READ),
    Row("checkpoint", "saves a checkpoint", "deepspeed/runtime/engine.py", "save_checkpoint"),
    Row(
        "checkpoint",
        "saves a checkpoint",
        "megatron/training/checkpointing.py",
        "save_checkpoint",
        READ,
    ),
    Row(
        "checkpoint",
        "saves a checkpoint",
        "megatron/training/training.py",
        "save_checkpoint_and_time",
        READ,
    ),
    Row("checkpoint", "saves a checkpoint", "orbax/checkpoint/", "save", READ),
    Row("eval", "evaluates", "transformers/trainer.py", "evaluation_loop prediction_loop"),
    Row("eval", "evaluates", "loops/evaluation_loop.py", "*"),
    Row(
        "eval",
        "evaluates",
        "megatron/training/training.py",
        "evaluate evaluate_and_print_results",
        READ,
    ),
    Row("idle", "waits for requests", "vllm/v1/engine/core.py", "_process_input_queue", READ),
    Row("idle", "waits for requests", "sglang/srt/managers/scheduler.py", "recv_requests", READ),
)

INNERMOST = (
    Row(
        "data",
        "waits for DataLoader workers",
        "torch/utils/data/dataloader.py",
        "_try_get_data _get_data",
    ),
    Row(
        "data",
        "rebuilds a tensor of a DataLoader worker",
        "multiprocessing/reductions.py",
        "*",
        READ,
    ),
    Row("data", "loads data in the main process", "torch/utils/data/_utils/fetch.py", "fetch"),
    Row("data", "collates in the main process", "torch/utils/data/_utils/collate.py", "*", READ),
    Row("h2d", "copies a batch to its device", "accelerate/utils/operations.py", "send_to_device"),
    Row(
        "h2d",
        "copies a batch to its device",
        "utilities/apply_func.py",
        "move_data_to_device batch_to",
        READ,
    ),
    Row("h2d", "copies a batch to its device", "core/hooks.py", "transfer_batch_to_device", READ),
    Row("h2d", "copies a batch to its device", "strategies/strategy.py", "batch_to_device"),
    Row(
        "data",
        "fetches the next batch",
        "torch/utils/data/dataloader.py",
        "__next__ _next_data",
        READ,
    ),
    Row(
        "data",
        "fetches the next batch",
        "accelerate/data_loader.py",
        "__iter__ _fetch_batches",
        READ,
    ),
    Row("data", "fetches the next batch", "transformers/trainer.py", "get_batch_samples", READ),
    Row("data", "fetches the next batch", "megatron/training/training.py", "get_batch", READ),
    Row("sync", "waits for the GPU", "torch/cuda/__init__.py", "synchronize", READ),
    Row("sync", "waits for the GPU", "torch/cuda/streams.py", "synchronize wait", READ),
    Row("sync", "waits for the GPU", "torch/accelerator/__init__.py", "synchronize", READ),
    Row("optimizer", "clips gradients", "torch/nn/utils/clip_grad.py", "*"),
    Row(
        "comm",
        "is in a collective",
        "torch/distributed/distributed_c10d.py",
        "all_reduce barrier all_gather all_gather_into_tensor all_gather_object all_to_all all_to_all_single broadcast broadcast_object_list gather gather_object monitored_barrier recv reduce reduce_scatter reduce_scatter_tensor scatter scatter_object_list send batch_isend_irecv wait all_gather_coalesced all_reduce_coalesced",
    ),
    Row("comm", "is in a collective", "torch/distributed/_functional_collectives.py", "*"),
    Row(
        "comm",
        "checks shapes with the other ranks",
        "torch/distributed/utils.py",
        "_verify_param_shape_across_processes _sync_module_states",
        READ,
    ),
    Row(
        "startup",
        "meets the other ranks",
        "torch/distributed/distributed_c10d.py",
        "init_process_group new_group _new_group_with_tag",
        READ,
    ),
    Row("startup", "meets the other ranks", "torch/distributed/rendezvous.py", "*", READ),
    Row("comm", "is in a collective", "deepspeed/comm/", "*", READ),
    Row(
        "comm",
        "sends between pipeline stages",
        "megatron/core/pipeline_parallel/p2p_communication.py",
        "*",
        READ,
    ),
    Row("backward", "runs the backward", "torch/autograd/graph.py", "_engine_run_backward"),
    Row("backward", "runs the backward", "torch/_tensor.py", "backward", READ),
    Row("backward", "runs the backward", "torch/autograd/__init__.py", "backward grad", READ),
    Row("backward", "runs the backward", "accelerate/accelerator.py", "backward", READ),
    Row("backward", "runs the backward", "strategies/strategy.py", "backward", READ),
    Row("backward", "runs the backward", "deepspeed/runtime/engine.py", "backward", READ),
    Row(
        "backward",
        "runs the backward",
        "megatron/core/pipeline_parallel/schedules.py",
        "backward_step",
        READ,
    ),
    Row(
        "forward", "runs the forward", "torch/nn/modules/module.py", "_call_impl _wrapped_call_impl"
    ),
    Row("forward", "runs the forward", "transformers/trainer.py", "compute_loss", READ),
    Row("forward", "runs the training step", "strategies/strategy.py", "training_step"),
    Row(
        "forward",
        "runs the forward",
        "megatron/core/pipeline_parallel/schedules.py",
        "forward_step",
        READ,
    ),
    Row(
        "forward",
        "runs the model",
        "vllm/v1/engine/core.py",
        "execute_model _process_engine_step step",
        READ,
    ),
    Row("forward", "runs the model", "sglang/srt/managers/scheduler.py", "run_batch", READ),
    Row(
        "optimizer",
        "updates the weights",
        "torch/optim/optimizer.py",
        "profile_hook_step wrapper step",
    ),
    Row("optimizer", "updates the weights", "torch/optim/", "step", READ),
    Row("optimizer", "updates the weights", "accelerate/optimizer.py", "step", READ),
    Row("optimizer", "updates the weights", "core/optimizer.py", "step", READ),
    Row(
        "optimizer", "updates the weights", "plugins/precision/precision.py", "optimizer_step", READ
    ),
    Row("optimizer", "updates the weights", "deepspeed/runtime/zero/", "step", READ),
    Row(
        "optimizer",
        "updates the weights",
        "deepspeed/runtime/engine.py",
        "step _take_model_step",
        READ,
    ),
    Row("optimizer", "updates the weights", "megatron/core/optimizer/", "step", READ),
    Row(
        "sync",
        "waits for the device",
        "jax/_src/array.py",
        "block_until_ready _value __array__ __float__ __int__",
        READ,
    ),
    Row("sync", "waits for the device", "jax/_src/api.py", "block_until_ready", READ),
    Row("forward", "dispatches to the device", "jax/_src/pjit.py", "*", READ),
    Row("forward", "dispatches to the device", "jax/_src/interpreters/pxla.py", "*", READ),
    Row("other", "logs", "wandb/", "*", READ),
    Row("other", "logs", "torch/utils/tensorboard/", "*", READ),
    Row("other", "logs", "mlflow/", "*", READ),
    Row("other", "logs", "tqdm/", "*", READ),
)
