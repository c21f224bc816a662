"""A stack for which the target is stopped: whole, with C functions if wanted, and only when asked for.

The pause grows with the number of threads. Afterwards the target's state is looked at: a debugger that
fails may leave what it looked at stopped.
"""

from __future__ import annotations

import time
from pathlib import Path

from ...model.rank_readings import StackReading
from ..procfs.ptrace_access import refusal_of_access, refusal_of_program, refusal_of_target
from ..procfs.target import TargetError, start_time_of
from ..procfs.text import parse_stat, parse_status, same_start
from .decode import decode_dump
from .py_spy import TIMEOUT_SECONDS, find_py_spy, run_py_spy
from .reader import REINSTALL

_STOPPED = frozenset("Tt")
_SETTLING_SECONDS = 0.2


def take_exact(pid: int, start_time_seconds: float, *, native: bool) -> StackReading:
    """One dump that stops the process; ``state_after`` says whether it goes on.

    Raises:
        TargetError: where it was not taken; then the process was let go on too.
    """
    binary = find_py_spy()
    if binary is None:
        raise TargetError(f"the py-spy binary is missing: {REINSTALL}")
    began = start_time_of(pid)
    refusal = refusal_of_target(pid)
    if refusal is not None or began is None or not same_start(began, start_time_seconds):
        raise TargetError(str(refusal) if refusal else f"there is no process {pid} any more")
    state = _state_of(pid)
    if state == "D":
        raise TargetError(f"{pid} is in state D: a dump that stops it would hang, as it does")
    if state in _STOPPED:
        raise TargetError(f"{pid} is stopped already: the stack shown is exact")
    options = ("--native",) if native else ()
    now = time.monotonic()
    try:
        words = ("dump", "--json", *options, "--pid", str(pid))
        output = run_py_spy(binary, *words, gives_way=False)  # the target waits for it
    except OSError as error:
        raise TargetError(f"py-spy does not start ({error.strerror}): {REINSTALL}") from error
    threads = decode_dump(output.out, _own_number(pid)) if output.code == 0 else None
    after = _state_afterwards(pid)
    if threads is None:
        raise TargetError(_why(pid, output.code, output.errors, after))
    return StackReading(
        monotonic_seconds=now,
        pid=pid,
        start_time_seconds=start_time_seconds,
        threads=threads,
        main_stacks=tuple(thread.frames for thread in threads if thread.main)[:1],
        taken=1,
        duration_seconds=time.monotonic() - now,
        state_after=after,
    )


def _why(pid: int, code: int | None, errors: str, after: str | None) -> str:
    refusal = refusal_of_target(pid) or refusal_of_access(pid) or refusal_of_program(pid)
    said = errors.split("Stack backtrace:")[0].strip().replace("\n", " ")[:200]
    slow = f"py-spy gave no answer in {TIMEOUT_SECONDS:g} s" if code is None else ""
    left = f"; it is stopped now: kill -CONT {pid}" if after in _STOPPED else ""
    return (str(refusal) if refusal else slow or said or "py-spy failed") + left


def _state_afterwards(pid: int) -> str | None:
    """A debugger's last stop may end a moment after the debugger."""
    deadline = time.monotonic() + _SETTLING_SECONDS
    while (state := _state_of(pid)) in _STOPPED and time.monotonic() < deadline:
        time.sleep(_SETTLING_SECONDS / 10)
    return state


def _state_of(pid: int) -> str | None:
    try:
        stat = parse_stat(Path(f"/proc/{pid}/stat").read_bytes())
    except OSError:
        return None
    return stat.state if stat else None


def _own_number(pid: int) -> int:
    try:
        pids = parse_status(Path(f"/proc/{pid}/status").read_bytes()).namespace_pids
    except OSError:
        return pid
    return pids[-1] if pids else pid
