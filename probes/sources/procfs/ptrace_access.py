"""Why the memory of a process may not be read, and what exactly would lift that.

Everything here is read from ``/proc`` before or after a refusal; the refusing call itself only says
that it refused.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from .cgroup_paths import container_id, parse_memberships
from .files import read_file
from .text import parse_stat
from .users import UserNames

Cause = Literal[
    "gone",
    "zombie",
    "kernel thread",
    "no binary",
    "other user",
    "not dumpable",
    "ptrace scope",
    "capability",
    "seccomp",
    "user namespace",
    "not Python",
    "PyPy",
    "32-bit",
    "unknown",
]
_SYS_PTRACE = 19
_EXECUTABLE_BYTES = 5
_ELF_32 = b"\x7fELF\x01"
_MAPS_BYTES = 1 << 21


class Refusal(msgspec.Struct, frozen=True):
    """Why not, and the way out, each one clause."""

    cause: Cause
    reason: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.reason}: {self.remedy}" if self.remedy else self.reason


def refusal_of_target(pid: int, root: Path = Path("/")) -> Refusal | None:
    """What is wrong with the target, whoever looks at it; ``None``: nothing that can be seen."""
    proc = root / "proc" / str(pid)
    try:
        stat = parse_stat(read_file(proc / "stat"))
    except OSError:
        stat = None
    if stat is None:
        return Refusal("gone", f"there is no process {pid} any more")
    if stat.kernel_thread:
        return Refusal("kernel thread", f"{pid} is a thread of the kernel: it has no Python stack")
    if stat.state in "ZX":
        return Refusal("zombie", f"process {pid} has exited; only its parent has not noticed yet")
    return None


def refusal_of_access(pid: int, root: Path = Path("/")) -> Refusal | None:
    """Which rule of the kernel keeps this process from reading the target's memory, if one does."""
    own, target = _status(root, "self"), _status(root, str(pid))
    if not target:
        return refusal_of_target(pid, root)
    if root == Path("/") and _filtered():
        return Refusal(
            "seccomp",
            "a seccomp filter around gputop forbids ptrace",
            "start gputop outside of this sandbox, or the container with "
            "--security-opt seccomp=unconfined --cap-add=SYS_PTRACE",
        )
    if _has_ptrace(own):
        return _user_namespace(pid, root)
    return (
        _other_user(own, target, root)
        or _undumpable(pid, target, root)
        or _scope(root)
        or _less_capable(own, target, root)
    )


def is_named_python(pid: int, root: Path = Path("/")) -> bool:
    """Whether its executable is called so. That needs no look into its memory maps."""
    try:
        return (root / "proc" / str(pid) / "exe").readlink().name.startswith("python")
    except OSError:
        return True  # who may not know that may not read its stack either, and is told why


def refusal_of_program(pid: int, root: Path = Path("/")) -> Refusal | None:
    """Whether it is a program that no Python stack can be had of."""
    proc = root / "proc" / str(pid)
    try:
        head = read_file(proc / "exe", _EXECUTABLE_BYTES)
        name = (proc / "exe").readlink().name
        maps = read_file(proc / "maps", _MAPS_BYTES)
    except OSError:
        return None
    if head == _ELF_32:
        return Refusal(
            "32-bit", f"process {pid} is a 32-bit program, which py-spy here cannot read"
        )
    if name.startswith("pypy") or b"libpypy" in maps:
        return Refusal("PyPy", f"process {pid} runs PyPy, whose stacks py-spy cannot read")
    if not name.startswith("python") and b"libpython" not in maps:
        return Refusal("not Python", f"process {pid} ({name}) does not run Python")
    return None


def capability_words(root: Path = Path("/")) -> str:
    """How to get the capability, for where gputop runs."""
    if in_container(root):
        return (
            "start this container with --cap-add=SYS_PTRACE (Kubernetes: "
            "securityContext.capabilities.add [SYS_PTRACE]), or run gputop on the host as root"
        )
    return "run it with sudo"


def in_container(root: Path = Path("/")) -> bool:
    """Whether this process runs in a container."""
    marks = (".dockerenv", "run/.containerenv", ".singularity.d")
    if any((root / mark).exists() for mark in marks):
        return True
    try:
        return container_id(parse_memberships(read_file(root / "proc/self/cgroup"))) is not None
    except OSError:
        return False


