"""The rows of the GPUs: the first thing that is looked at."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import msgspec

from ...probes.model.frame import Frame
from ...probes.model.gpu_frames import GpuFrame
from ...probes.model.job_frames import RankFrame
from ...rules.finding import SEVERITY_ORDER, Finding
from ...rules.job_labels import CELLS
from ..drawing import format
from ..drawing.columns import Column, Layout, Spans, chosen_line, lay_out, with_note
from ..drawing.explanations import Section, column_terms
from ..drawing.finding_words import name_within, unseen_seconds
from ..drawing.glyphs import DASH, DEGREE, DOT, FOLD
from ..drawing.lines import Line, LineBuilder, Span, left, plain
from ..drawing.missing import gets_no_cpu, why_no_gpus
from ..drawing.severity_marks import severity_mark
from ..drawing.target import Block, gpu_target
from ..session.view import View, window
from . import gpu_cells as cells
from . import link_cells
from .gpu_cells import GpuRow
from .gpu_facts import xid_text, xids_of

PAST_SAMPLES_PER_CELL = 4
"""A history that moves by a cell each time would be sent whole each time."""
_PAST_CELLS = 60
_NAMES_FROM = 80
_ROADS_FROM = 89
_MEDIUM_COLUMNS_FROM = 118
_FULL_COLUMNS_FROM = 132
_TWO_GAPS_FROM = 176
_WORTH_SAYING_SECONDS = 2.0
DEAD_SHOWN_SECONDS = 3600.0
"""For so long a GPU that nobody took since shows who died on it."""

_ABOUT = {**cells.ABOUT, **link_cells.ABOUT}


def _column(
    title: str, width: int, cell: Callable[[GpuRow, int], Spans], **more: Any
) -> Column[GpuRow]:
    return Column(title, width, cell, _ABOUT[cell], **more)


_COMPACT: tuple[Column[GpuRow], ...] = (
    _column("#", 2, cells.index),
    _column("rank", 4, cells.rank, rank=1, ragged=True),
    _column("phase", 12, cells.phase, rank=1, ragged=True),
    _column("util", 6, cells.utilization_bar, rank=3, most=10, ragged=True),
    _column("%", 3, cells.utilization),
    _column("SM", 3, cells.sm, rank=5),
    _column("tensor", 6, cells.tensor, rank=8),
    _column("mem GiB", 7, cells.memory, rank=1),
    _column("W", 4, cells.power, rank=1),
    _column(f"{DEGREE}C", 3, cells.temperature),
    _column("MHz", 6, cells.clock, rank=4),
    _column("", 14, cells.note, rank=2, most=60, ragged=True),
)
_WITH_NAMES: tuple[Column[GpuRow], ...] = (
    *_COMPACT[:-1],
    msgspec.structs.replace(_COMPACT[-1], width=18),
)
"""The same, where a finding's name keeps more room than the bar."""
_WITH_ROADS: tuple[Column[GpuRow], ...] = (
    *_COMPACT[:-1],
    _column("PCIe", link_cells.BUSIER_FROM, link_cells.pcie, rank=6),
    _column("NVLink", link_cells.BUSIER_FROM, link_cells.nvlink, rank=7),
    msgspec.structs.replace(_COMPACT[-1], width=20),
)
"""Only where the notes keep enough room to be read."""
_FULL: tuple[Column[GpuRow], ...] = (
    _column("#", 2, cells.index),
    _column("rank", 4, cells.rank, rank=1, ragged=True),
    _column("phase", 14, cells.phase, rank=1, most=17, ragged=True),
    _column("util", 8, cells.utilization_bar, most=22, ragged=True),
    _column("%", 3, cells.utilization),
    _column("history", 12, cells.past, rank=9, most=_PAST_CELLS, ragged=True),
    _column("SM", 3, cells.sm),
    _column("tensor", 6, cells.tensor, rank=2),
    _column("DRAM", 4, cells.dram, rank=7),
    _column("memory", 6, cells.memory_bar, rank=8, most=12, ragged=True),
    _column("GiB", 11, cells.memory),
    _column("power W", 9, cells.power),
    _column(f"{DEGREE}C", 3, cells.temperature),
    _column("SM MHz", 6, cells.clock),
    _column("PCIe GB/s", 11, link_cells.pcie, rank=3, most=25),
    _column("NVLink GB/s", 11, link_cells.nvlink, rank=4, most=25),
    _column("", 24, cells.note, most=44, ragged=True),
)
_DISPENSABLE = 7
"""Rank of a column from which the links come first."""
_NARROW: dict[str, dict[str, Any]] = {
    "PCIe GB/s": {"title": "PCIe", "width": link_cells.BUSIER_FROM, "most": 11},
    "NVLink GB/s": {"title": "NVLink", "width": link_cells.BUSIER_FROM, "most": 11},
    "": {"width": 22, "most": 0},
}
_MEDIUM = tuple(
    msgspec.structs.replace(column, **{"most": 0, **_NARROW.get(column.title, {})})
    for column in _FULL
    if column.rank < _DISPENSABLE
)
"""As `_FULL`, where there is no room for it: all that is left goes to the links."""

