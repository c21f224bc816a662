"""What was asked for by pid is a job, also where no variable, launcher or GPU says so."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec.structs import replace

from ...jobs.command_line import CommandKind, is_spawned, kind_of, python_of, untitled
from ...jobs.rank_identity import Identity, identity_of
from ...model.process_readings import ProcessReading

_STARTERS = ("shell", "prompt", "wrapper")


def mark_attached(
    readings: Sequence[ProcessReading], attached: Collection[int]
) -> list[ProcessReading]:
    """The readings, with the training programs marked that the pids asked for belong to.

    Of a loader's worker that is the program above it; of a shell, the programs below it.
    """
    by_pid = {reading.pid: reading for reading in readings}
    marked = {
        pid for asked in attached if asked in by_pid for pid in _programs(by_pid[asked], by_pid)
    }
    return [
        replace(reading, attached=True) if reading.pid in marked else reading
        for reading in readings
    ]


def has_parts(command: Sequence[str] | None, others: Iterable[Sequence[str] | None]) -> bool:
    """Whether one of ``others`` was forked, or started by multiprocessing, from a program of this
    command: a worker, not a job."""
    if not command or python_of(command) is None:
        return False
    return any(other and (other == command or is_spawned(other)) for other in others)


def shells_of_ranks(readings: Sequence[ProcessReading]) -> list[int]:
    """Pids of the shells that started a rank of several, which has its name from there."""
    by_pid = {reading.pid: reading for reading in readings}
    shells: dict[int, None] = {}
    for reading in readings:
        shell = by_pid.get(reading.parent_pid or 0)
        if shell is None or _kind(shell) not in _STARTERS:
            continue
        name = _name(reading)
        if name is not None and _name(shell) != name:  # one of that very name is within the rank
            shells[shell.pid] = None
    return list(shells)


def fellow_ranks(
    readings: Sequence[ProcessReading], beside: Sequence[ProcessReading]
) -> list[ProcessReading]:
    """Of the processes ``beside``, those that are a rank among as many as one of the ``readings`` is."""
    if not beside:
        return []
    sizes = {name.world_size for reading in readings if (name := _name(reading)) is not None}
    return [
        each for each in beside if (name := _name(each)) is not None and name.world_size in sizes
    ]


def _name(process: ProcessReading) -> Identity | None:
    """Which rank of several it is."""
    identity = identity_of(process)
    return None if identity is None or identity.world_size == 1 else identity


def _programs(asked: ProcessReading, by_pid: dict[int, ProcessReading]) -> Iterator[int]:
    if _kind(asked) == "launcher":
        return  # its ranks have names
    if _kind(asked) in _STARTERS:
        yield from _below(asked, by_pid)
        return
    top, seen = asked, {asked.pid}
    while (above := by_pid.get(top.parent_pid or 0)) and above.pid not in seen:
        if not has_parts(above.command, (top.command,)):
            break
        seen.add(above.pid)
        top = above
    yield top.pid


def _below(starter: ProcessReading, by_pid: dict[int, ProcessReading]) -> Iterator[int]:
    for child in by_pid.values():
        if child.parent_pid != starter.pid or child.pid == starter.pid:
            continue
        if _is_python(child):
            yield child.pid
        elif _kind(child) in _STARTERS and child.pid > starter.pid:
            yield from _below(child, by_pid)


def _is_python(process: ProcessReading) -> bool:
    return _kind(process) == "program" and python_of(_command(process)) is not None


def _kind(process: ProcessReading) -> CommandKind:
    return kind_of(_command(process))


def _command(process: ProcessReading) -> tuple[str, ...]:
    return untitled(process.command, titled=process.titled)
