"""What a rank's own probe, or torch's server in it, is asked for: fit to be kept, with no secret in it."""

from __future__ import annotations

import contextlib
import json
import os
import pickletools
import shutil
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import cast

from ..sources.procfs.files import read_file
from ..sources.procfs.redaction import mask_text
from ..sources.procfs.text import parse_status
from .control_client import ProbeError, ask, ask_worker_server

MOST_SNAPSHOT_BYTES = 64 << 20
_SNAPSHOT_SECONDS = 120.0


def flight_recorder(pid: int, redact: Callable[[object], object] | None = None) -> str:
    """The collectives that torch remembers, as JSON.

    Args:
        pid: of the rank.
        redact: makes its content fit to be handed on.

    Raises:
        ProbeError: where there is no probe in it, or nothing to be told.
    """
    try:
        text = ask_worker_server(pid, "fr_trace_json")
    except (
        ProbeError
    ):  # not running, or an older one: the probe can do it while the job is not stuck
        text = str(ask(pid, {"command": "flight-recorder"})["text"])
    try:
        found = _masked(json.loads(text))
        return json.dumps(redact(found) if redact else found, indent=1)
    except (ValueError, RecursionError) as error:
        raise ProbeError(f"the flight recorder of process {pid} is no JSON") from error


def memory_snapshot(pid: int) -> bytes:
    """The allocator's state, as torch writes it: a pickle for pytorch.org/memory_viz, which is not unpickled here.

    Raises:
        ProbeError: where the job cannot write one, or it must not be kept.
    """
    folder = tempfile.mkdtemp(prefix="gputop-snapshot-")
    try:
        _give_to_owner(folder, pid)
        path = f"{folder}/memory.pickle"
        request = {"command": "memory-snapshot", "path": path}
        ask(pid, request, seconds=_SNAPSHOT_SECONDS)
        data = _read(f"/proc/{pid}/root{path}")
    except OSError as error:
        raise ProbeError(f"its snapshot cannot be read: {error.strerror}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if _holds_secret(data):
        raise ProbeError(
            "its snapshot holds what looks like a credential, and a pickle cannot be masked"
        )
    return data


def _masked(value: object) -> object:
    if isinstance(value, str):
        return mask_text(value)
    if isinstance(value, list):
        return [_masked(each) for each in cast("list[object]", value)]
    if isinstance(value, dict):
        pairs = cast("dict[str, object]", value)
        return {key: _masked(each) for key, each in pairs.items()}
    return value


def _give_to_owner(folder: str, pid: int) -> None:
    """The job writes it, and may be somebody else's where we are root."""
    with contextlib.suppress(OSError):
        owner = parse_status(read_file(f"/proc/{pid}/status")).user_id
        if owner is not None and owner != os.geteuid():
            os.chown(folder, owner, -1)


def _read(path: str) -> bytes:
    """What the job wrote there: a regular file, and no larger than is good."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags), "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise ProbeError("its snapshot is no regular file")
        if about.st_size > MOST_SNAPSHOT_BYTES:
            raise ProbeError(
                f"its snapshot is larger than {MOST_SNAPSHOT_BYTES >> 20} MiB: "
                f"gputop probe {Path(path).parts[2]} memory-snapshot writes it to a file of its own"
            )
        return file.read(MOST_SNAPSHOT_BYTES)


def _holds_secret(data: bytes) -> bool:
    """By its strings; nothing of it is run."""
    seen: set[str] = set()
    try:
        for _, argument, _ in pickletools.genops(data):
            if isinstance(argument, str) and argument not in seen:
                seen.add(argument)
                if mask_text(argument) != argument:
                    return True
    except (ValueError, IndexError, KeyError):
        return True  # no pickle: nobody knows what is in it
    return False