_LAYOUTS = (
    (_FULL_COLUMNS_FROM, _FULL),
    (_MEDIUM_COLUMNS_FROM, _MEDIUM),
    (_ROADS_FROM, _WITH_ROADS),
    (_NAMES_FROM, _WITH_NAMES),
    (0, _COMPACT),
)
"""From so many cells on → these columns."""


_JOB = _column("job", CELLS, cells.job, rank=1, ragged=True)


def gpu_block(view: View, width: int, rows: int, *, titled: bool = True) -> Block:
    """The titles, and as many GPUs as fit in ``rows`` lines with them.

    Args:
        view: what to draw from.
        width: cells.
        rows: lines.
        titled: a heading above tells which GPUs are out of sight; else the titles must.
    """
    gpus = view.frame.gpus
    layout = layout_at(width, several=_several(view))
    head = layout.header
    if not gpus:
        why = why_no_gpus(view.frame) or "no GPU is known yet"
        wrapped = textwrap.wrap(plain(why), width - 4)[: max(1, rows - 1)]
        return Block.of([head, *[((left(f"  {text}", width), "warm"),) for text in wrapped]])
    shown = _shown(view, rows - 1)
    found = _worst_findings(view)
    ranks = _ranks(view)
    hidden = gpus_hidden(view, rows)
    if hidden and not titled:
        head = with_note(head, hidden, layout.width)
    labels = view.job_labels
    lines = [
        _line(view, gpu, ranks.get(gpu.index), found.get(gpu.index), layout, labels)
        for gpu in shown
    ]
    return Block([head, *lines], [None, *[gpu_target(gpu.index) for gpu in shown]])


def gpus_hidden(view: View, rows: int) -> str:
    """Which GPUs are out of sight when there are ``rows`` lines with the titles, in words."""
    gpus = view.frame.gpus
    shown = _shown(view, rows - 1)
    if len(shown) >= len(gpus):
        return ""
    return f"GPU {shown[0].index} to {shown[-1].index} of {len(gpus)}"


def explained(view: View, width: int) -> Section:
    """For the help: the columns at this width."""
    return Section("GPUs", column_terms(layout_at(width, several=_several(view))))


def _several(view: View) -> bool:
    """Whether it must be told of which job a rank is."""
    return bool(view.job_labels) and len({job for job, _ in _ranks(view).values()}) > 1


@lru_cache(16)
def layout_at(width: int, *, several: bool = False) -> Layout[GpuRow]:
    """The columns that fit in so many cells, with the job where there are several."""
    columns = next(columns for least, columns in _LAYOUTS if width >= least)
    if several:
        columns = (columns[0], _JOB, *columns[1:])
    return lay_out(columns, width, 2 if width >= _TWO_GAPS_FROM else 1)


def _shown(view: View, rows: int) -> Sequence[GpuFrame]:
    gpus = view.frame.gpus
    selected = view.selected
    at = None
    if selected is not None and selected.kind == "gpu":
        at = next((at for at, gpu in enumerate(gpus) if str(gpu.index) == selected.id), None)
    elif len(gpus) > rows:
        at = _worst(view)
    first = window(len(gpus), max(1, rows), at)
    return gpus[first : first + max(1, rows)]


def _worst(view: View) -> int | None:
    """Place of the GPU that must be in sight: one that does not answer, else the worst found."""
    notes = _worst_findings(view)

    def urgency(place: int) -> tuple[bool, bool, tuple[bool, int]]:
        gpu = view.frame.gpus[place]
        found = notes.get(gpu.index)
        return (gpu.status == "ok", found is None, _urgency(found) if found else (False, 0))

    return min(range(len(view.frame.gpus)), key=urgency, default=None)


def _line(
    view: View,
    gpu: GpuFrame,
    placed: tuple[str, RankFrame] | None,
    found: Finding | None,
    layout: Layout[GpuRow],
    labels: Mapping[str, str],
) -> Line:
    job, rank = placed or (gpu.job_id or "", None)
    chosen = view.selected == gpu_target(gpu.index)
    if gpu.status in ("lost", "failed") or not gpu.ever_read:
        return chosen_line(_valueless_line(gpu, rank, found, view.frame, layout.width), chosen)
    note, past = partial(_note, gpu, found, view.frame), partial(_past, view, gpu.index)
    row = GpuRow(gpu, rank, labels.get(job, ""), note, past)
    return chosen_line(layout.line(row), chosen)


