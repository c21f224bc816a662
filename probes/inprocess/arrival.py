"""Whether this process trains, once torch has been imported into it.

Every Python of a job may import torch: launchers, compile workers, loaders' workers, a script that only
prints a version. Where the environment names a rank and nothing speaks against it, the probe starts at
once, so that the start-up is seen too. Anywhere else it starts with the first thing that only training
does: an optimizer is made, a process group is joined, or a loader is iterated in a main process.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any

from .api import attach
from .rank_variables import RANK_NAMES

_HELPERS = (
    "torchrun",
    "torch/distributed/run",
    "torch/distributed/launch",
    "torch/_inductor/compile_worker",
    "accelerate",
    "accelerate/commands",
    "deepspeed",
    "deepspeed/launcher",
    "multiprocessing/spawn",
    "multiprocessing/forkserver",
    "multiprocessing/resource_tracker",
)
"""Programs and modules that start training or help with it, and never train themselves."""
_WORDS = 4096


def torch_arrived() -> None:
    """Start the probe, or watch for a sign of training."""
    if is_rank():
        attach()
    else:
        watch_for_training()


def is_rank() -> bool:
    """Whether this process was started as a rank: as far as can be reported before it does anything."""
    rank = next((name for name in RANK_NAMES if os.environ.get(name)), None)
    if rank is None or is_helper(command_line("self")) or _is_multiprocessing_child():
        return False
    # A rank's own children inherit its variables; a launcher gives them to ranks alone.
    inherited = f"{rank}={os.environ[rank]}".encode()
    parent = os.getppid()
    started_by_python = os.path.basename(command_line(parent)[:1][0] or "").startswith("python")
    return not (started_by_python and inherited in _initial_environment(parent))


def is_helper(words: list[str]) -> bool:
    """Whether a command line is that of a launcher or a helper of one."""
    for position, word in enumerate(words[:8]):
        if position == 0:
            continue
        if words[position - 1] == "-m":
            return _names_helper(word.replace(".", "/"))
        if word.startswith("-c") and len(words) > position + 1:
            return _names_helper(words[position + 1].replace(".", "/"))
        if not word.startswith("-"):
            return _names_helper(word.removesuffix(".py"))
    return False


def _names_helper(program: str) -> bool:
    return os.path.basename(program) in _HELPERS or any(
        helper in program for helper in _HELPERS if "/" in helper
    )


def command_line(pid: object) -> list[str]:
    """The words that a process was started with; at least one, which may be empty."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return os.fsdecode(file.read(_WORDS)).split("\0")
    except OSError:
        return [""]


def _initial_environment(pid: int) -> list[bytes]:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


def _is_multiprocessing_child() -> bool:
    process = sys.modules.get("multiprocessing.process")
    return process is not None and process.parent_process() is not None


def _is_no_loader_worker() -> bool:
    worker = sys.modules.get("torch.utils.data._utils.worker")
    return getattr(worker, "_worker_info", None) is None


def watch_for_training() -> None:
    """Put a trap where training begins: three functions, each given back at the first call of any."""
    traps: list[tuple[Any, str, Any, Any]] = []

    def sprung(sign: Callable[[], bool]) -> None:
        try:
            if not sign():
                return
            for owner, name, original, trap in traps:
                if getattr(owner, name, None) is trap:
                    setattr(owner, name, original)
            traps.clear()
        except Exception:
            return  # whatever the job has made of them, it is not reported
        attach()

    for module, owner_name, name, sign in (
        ("torch.optim.optimizer", "Optimizer", "__init__", _is_no_loader_worker),
        ("torch.distributed.distributed_c10d", "", "init_process_group", _is_no_loader_worker),
        ("torch.distributed", "", "init_process_group", _is_no_loader_worker),
        (
            "torch.utils.data.dataloader",
            "_BaseDataLoaderIter",
            "__init__",
            lambda: not _is_multiprocessing_child(),
        ),
    ):
        owner = sys.modules.get(module)
        if owner is not None and owner_name:
            owner = getattr(owner, owner_name, None)
        original = getattr(owner, name, None)
        if original is not None:
            trap = _trap(original, sign, sprung)
            setattr(owner, name, trap)
            traps.append((owner, name, original, trap))


def _trap(
    original: Any, sign: Callable[[], bool], sprung: Callable[[Callable[[], bool]], None]
) -> Any:
    @functools.wraps(original)
    def trap(*args: Any, **keywords: Any) -> Any:
        sprung(sign)
        return original(*args, **keywords)

    return trap
