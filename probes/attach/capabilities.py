"""Every access method of looking at a process, and whether it is open: tried, and not guessed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ..model.rank_readings import DUMPS
from ..sources.kernel_log.ways import open_way
from ..sources.nccl_ras.protocol import PORT, ask, of_pids
from ..sources.page.location import Owner, PageRefused, open_page
from ..sources.procfs.files import read_file
from ..sources.procfs.ptrace_access import capability_words, ptrace_scope, refusal_of_access
from ..sources.procfs.target import start_time_of
from ..sources.procfs.text import parse_stat, parse_status
from ..sources.protocol import SourceError
from ..sources.stacks.py_spy import find_py_spy
from ..sources.stacks.reader import REINSTALL, StackReader
from .stack_pause import NATIVE_SECONDS, expected_pause

_CAPABILITY = "CapEff:"
_SYS_PTRACE = 19


class AccessMethod(msgspec.Struct, frozen=True, kw_only=True):
    """One access method."""

    name: str
    open: bool
    gives: str
    cost: str
    reason: str = ""
    """Why not, with what lifts it."""


def access_methods_of(pid: int) -> Iterator[AccessMethod]:
    """For one process, the strongest first."""
    yield _probe(pid)
    yield _ras(frozenset({pid}))
    stacks = _stacks(pid)
    yield stacks
    yield _exact_stacks(pid, stacks)
    yield _readable(pid, "wchan", "wait channels", "what a sleeping thread waits for")
    yield _readable(pid, "environ", "environment", "rank, world size, Slurm job")
    yield _readable(pid, "io", "IO counters", "bytes read and written")
    yield _readable(pid, "fd", "descriptors", "files and GPUs that it has open")
    yield _readable(pid, "stat", "threads and counters", "state, CPU and switches of each thread")


def access_methods_here() -> Iterator[AccessMethod]:
    """For any process of this user."""
    yield _ras(frozenset())
    yield _stacks_here()
    yield _kernel_log()


def _probe(pid: int) -> AccessMethod:
    reason = ""
    try:
        stat = parse_stat(read_file(f"/proc/{pid}/stat"))
        status = parse_status(read_file(f"/proc/{pid}/status"))
        if stat is None or status.user_id is None:
            raise FileNotFoundError
        inner = status.namespace_pids[-1] if status.namespace_pids else pid
        owner = Owner(pid, inner, stat.start_ticks, status.user_id)
        page = open_page("", owner, asleep=stat.state == "D")
        if page is not None:
            os.close(page)
        elif os.geteuid() not in (0, status.user_id):
            reason = f"its page, if it has one, is not shown: {refusal_of_access(pid) or ''}"
        else:
            reason = (
                "no probe in it: start the job under gputop run, or where it runs Python 3.14: "
                f"gputop attach {pid} --inject"
            )
    except PageRefused as refusal:
        reason = str(refusal)
    except OSError:
        reason = f"there is no process {pid}"
    return AccessMethod(
        name="probe",
        open=not reason,
        gives="phases, steps, collectives in flight, also while it is frozen",
        cost="a read of its page",
        reason=reason,
    )


def _exact_stacks(pid: int, stacks: AccessMethod) -> AccessMethod:
    try:
        stat = parse_stat(read_file(f"/proc/{pid}/stat"))
    except OSError:
        stat = None
    pause = expected_pause(stat.threads if stat else None, native=False)
    return AccessMethod(
        name="exact stacks",
        open=stacks.open,
        gives="whole stacks, with C functions too",
        cost=f"stops it for about {pause * 1e3:.0f} ms, with C functions up to "
        f"{NATIVE_SECONDS * 1e3:.0f} ms: only by key b on the stacks screen",
        reason=stacks.reason,
    )


def _ras(pids: frozenset[int]) -> AccessMethod:
    reason = ""
    try:
        found = ask()
        if pids and not of_pids(found, pids):
            reason = f"the NCCL job on port {PORT} is another one"
    except SourceError as error:
        reason = error.reason
    return AccessMethod(
        name="NCCL RAS",
        open=not reason,
        gives="collectives launched by each rank",
        cost="one round trip",
        reason=reason,
    )


def _stacks(pid: int) -> AccessMethod:
    binary, began = find_py_spy(), start_time_of(pid)
    reason = ""
    if binary is None:
        reason = f"the py-spy binary is missing: {REINSTALL}"
    elif began is None:
        reason = f"there is no process {pid}"
    else:
        reader = StackReader(pid, began, binary)
        while reader.take().taken < DUMPS and not reader.reading.main_stacks:
            if reader.reading.refusal:
                break
        if not reader.reading.main_stacks:
            reason = reader.reading.refusal or "all dumps were inconsistent: try again"
    return _stacks_method(reason)


def _stacks_here() -> AccessMethod:
    reason = ""
    if find_py_spy() is None:
        reason = f"the py-spy binary is missing: {REINSTALL}"
    elif ptrace_scope() and not _has_ptrace():
        refusal = refusal_of_access(os.getppid())
        reason = str(refusal) if refusal else f"ptrace is restricted: {capability_words()}"
    return _stacks_method(reason)


def _stacks_method(reason: str) -> AccessMethod:
    return AccessMethod(
        name="stacks",
        open=not reason,
        gives="where in Python each rank is",
        cost="20 to 60 ms of CPU a dump; the job is not paused",
        reason=reason,
    )


def _readable(pid: int, name: str, title: str, gives: str) -> AccessMethod:
    reason = ""
    path = Path(f"/proc/{pid}/{name}")
    try:
        if name == "fd":
            next(path.iterdir(), None)
        elif not path.read_bytes() and name == "environ":
            reason = "it is empty"
    except OSError as error:
        refusal = refusal_of_access(pid)
        reason = str(refusal) if refusal else error.strerror or str(error)
    if name == "wchan" and not reason and not _shows_wait(pid):
        refusal = refusal_of_access(pid)
        reason = str(refusal) if refusal else ""
    return AccessMethod(
        name=title, open=not reason, gives=gives, cost="microseconds", reason=reason
    )


def _shows_wait(pid: int) -> bool:
    """A thread that runs has none; the kernel writes 0 also where it does not show it."""
    channels = (path.read_bytes() for path in list(Path(f"/proc/{pid}/task").glob("*/wchan"))[:64])
    try:
        return any(channel not in (b"", b"0") for channel in channels)
    except OSError:
        return False


def _kernel_log() -> AccessMethod:
    reason, gives = "", "Xids, PCIe errors and OOM kills, from before gputop began too"
    try:
        gives += f", by {open_way()}"
    except SourceError as error:
        reason = error.reason
    return AccessMethod(
        name="kernel log",
        open=not reason,
        gives=gives,
        cost="milliseconds of CPU, 0.2 s at most",
        reason=reason,
    )


def _has_ptrace() -> bool:
    lines = Path("/proc/self/status").read_text().splitlines()
    mask = next((line.split()[1] for line in lines if line.startswith(_CAPABILITY)), "0")
    return bool(int(mask, 16) >> _SYS_PTRACE & 1)
