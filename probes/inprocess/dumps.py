"""What is dumped on demand: the flight recorder, the allocator's state, the stacks."""

from __future__ import annotations

import faulthandler
import os
import sys
from typing import TYPE_CHECKING, Any

from .errors import CommandError
from .output_file import give_up, reserve

if TYPE_CHECKING:
    from .interface import ProbeLike

_STACKS_BYTES = 1 << 22


def stacks(_probe: ProbeLike, _request: dict[str, Any]) -> dict[str, object]:
    """The Python stack of every thread, as text."""
    file = os.memfd_create("gputop-stacks", os.MFD_CLOEXEC)
    try:
        faulthandler.dump_traceback(file, all_threads=True)
        return {"text": os.pread(file, _STACKS_BYTES, 0).decode("utf-8", "replace")}
    finally:
        os.close(file)


def flight_recorder(_probe: ProbeLike, _request: dict[str, Any]) -> dict[str, object]:
    """The collectives that torch.distributed remembers, as JSON text.

    Raises:
        CommandError: torch is not there, is too old, or is not distributed.
    """
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available():
        raise CommandError("torch.distributed is not in this process")
    if not distributed.is_initialized():
        raise CommandError("this process has not joined a process group")
    module = sys.modules.get("torch._C._distributed_c10d")
    for name in ("_dump_fr_trace_json", "_dump_nccl_trace_json"):
        dump = getattr(module, name, None)
        if dump is not None:
            return {"text": dump().decode("utf-8", "replace")}
    raise CommandError("this torch cannot dump its flight recorder as JSON")


def memory_snapshot(_probe: ProbeLike, request: dict[str, Any]) -> dict[str, object]:
    """The caching allocator's segments and blocks, in a file for pytorch.org/memory_viz.

    Raises:
        CommandError: the job does not use a GPU, or the file exists or cannot be made.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        raise CommandError("torch is not in this process")
    if not torch.cuda.is_initialized():
        raise CommandError("this process does not use a GPU: there is no allocator to look into")
    dump = getattr(torch.cuda.memory, "_dump_snapshot", None)
    if dump is None:
        raise CommandError("this torch cannot dump its allocator's state")
    path = reserve(request.get("path"))
    try:
        dump(path)
    except BaseException:
        give_up(path)
        raise
    return {"path": path}
