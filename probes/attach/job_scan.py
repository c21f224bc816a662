"""The jobs of this node, whether or not they are on a GPU that the driver shows: one look at all processes.

Launchers, Python processes whose environment names a rank, and those with a GPU open or in a process group.
Of other users' processes without rights only the launchers are reported from the rest.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ..jobs.command_line import is_gputop, is_python_file, kind_of, python_of, untitled
from ..jobs.grouping import group_jobs
from ..jobs.ownership import jobs_of
from ..jobs.rank_identity import Identity, identity_of
from ..model.job_frames import JobFrame
from ..model.process_readings import ProcessReading
from ..sources.processes.gpu_files import open_gpus
from ..sources.processes.group_threads import in_process_group
from ..sources.processes.source import ProcessSource
from ..sources.procfs.environment import parse_environment
from ..sources.procfs.files import read_file
from ..sources.procfs.text import parse_command, parse_stat
from ..sources.procfs.tree import is_leaf, parent_pid
from ..sources.watchlist import Watchlist
from .process_search import pids_named

_COMMAND_BYTES = 32768
_ENVIRONMENT_BYTES = 1 << 18
_CONTROL_DEVICE = "dev/nvidiactl"


class _Candidate(NamedTuple):
    parent_pid: int
    identity: Identity | None
    launcher: bool


def jobs_here(root: Path = Path("/")) -> tuple[JobFrame, ...]:
    """The jobs, the oldest first; without GPUs and phases, which take longer to tell.

    Args:
        root: of the file system with ``proc`` in it.
    """
    found = dict(_candidates(root))
    return jobs_with(_outermost(found), root)


def jobs_with(pids: Iterable[int], root: Path = Path("/")) -> tuple[JobFrame, ...]:
    """What whoever watches these processes would see of jobs, the oldest first; as `jobs_here`."""
    watchlist = Watchlist()
    for pid in pids:
        watchlist.attach(pid)
    if not watchlist.attached():
        return ()
    source = ProcessSource(watchlist, root)
    try:
        return group_jobs(source.read(), ()).jobs
    finally:
        source.close()


def jobs_below(pid: int) -> list[JobFrame]:
    """The job that a process is a part of, or else all that it has started; none for a childless one."""
    return [] if is_leaf(pid) else jobs_of(jobs_with([pid]), pid, parent_pid)


def jobs_named(pattern: str) -> tuple[list[JobFrame], int | None]:
    """The jobs of the processes whose command line fits, and one of these to watch; ``None``: no process fits."""
    fitting = pids_named(pattern)
    all_jobs = jobs_with(fitting) if fitting else ()
    by_pid = {pid: jobs_of(all_jobs, pid, parent_pid) for pid in fitting}
    wanted = {job.id for found in by_pid.values() for job in found}
    first = next((pid for pid, found in by_pid.items() if found), next(iter(fitting), None))
    return [job for job in all_jobs if job.id in wanted], first


def _outermost(found: Mapping[int, _Candidate]) -> Iterator[int]:
    for pid, candidate in found.items():
        above = found.get(candidate.parent_pid)
        # A loader's worker has inherited its rank's name.
        if candidate.launcher or above is None or above.identity != candidate.identity:
            yield pid


def _candidates(root: Path) -> Iterator[tuple[int, _Candidate]]:
    own = os.getpid()
    on_gpus = (root / _CONTROL_DEVICE).exists()
    for name in os.listdir(root / "proc"):  # noqa: PTH208 - no Path per process
        if name.isdecimal() and int(name) != own:
            candidate = _candidate(f"{root}/proc/{name}", int(name), on_gpus)
            if candidate is not None:
                yield int(name), candidate


def _candidate(folder: str, pid: int, on_gpus: bool) -> _Candidate | None:
    try:
        stat = parse_stat(read_file(f"{folder}/stat"))
        if stat is None or stat.kernel_thread or stat.state in "ZX":
            return None
        command = parse_command(read_file(f"{folder}/cmdline", _COMMAND_BYTES))
    except OSError:
        return None
    if python_of(command) is None:
        command = untitled(command, titled=_is_python(folder))
    kind = kind_of(command)
    if kind == "launcher":
        return _Candidate(stat.parent_pid, None, launcher=True)
    if kind != "program" or python_of(command) is None or is_gputop(command):
        return None
    identity = _identity(folder, pid, command)
    if identity is not None or (on_gpus and open_gpus(f"{folder}/fd")) or in_process_group(folder):
        return _Candidate(stat.parent_pid, identity, launcher=False)
    return None


def _is_python(folder: str) -> bool:
    try:
        return is_python_file(os.readlink(f"{folder}/exe"))  # noqa: PTH115
    except OSError:
        return False


def _identity(folder: str, pid: int, command: tuple[str, ...]) -> Identity | None:
    try:
        environment = parse_environment(read_file(f"{folder}/environ", _ENVIRONMENT_BYTES))
    except OSError:
        environment = {}
    return identity_of(
        ProcessReading(
            monotonic_seconds=0.0,
            pid=pid,
            start_time_seconds=0.0,
            command=command,
            environment=environment,
        )
    )
