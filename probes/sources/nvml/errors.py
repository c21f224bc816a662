"""What is said when NVML as a whole does not work, and what would help."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path
from typing import Any

from ...model.driver_errors import driver_says
from ..protocol import SourceAbsent, SourceDenied, SourceError

_UNINITIALIZED, _NO_PERMISSION, _DRIVER_NOT_LOADED = 1, 4, 9
_LIBRARY_NOT_FOUND, _VERSION_MISMATCH = 12, 18

_LIBRARY = "libnvidia-ml.so.1"
_NO_LIBRARY = f"no NVIDIA driver library ({_LIBRARY}) on the node"
NO_BINDING = "the Python package nvidia-ml-py is not installed"
_NOT_LOADED = "the NVIDIA driver is not loaded: modprobe nvidia"
_RELOADED = "the NVIDIA driver was shut down under us; initializing it again"
_DENIED = "no permission to use the NVIDIA driver: this user must be allowed to open /dev/nvidiactl"
_SILENT = (
    "the driver answers nothing about any GPU ({}): in a container, device access was taken away "
    "and it must be restarted; else see the kernel log"
)


def silent(reason: str) -> SourceError:
    """The driver is there, but says ``reason`` to every call about every GPU."""
    return SourceError(_SILENT.format(reason))


def source_error(nvml: Any, code: int, *, was_there: bool, proc: Path) -> SourceError:
    """The error to show for a return code of NVML as a whole.

    Args:
        nvml: the binding.
        code: what NVML returned.
        was_there: it did work before.
        proc: where /proc is.
    """
    if code == _LIBRARY_NOT_FOUND:
        return _not_loaded()
    if code == _DRIVER_NOT_LOADED:
        return SourceError(_NOT_LOADED) if was_there else SourceAbsent(_NOT_LOADED)
    if code == _NO_PERMISSION:
        return SourceDenied(_DENIED)
    if code == _VERSION_MISMATCH:
        return SourceError(
            f"NVIDIA driver and library versions differ ({_both_versions(nvml, proc)}): "
            "reboot or reload the module"
        )
    if code == _UNINITIALIZED:
        return SourceError(_RELOADED)
    return SourceError(f"the NVIDIA driver cannot be initialized: {driver_says(code)}")


def _not_loaded() -> SourceError:
    """The binding calls a library that does not load *not found*, so the loader itself is asked."""
    try:
        ctypes.CDLL(_LIBRARY)
    except OSError as error:
        why = str(error)
        if why.startswith(f"{_LIBRARY}: ") and why.endswith(os.strerror(errno.ENOENT)):
            return SourceAbsent(_NO_LIBRARY)
    else:
        why = "it loads now"
    return SourceError(f"the NVIDIA driver library ({_LIBRARY}) is there but does not load: {why}")


def _both_versions(nvml: Any, proc: Path) -> str:
    try:
        library = str(nvml.nvmlSystemGetNVMLVersion())
    except (nvml.NVMLError, UnicodeDecodeError):
        library = ""
    return f"library {library or 'unknown'}, module {_module_version(proc) or 'unknown'}"


def _module_version(proc: Path) -> str | None:
    """The loaded kernel module's: ``NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15 …``."""
    try:
        line = (proc / "driver/nvidia/version").read_text(errors="replace").partition("\n")[0]
    except OSError:
        return None
    words = line.split()
    return next((word for word in words if word[:1].isdigit() and word.count(".") >= 1), None)
