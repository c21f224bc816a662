"""A folder in which looking up one name hangs in the kernel, where no signal reaches.

That is what a wedged driver does to whoever calls it, and nothing but the kernel can do it: this is a
FUSE file system whose server takes the request and never answers.

The collector that is to hang belongs to another user: whoever starts gputop goes without NVML while one
of the same user hangs, and other tests run beside this one.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nvml.build import library
from support.another_user import AS_ANOTHER

_LOOKUP, _GETATTR, _INIT, _FORGET, _INTERRUPT, _BATCH_FORGET = 1, 3, 26, 2, 36, 42
_MNT_FORCE, _MNT_DETACH = 1, 2
_HEADER = struct.Struct("<IIQQIIIHH")
_READ_BYTES = 1 << 20
_FOLDER_ATTRIBUTES = struct.pack(
    "<QII6Q10I", 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, stat.S_IFDIR | 0o755, 2, 0, 0, 0, 4096, 0
)


@contextmanager
def wedged_folder(name: str) -> Iterator[Path]:
    """An empty folder in which whoever looks up ``name`` hangs until the end.

    A machine or user that cannot mount FUSE, or run gputop as another user, skips the test.
    """
    if subprocess.run([*AS_ANOTHER, sys.executable, "-c", "import gputop"], check=False).returncode:
        pytest.skip("no other user can run gputop here")
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        device = os.open("/dev/fuse", os.O_RDWR)
    except OSError as error:
        pytest.skip(f"/dev/fuse: {error.strerror}")
    with _public_folder() as folder:
        options = f"fd={device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}"
        options += ",allow_other"
        if libc.mount(b"wedge", os.fsencode(folder), b"fuse", 0, options.encode()) != 0:
            os.close(device)
            pytest.skip(f"mount: {os.strerror(ctypes.get_errno())}")
        server = threading.Thread(target=_serve, args=(device, os.fsencode(name)), daemon=True)
        server.start()
        try:
            yield folder
        finally:
            # Ends the connection: who hangs is let go.
            libc.umount2(os.fsencode(folder), _MNT_FORCE)
            libc.umount2(os.fsencode(folder), _MNT_DETACH)
            server.join(5)
            os.close(device)


@contextmanager
def wedged_driver() -> Iterator[dict[str, str]]:
    """The environment of a program that finds a driver whose first call hangs in the kernel."""
    with wedged_folder("node.state") as folder, _public_folder() as libraries:
        shutil.copytree(library(), libraries, dirs_exist_ok=True)
        yield {
            **os.environ,
            "LD_LIBRARY_PATH": str(libraries),
            "GPUTOP_SIM_STATE": str(folder / "node.state"),
        }


@contextmanager
def _public_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="gputop-wedge-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def _serve(device: int, name: bytes) -> None:
    while True:
        try:
            request = os.read(device, _READ_BYTES)
        except OSError:
            return
        _, operation, number, *_ = _HEADER.unpack_from(request)
        body = request[_HEADER.size :]
        if operation == _INIT:
            _answer(
                device,
                number,
                0,
                struct.pack("<IIIIHHI", 7, 31, 0, 0, 12, 12, 65536).ljust(64, b"\0"),
            )
        elif operation == _LOOKUP and body.rstrip(b"\0") == name:
            continue  # taken, and never answered
        elif operation == _GETATTR:
            _answer(device, number, 0, _FOLDER_ATTRIBUTES)
        elif operation not in (_FORGET, _BATCH_FORGET, _INTERRUPT):
            _answer(device, number, errno.ENOENT if operation == _LOOKUP else errno.ENOSYS)


def _answer(device: int, number: int, error: int, body: bytes = b"") -> None:
    os.write(device, struct.pack("<IiQ", 16 + len(body), -error, number) + body)
