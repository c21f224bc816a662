"""Processes: who is it?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from ...probes.model.host_frames import PressureFrame
from ...probes.model.process_frames import ProcessFrame
from ...probes.model.process_readings import LimitsReading
from ..drawing import format
from ..drawing.explanations import Section, Term
from ..drawing.finding_words import words_of
from ..drawing.glyphs import DASH, DOT
from ..drawing.lines import Line, LineBuilder, blank, heading, paragraph, plain, wrapped
from ..drawing.target import Block, Target, process_target
from ..panels.gpu_facts import missing_facts, signal_facts
from ..panels.host_line import explained as host_explained
from ..panels.host_line import host_line
from ..panels.process_table import ProcessRow, command_of, matching, row_block, table_header
from ..panels.process_table import explained as processes_explained
from ..panels.process_tree import Entry, tree
from ..panels.top_line import top_line
from ..session.view import View, window
from .picture_screen import BACK, PictureScreen

_MIN_ROWS = 3
_DETAIL_TERMS = (
    Term("threads", "How many it has. /proc."),
    Term("may use", "CPUs that its affinity mask allows. /proc."),
    Term(
        "ready without a core",
        "Share of the time in which its main thread could run and no core was free, since the last sample. "
        "/proc/PID/schedstat.",
    ),
    Term(
        "reads, writes", "Bytes a second to and from storage, since the last sample. /proc/PID/io."
    ),
    Term("switches", "How often a second it gave its core away by itself, mostly to wait."),
    Term("preempted", "How often a second the kernel took its core away for another."),
    Term(
        "major faults",
        "Pages a second that had to be read from storage first: mapped files, or swapped memory.",
    ),
    Term("cgroup", "Control group: its limits are those of the container, pod or Slurm step."),
)


class ProcessScreen(PictureScreen):
    """All processes as a tree, or sorted; below, everything about the selected one."""

    NAME = "processes"
    BINDINGS: ClassVar[list[BindingType]] = [
        BACK,
        Binding("x", "signal", "signal the process"),
        Binding("e", "environment", "environment of the selected process", show=False),
    ]
    WITHOUT = frozenset()

    def __init__(self, selected: Target | None = None) -> None:
        super().__init__()
        self.selected = selected

    def draw(self, view: View, width: int, height: int) -> Block:
        entries = entries_of(view)
        process = _selected(view)
        pressure = view.frame.pressure(process.cgroup) if process else None
        limits = view.frame.limits_of(process) if process else None
        below = _detail(process, pressure, limits, width, height - 3 - _MIN_ROWS) if process else []
        room = height - 4 - len(below)
        first = window(len(entries), room, _place(entries, view.selected))
        block = Block.of(
            [top_line(view, width), _title(view, entries, width), table_header(view, width)]
        )
        for entry in entries[first : first + room]:
            block = block + _entry(view, entry, width)
        block = block + Block.of([blank(width)] * (height - 1 - len(below) - len(block.lines)))
        return block + Block.of([*below, host_line(view, width)])

    def action_environment(self) -> None:
        if self.selected is not None:
            self.gputop.requests.environment(self.selected)
        else:
            self.tell("select a process first")

    def explained(self, view: View, width: int, height: int) -> Sequence[Section]:
        sections = [processes_explained(view, width)]
        if _selected(view) is not None:
            sections.append(Section("The selected process", _DETAIL_TERMS))
        return [*sections, host_explained(view, width)]

    def targets(self, view: View) -> Sequence[Target]:
        return [
            process_target(entry.process)
            for entry in entries_of(view)
            if isinstance(entry, ProcessRow)
        ]


def entries_of(view: View) -> list[Entry]:
    """A tree in the order of GPUs; else a plain list."""
    found = matching(view)
    if view.sort == "gpu":
        return tree(view.frame, found)
    return [ProcessRow(process) for process in found]


def _title(view: View, entries: Sequence[Entry], width: int) -> Line:
    count = sum(isinstance(entry, ProcessRow) for entry in entries)
    note = f"{count} {DOT} by {view.sort}"
    if view.filter:
        note += f" {DOT} matching {view.filter!r}"
    return heading("Processes", width, note)


def _entry(view: View, entry: Entry, width: int) -> Block:
    if isinstance(entry, str):
        return Block.of([LineBuilder(width).gap().add(entry, "title").line()])
    return row_block(view, entry, width)


def _place(entries: Sequence[Entry], selected: Target | None) -> int | None:
    return next(
        (
            at
            for at, entry in enumerate(entries)
            if isinstance(entry, ProcessRow) and process_target(entry.process) == selected
        ),
        None,
    )


def _selected(view: View) -> ProcessFrame | None:
    return next(
        (process for process in view.frame.processes if process_target(process) == view.selected),
        None,
    )


def _detail(
    process: ProcessFrame,
    pressure: PressureFrame | None,
    limits: LimitsReading | None,
    width: int,
    room: int,
) -> list[Line]:
    """Everything about one process that has no column; of a command that is too long the beginning."""
    command = plain(" ".join(process.command or ())) or command_of(process)
    others = paragraph(f" {DOT} ".join([*_activity(process), *_limits(limits)]), width)
    group = [f"cgroup {plain(process.cgroup or DASH)}"]
    group += [f"{words} {value}" for words, value, _ in signal_facts(pressure, "pressure")]
    others += paragraph(f" {DOT} ".join(group), width)
    reasons = [f"{words_of(name)}: {why}" for name, why in process.missing.items()]
    reasons += missing_facts(pressure, "pressure")
    reasons += [
        f"{words_of(name)}: {why}" for name, why in (limits.missing if limits else {}).items()
    ]
    missing = ", ".join(reasons)
    if missing:
        others += paragraph(f"missing: {plain(missing)}", width, "dim")
    lines = paragraph(command, width)
    spare = max(1, room - 1 - len(others))
    if len(lines) > spare:
        rest = " ".join(wrapped(command, width - 2)[spare - 1 :])
        lines = [*lines[: spare - 1], LineBuilder(width).gap(2).add(rest).line()]
    return [heading(f"pid {process.pid}", width), *lines, *others][: max(0, room)]


def _activity(process: ProcessFrame) -> list[str]:
    read = format.quantity(process.read_bytes_per_second, "bytes_per_second")
    write = format.quantity(process.write_bytes_per_second, "bytes_per_second")
    delay = format.quantity(process.run_delay_ratio, "ratio")
    switches = format.quantity(process.voluntary_switches_per_second, "per_second")
    preempted = format.quantity(process.involuntary_switches_per_second, "per_second")
    faults = format.quantity(process.major_faults_per_second, "per_second")
    return [
        f"{DASH if process.threads is None else process.threads} threads",
        f"may use {DASH if process.allowed_cpus is None else process.allowed_cpus} CPUs",
        f"ready without a core {delay}",
        f"reads {read}, writes {write}",
        f"switches {switches}",
        f"preempted {preempted}",
        f"major faults {faults}",
    ]


def _limits(limits: LimitsReading | None) -> list[str]:
    """What it may have only so much of; of ranks alone."""
    if limits is None:
        return []
    most = "" if limits.open_files_limit is None else f" of {limits.open_files_limit}"
    files = DASH if limits.open_files is None else f"{limits.open_files}{most}"
    free = "no limit"
    if limits.shm_total_bytes is not None:
        total = format.quantity(float(limits.shm_total_bytes), "bytes")
        free = f"{format.quantity(limits.shm_free_bytes, 'bytes')} of {total} free"
    elif "shm_total_bytes" in limits.missing:
        free = DASH
    return [f"open files {files}", f"/dev/shm {free}"]