def _past(view: View, index: int, cells: int) -> list[float | None]:
    return view.history.gpu(index, "utilization_ratio").blocks(PAST_SAMPLES_PER_CELL, cells)


def _valueless_line(
    gpu: GpuFrame, rank: RankFrame | None, found: Finding | None, frame: Frame, width: int
) -> Line:
    """The row of a GPU of which there is nothing to show but what is wrong with it, and what to do."""
    mark, role = severity_mark("error")
    line = LineBuilder(width).gap().add(f"{gpu.index:>2}", "strong").gap()
    line.add(f"{mark} {_what_is_wrong(gpu, frame)}", role)
    alive = rank is not None and rank.ended_age_seconds is None
    age = rank.phase_unbroken_seconds if rank is not None and alive else None
    if rank is not None and age is not None and age >= _WORTH_SAYING_SECONDS:
        phase = plain(rank.phase or DASH)
        line.add(f" {DOT} rank {_number(gpu)} in {phase} for {format.duration(age)}", "strong")
    elif gpu.rank is not None:
        line.add(f" {DOT} was rank {gpu.rank}", "dim")
    if gpu.age_seconds >= _WORTH_SAYING_SECONDS and gpu.ever_read:
        line.add(f" {DOT} last reading {format.duration(gpu.age_seconds)} old", "dim")
    if gpu.status == "failed" and found is not None:
        line.add(f" {DOT} {plain(found.next_step)}", "text")
    return line.line()


def _number(gpu: GpuFrame) -> str:
    return "?" if gpu.rank is None else str(gpu.rank)


def _what_is_wrong(gpu: GpuFrame, frame: Frame) -> str:
    if gpu.status == "lost":
        return f"GPU is lost: {_why_lost(gpu, frame)}"
    if gpu.status == "failed":
        return f"driver says: {plain(gpu.status_reason)}"
    return plain(gpu.status_reason)


def _why_lost(gpu: GpuFrame, frame: Frame) -> str:
    """The last Xid tells more than that it is lost."""
    xids = xids_of(gpu, frame)
    if xids:
        return xid_text(max(xids, key=lambda xid: xid.time_seconds))
    return plain(gpu.status_reason) or "no reason is given"


def _note(gpu: GpuFrame, found: Finding | None, frame: Frame, width: int) -> Sequence[Span]:
    """The worst thing that is said of it, in a few words."""
    if gpu.status == "stale":
        if gets_no_cpu(frame, gpu.index):
            return ((f"{format.duration(gpu.age_seconds)} old", "warm"),)
        mark, role = severity_mark("error")
        # In few words: the age is what must not be cut.
        return ((f"{mark} ", role), (f"silent {format.duration(gpu.age_seconds)}", role))
    if found is None:
        return ()
    name = name_within(found, width - 2)
    if found.explained_by is not None:  # said quietly: what stands out is where to look
        return ((f"{FOLD} ", "rule"), (name, "dim"))
    mark, role = severity_mark(found.severity)
    return ((f"{mark} ", role), (name, "text" if found.severity == "info" else role))


def _ranks(view: View) -> dict[int, tuple[str, RankFrame]]:
    """The rank on each GPU, with its job: of the largest job one that lives, or else the one that died on it last."""
    placed = [
        (rank.gpu_index, (job.id, rank))
        for job in sorted(view.frame.jobs, key=lambda job: len(job.ranks))
        for rank in job.ranks
        if rank.gpu_index is not None and (rank.ended_age_seconds or 0.0) < DEAD_SHOWN_SECONDS
    ]
    return dict(sorted(placed, key=lambda place: -(place[1][1].ended_age_seconds or 0.0)))


def _worst_findings(view: View) -> dict[int, Finding]:
    """Of each GPU."""
    worst: dict[int, Finding] = {}
    for finding in view.judgement.active:
        index = finding.subject.gpu
        if index is None or unseen_seconds(finding, view.frame):
            continue
        known = worst.get(index)
        if known is None or _worse(finding, known):
            worst[index] = finding
    return worst


def _worse(finding: Finding, known: Finding) -> bool:
    return _urgency(finding) < _urgency(known)


def _urgency(finding: Finding) -> tuple[bool, int]:
    return (finding.explained_by is not None, SEVERITY_ORDER[finding.severity])
