"""Processes as rows: who it is, on which GPU, and what it is doing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import msgspec
from msgspec.structs import replace

from ...probes.jobs.command_line import is_descriptor
from ...probes.model.process_frames import ProcessFrame
from ...rules.job_labels import CELLS
from ..drawing import format
from ..drawing.columns import Column, Layout, Spans, chosen_line, lay_out
from ..drawing.explanations import Section, column_terms
from ..drawing.glyphs import DASH
from ..drawing.lines import Line, left, plain, right
from ..drawing.rank_words import number_text
from ..drawing.target import Block, process_target
from ..session.view import SortKey, View, window

_BLOCKED = "D"
_WORST_STATES = {"D": "hot", "Z": "hot", "T": "warm", "t": "warm"}


class ProcessRow(msgspec.Struct, frozen=True):
    """What a row shows."""

    process: ProcessFrame
    branch: str = ""
    """Drawn before the command: the lines of a tree."""
    job: str = ""
    """Short name of its job."""


Cell = Callable[[ProcessRow, int], Spans]


def matching(view: View) -> list[ProcessFrame]:
    """The processes that the filter lets through, in the order asked for."""
    found = view.frame.processes
    if view.filter:  # else nothing needs to be put in words
        found = tuple(process for process in found if view.lets(*_texts(process)))
    return sorted(found, key=_ORDERS[view.sort])


def important(processes: Sequence[ProcessFrame]) -> list[ProcessFrame]:
    """Those on a GPU, and those that are stuck."""
    return [process for process in processes if process.gpus or process.state == _BLOCKED]


def process_block(view: View, rows_of: Sequence[ProcessRow], width: int, rows: int) -> Block:
    """The titles, and as many processes as fit in ``rows`` lines with them."""
    room = max(0, rows - 1)
    first = window(len(rows_of), room, _selected(view, rows_of))
    blocks = [row_block(view, row, width) for row in rows_of[first : first + room]]
    return Block(
        [table_header(view, width), *(line for block in blocks for line in block.lines)],
        [None, *(target for block in blocks for target in block.targets)],
    )


def table_header(view: View, width: int) -> Line:
    """The titles."""
    return layout_at(width, several=_several(view)).header


def _several(view: View) -> bool:
    """Whether it must be told of which job a rank is."""
    if not view.job_labels:
        return False
    return len({process.job_id for process in view.frame.processes} - {None}) > 1


def row_block(view: View, row: ProcessRow, width: int) -> Block:
    """One process."""
    target = process_target(row.process)
    label = view.job_labels.get(row.process.job_id or "", "")
    line = _kept_line(replace(row, job=label), width, several=_several(view))
    return Block([chosen_line(line, view.selected == target)], [target])


_kept: dict[tuple[object, ...], Line] = {}
"""Lines drawn before: most processes look the same from one moment to the next."""
_KEPT_MOST = 512


def _kept_line(row: ProcessRow, width: int, *, several: bool) -> Line:
    process = row.process
    cores = process.cpu_cores
    looks = (
        *(
            width,
            several,
            row.job,
            row.branch,
            process.pid,
            process.start_time_seconds,
            process.user,
        ),
        *(process.role, process.rank, process.gpus, process.gpu_memory_bytes, process.sm_ratio),
        *(None if cores is None else round(cores, 3), process.rss_bytes, process.state),
        *(process.wait_channel, process.name, process.command),
    )
    line = _kept.get(looks)
    if line is None:
        if len(_kept) >= _KEPT_MOST:
            _kept.clear()
        line = _kept[looks] = layout_at(width, several=several).line(row)
    return line


def command_of(process: ProcessFrame) -> str:
    """The command line, without the folders of its program and its script."""
    if not process.command:
        return plain(process.name or DASH)
    program, *arguments = process.command
    if arguments and arguments[0].startswith("/") and not is_descriptor(arguments[0]):
        arguments[0] = arguments[0].rsplit("/", 1)[-1]
    return plain(" ".join([program.rsplit("/", 1)[-1], *arguments]))


def role_of(process: ProcessFrame) -> str:
    """``r3``, ``r3 worker``, ``launcher``."""
    if process.role == "rank":
        return number_text(process.rank)
    if process.role == "worker":
        return f"{number_text(process.rank)} worker"
    return "launcher" if process.role == "launcher" else ""


def _selected(view: View, rows_of: Sequence[ProcessRow]) -> int | None:
    if view.selected is None or view.selected.kind != "process":
        return None
    return next(
        (at for at, row in enumerate(rows_of) if process_target(row.process) == view.selected),
        None,
    )


def _texts(process: ProcessFrame) -> tuple[object, ...]:
    return (process.pid, process.user, role_of(process), process.state, command_of(process))


def _text(value: Callable[[ProcessFrame], str], role: str = "text") -> Cell:
    def cell(row: ProcessRow, width: int) -> Spans:
        return [(left(value(row.process), width), role)]

    return cell


def _number(value: Callable[[ProcessFrame], str]) -> Cell:
    def cell(row: ProcessRow, width: int) -> Spans:
        return [(right(value(row.process), width), "text")]

    return cell


def _gpus(process: ProcessFrame) -> str:
    return ",".join(map(str, process.gpus)) or DASH


def _state(row: ProcessRow, width: int) -> Spans:
    state = plain(row.process.state or DASH)
    return [(left(state, width), _WORST_STATES.get(state, "text"))]


def _wait(row: ProcessRow, width: int) -> Spans:
    process = row.process
    if process.state == "R":
        return [(left("running", width), "good")]
    role = "hot" if process.state == _BLOCKED else "dim"
    return [(left(plain(process.wait_channel or DASH), width), role)]


def _command(row: ProcessRow, width: int) -> Spans:
    branch = row.branch[:width]
    return [(branch, "rule"), (left(command_of(row.process), width - len(branch)), "text")]


def _cores(process: ProcessFrame) -> str:
    return format.number(process.cpu_cores, 5, 2)


def _job(row: ProcessRow, width: int) -> Spans:
    return [(left(plain(row.job or DASH), width), "text")]


_JOB: Column[ProcessRow] = Column(
    "job", CELLS, _job, "Short name of its job, where several are here.", rank=1, ragged=True
)
_COLUMNS: tuple[Column[ProcessRow], ...] = (
    Column(
        "pid",
        7,
        _number(lambda process: str(process.pid)),
        "Process id on this host, also for a process in a container.",
    ),
    Column(
        "user",
        8,
        _text(lambda process: plain(process.user or DASH), "dim"),
        "Who it runs as. /proc.",
        rank=5,
        ragged=True,
    ),
    Column(
        "role",
        9,
        _text(role_of, "strong"),
        "r3: rank 3 of a job; r?: one of unknown number. worker: one of its DataLoader workers. launcher: what started the "
        "ranks, such as torchrun. Worked out from /proc and the probe pages.",
        rank=1,
        ragged=True,
    ),
    Column("gpu", 4, _number(_gpus), "The GPUs on which the driver lists it. NVML.", rank=2),
    Column(
        "gpu mem",
        8,
        _number(lambda process: format.binary(process.gpu_memory_bytes)),
        "GPU memory that it has allocated on these GPUs, in bytes, now. NVML; a dash where "
        "the driver hides it, as in some containers.",
        rank=3,
    ),
    Column(
        "SM %",
        4,
        _number(lambda process: format.percent(process.sm_ratio, 4)),
        "Utilization: share of the time in which one of its kernels ran, however few "
        "multiprocessors it filled; mean over its GPUs, over the window of the driver, about "
        "a second. NVML.",
        rank=6,
    ),
    Column(
        "cores",
        5,
        _number(_cores),
        "CPU time it took, in cores: 1.50 is one and a half cores busy. Mean since the last sample. /proc.",
        rank=1,
    ),
    Column(
        "RSS",
        8,
        _number(lambda process: format.binary(process.rss_bytes)),
        "Host memory that is resident, shared pages included, in bytes, now. /proc/PID/statm.",
        rank=4,
    ),
    Column(
        "S",
        1,
        _state,
        "State by the letter of the kernel, now: R runs or is ready to, S sleeps, D waits for a "
        "device or file and cannot be killed, T is stopped, t is held by a debugger, Z has exited. "
        "/proc.",
        ragged=True,
    ),
    Column(
        "waits in",
        12,
        _wait,
        "Kernel function in which the main thread sleeps, now: futex waits for another thread, "
        "D-state ones for a device or file. /proc/PID/wchan.",
        rank=7,
        most=24,
        ragged=True,
    ),
    Column(
        "command",
        10,
        _command,
        "Command line with secrets masked, without the folders of program and script. /proc.",
        most=400,
        ragged=True,
    ),
)


def explained(view: View, width: int) -> Section:
    """For the help: the columns at this width."""
    return Section("Processes", column_terms(layout_at(width, several=_several(view))))


@lru_cache(8)
def layout_at(width: int, *, several: bool = False) -> Layout[ProcessRow]:
    """The columns that fit in so many cells, with the job where there are several."""
    return lay_out((*_COLUMNS[:2], _JOB, *_COLUMNS[2:]) if several else _COLUMNS, width)


def _less(value: float | None) -> float:
    return 1.0 if value is None else -value


def _place_of(process: ProcessFrame) -> tuple[float, int]:
    rank = process.rank if process.rank is not None else 1 << 20
    return (min(process.gpus, default=1 << 20), rank)


_ORDERS: dict[SortKey, Callable[[ProcessFrame], tuple[float, ...]]] = {
    "gpu": lambda process: (*_place_of(process), process.pid),
    "memory": lambda process: (_less(process.gpu_memory_bytes), process.pid),
    "SM": lambda process: (_less(process.sm_ratio), process.pid),
    "CPU": lambda process: (_less(process.cpu_cores), process.pid),
    "RSS": lambda process: (_less(process.rss_bytes), process.pid),
}