def ptrace_scope(root: Path = Path("/")) -> int | None:
    """Yama's value; ``None`` where the kernel has no Yama."""
    try:
        return int(read_file(root / "proc/sys/kernel/yama/ptrace_scope"))
    except (OSError, ValueError):
        return None


def _other_user(own: Mapping[str, str], target: Mapping[str, str], root: Path) -> Refusal | None:
    mine, theirs = _effective(own.get("Uid", "")), target.get("Uid", "").split()
    if mine is None or all(uid == mine for uid in theirs[:3]):
        return None
    user = UserNames(root).name(int(theirs[0])) if theirs and theirs[0].isdigit() else "another"
    if mine == "0":
        return Refusal("capability", "root here lacks CAP_SYS_PTRACE", capability_words(root))
    return Refusal(
        "other user",
        f"it belongs to user {user}",
        f"sudo -u {user} gputop {target.get('Pid', '')}, or gputop as root",
    )


def _undumpable(pid: int, target: Mapping[str, str], root: Path) -> Refusal | None:
    """The kernel gives the files of a process that may not be dumped to root."""
    try:
        owner = (root / "proc" / str(pid) / "environ").stat().st_uid
    except OSError:
        return None
    if str(owner) == _effective(target.get("Uid", "")):
        return None
    return Refusal(
        "not dumpable",
        "it does not let itself be inspected (dumpable is 0: prctl, set-user-id or capabilities)",
        f"sudo gputop {pid}",
    )


def _scope(root: Path) -> Refusal | None:
    scope = ptrace_scope(root)
    if not scope:
        return None
    if scope >= 3:
        return Refusal(
            "ptrace scope", "kernel.yama.ptrace_scope is 3: no tracing until the next boot"
        )
    lift = "sudo gputop, or sudo sysctl kernel.yama.ptrace_scope=0"
    return Refusal(
        "ptrace scope",
        f"kernel.yama.ptrace_scope is {scope}: one may only trace one's own children",
        "sudo gputop" if scope == 2 else lift,
    )


def _less_capable(own: Mapping[str, str], target: Mapping[str, str], root: Path) -> Refusal | None:
    if _mask(target, "CapPrm") & ~_mask(own, "CapEff") == 0:
        return None
    return Refusal(
        "capability",
        "it has capabilities that gputop lacks, and gputop has no CAP_SYS_PTRACE",
        capability_words(root),
    )


def _user_namespace(pid: int, root: Path) -> Refusal | None:
    """With the capability, only a target in a user namespace above is out of reach."""
    try:
        (root / "proc" / str(pid) / "ns/user").readlink()
    except PermissionError:
        return Refusal(
            "user namespace",
            "it runs in a user namespace above this one",
            f"run gputop {pid} on the host, as root",
        )
    except OSError:
        return None
    return None


def _filtered() -> bool:
    """Whether this process may not even read its own memory in the way that py-spy reads others'."""
    import ctypes  # asked for after a refusal alone: it costs a megabyte

    class Piece(ctypes.Structure):
        _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))

    source, copy = ctypes.create_string_buffer(b"x", 1), ctypes.create_string_buffer(1)
    pieces = [Piece(ctypes.addressof(buffer), 1) for buffer in (copy, source)]
    local, remote = map(ctypes.byref, pieces)
    libc = ctypes.CDLL(None, use_errno=True)
    read = libc.process_vm_readv(os.getpid(), local, 1, remote, 1, 0)
    return read < 0 and ctypes.get_errno() in (errno.EPERM, errno.EACCES)


def _has_ptrace(own: Mapping[str, str]) -> bool:
    return bool(_mask(own, "CapEff") >> _SYS_PTRACE & 1)


def _mask(status: Mapping[str, str], name: str) -> int:
    try:
        return int(status.get(name, "0"), 16)
    except ValueError:
        return 0


def _effective(users: str) -> str | None:
    words = users.split()
    return words[1] if len(words) > 1 else None


def _status(root: Path, who: str) -> dict[str, str]:
    try:
        lines = read_file(root / "proc" / who / "status").decode("utf-8", "replace").splitlines()
    except OSError:
        return {}
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
