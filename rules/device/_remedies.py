"""What to do about a GPU of which the driver returns an error, by NVML's return code."""

from __future__ import annotations

_REMEDIES: dict[int, str] = {
    8: "Check that the external power cables of GPU {gpu} are attached and seated; then restart the "
    "host.",
    10: "Read the kernel log for an Xid of GPU {gpu}; if it stays, drain the node and reset the GPU "
    "(nvidia-smi -i {gpu} -r, as root).",
    11: "The interrupts of GPU {gpu} do not arrive: read the kernel log and /proc/interrupts, reload "
    "the driver, else restart the host.",
    14: "The infoROM of GPU {gpu} is damaged: drain the node, reset the GPU (nvidia-smi -i {gpu} -r, "
    "as root), and have the board replaced if it stays.",
    15: "End the job, take this node out of the queue and restart the host.",
    16: "End all processes on GPU {gpu} and reset it (nvidia-smi -i {gpu} -r, as root); where that is "
    "refused, restart the host.",
    17: "The operating system blocks the driver: check which devices this user or container may open "
    "(/dev/nvidia{gpu}), and the kernel log.",
    20: "The driver has no host memory left for GPU {gpu}: free some, then look again.",
    23: "The driver has no resources left for GPU {gpu}: end processes on it that are not needed, else "
    "reload the driver.",
    999: "In a container, restart it, for device access may have been taken away; else read the kernel "
    "log for an Xid of GPU {gpu}, drain the node and reset the GPU (nvidia-smi -i {gpu} -r, as root).",
}
_OTHER = (
    "Read the kernel log for Xid and NVRM lines of GPU {gpu}, drain the node and reset the GPU "
    "(nvidia-smi -i {gpu} -r, as root); restart the host if it stays."
)


def remedy(code: int, gpu: int) -> str:
    """One sentence for the person on call."""
    return _REMEDIES.get(code, _OTHER).format(gpu=gpu)
