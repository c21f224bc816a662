"""What the job runs on and how: versions, number format, device, and the figures of its allocator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..instrument import Off
from .patching import Patching

if TYPE_CHECKING:
    from ..interface import ProbeLike


class Device(Patching):
    """Asked once a second by the probe's own thread; nothing of torch is replaced."""

    name = "allocator"

    def __init__(self, probe: ProbeLike) -> None:
        super().__init__(probe)
        self._index: int | None = None

    def install(self) -> None:
        torch = self.torch
        cuda = torch.version.cuda
        nccl: Any = torch.cuda.nccl.version() if cuda else None
        self.probe.tell(
            torch=str(torch.__version__),
            cuda=cuda,
            nccl=".".join(map(str, nccl)) if nccl.__class__ is tuple else None,
        )
        if not cuda:
            raise Off("no CUDA")
        self.probe.ask(self._gauge)

    def remove(self) -> None:
        super().remove()
        self._index = None

    def settled(self, module: Any) -> None:
        """The loop trains that module: what it does from now on, it does for long."""
        torch = self.torch
        self.probe.tell(precision=precision(torch, module))
        if torch.cuda.is_initialized():
            # Each thread has its own current device, so the loop's is asked for in the loop.
            self._index = torch.cuda.current_device()
            uuid = getattr(torch.cuda.get_device_properties(self._index), "uuid", None)
            self.probe.tell(device_uuid=uuid and f"GPU-{uuid}")

    def _gauge(self) -> dict[str, object]:
        index = self._index
        return {} if index is None else {"allocator": allocator(self.torch, index)}


def allocator(torch: Any, device: int) -> dict[str, int]:
    """Bytes, and counts since the start, of PyTorch's allocator for one device."""
    stats = torch.cuda.memory_stats_as_nested_dict(device)
    return {
        "allocated_bytes": stats["allocated_bytes"]["all"]["current"],
        "reserved_bytes": stats["reserved_bytes"]["all"]["current"],
        "inactive_split_bytes": stats["inactive_split_bytes"]["all"]["current"],
        "alloc_retries": stats["num_alloc_retries"],
        "ooms": stats["num_ooms"],
    }


def precision(torch: Any, module: Any) -> str | None:
    """That of autocast where it is on, otherwise that of the module's parameters."""
    for device in ("cuda", "cpu"):
        try:
            if torch.is_autocast_enabled(device):
                return f"{_name(torch.get_autocast_dtype(device))} (autocast)"
        except TypeError:
            break  # before torch 2.4 there is no argument
    return ", ".join(sorted({_name(each.dtype) for each in module.parameters()})) or None


def _name(kind: object) -> str:
    return str(kind).rpartition(".")[2]
