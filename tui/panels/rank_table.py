"""The ranks of a job as rows: what each is in, how its steps go, and whom it waits for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial

import msgspec

from ...probes.derive.step_statistics import RECENT
from ...probes.model.job_frames import JobFrame, RankFrame
from ...rules.attributed_waits import with_attributed_waits
from ...rules.progress import not_counted
from ..drawing import format
from ..drawing.columns import Column, Layout, Spans, chosen_line, lay_out, with_note
from ..drawing.explanations import Section, column_terms
from ..drawing.glyphs import DASH, DOT
from ..drawing.lines import Line, LineBuilder, left, plain, right
from ..drawing.phase_marks import phase_bar
from ..drawing.rank_words import STOPPED, name_of_rank, ranks_text
from ..drawing.target import Block, rank_target
from ..session.view import View
from .gpu_cells import phase_spans
from .rank_delays import Delay

_UNITS = {"tok/s": "Tokens", "smp/s": "Samples"}
_WORTH_SAYING_SECONDS = 1.0
_WORTH_SAYING_RATIO = 0.03
"""Of the time shown: so much others must have waited for a rank before its row says so."""


class RankRow(msgspec.Struct, frozen=True):
    """What a row shows."""

    rank: RankFrame
    delay: Delay | None
    shaded: bool


def rank_block(
    view: View,
    job: JobFrame,
    ranks: Sequence[RankFrame],
    delays: Mapping[int, Delay],
    width: int,
    count: str = "",
) -> Block:
    """The titles, and a row for each of these ranks; how many of how many they are, where not all."""
    layout = layout_at(width, _unit(job))
    rows = [
        RankRow(rank, delays.get(rank.rank) if rank.rank is not None else None, view.shaded)
        for rank in with_attributed_waits(ranks, job, view.judgement.active)
    ]
    lines = [
        chosen_line(_line(row, layout), view.selected == rank_target(row.rank)) for row in rows
    ]
    targets = [rank_target(rank) for rank in ranks]
    header = with_note(layout.header, f"{count} ranks", width) if count else layout.header
    return Block([header, *lines], [None, *targets])


def state_text(rank: RankFrame) -> tuple[str, str]:
    """What is out of the ordinary about a rank, and the role to say it in; empty where nothing is."""
    if rank.ended_age_seconds is not None:
        return f"exited {died_text(rank)}", "error"
    if rank.stopped:
        return STOPPED, "error"
    if rank.phase is None:
        return plain(rank.missing.get("phase", "no phase is reported")), "dim"
    if waits := long_waits(rank):
        return f"waits for {ranks_text(waits)}", "comm"
    if not_counted(rank):
        return "not counted", "warm"
    return "", "text"


def long_waits(rank: RankFrame) -> Sequence[int]:
    """For whom it waits, where that has lasted: for a moment everybody waits for somebody."""
    return rank.waits_for if (rank.phase_age_seconds or 0.0) >= _WORTH_SAYING_SECONDS else ()


def died_text(rank: RankFrame) -> str:
    """``in backward of step 812, 41 s ago``."""
    phase = f"in {plain(rank.phase)} " if rank.phase else ""
    step = "" if rank.current_step is None else f"of step {format.grouped(rank.current_step)}, "
    return f"{phase}{step}{format.duration(rank.ended_age_seconds)} ago"


def _unit(job: JobFrame) -> str:
    """Tokens where any rank counts them, also while it stands still."""
    field = "tokens_per_second"
    counted = any(rank.tokens_per_second is not None or field in rank.missing for rank in job.ranks)
    return "tok/s" if counted else "smp/s"


def _line(row: RankRow, layout: Layout[RankRow]) -> Line:
    rank = row.rank
    if rank.phase is not None and rank.ended_age_seconds is None:
        return layout.line(row)
    text, role = state_text(rank)
    line = LineBuilder(layout.width).gap().add(left(name_of_rank(rank), 5), "strong").gap()
    if any(column.title == "gpu" for column, _ in layout.columns):
        line.extend(_gpu(row, 3)).gap()
    return line.add(text, role).add(f" {DOT} pid {rank.pid}", "dim").line()


def _name(row: RankRow, width: int) -> Spans:
    return [(left(name_of_rank(row.rank), width), "strong")]


def _gpu(row: RankRow, width: int) -> Spans:
    index = row.rank.gpu_index
    return [(right(DASH if index is None else str(index), width), "text")]


def _phase(row: RankRow, width: int) -> Spans:
    return phase_spans(row.rank, width)


def _bar(row: RankRow, width: int) -> Spans:
    return phase_bar(row.rank.phases_last_steps, width, shaded=row.shaded)


def _step(row: RankRow, width: int) -> Spans:
    return [(right(format.grouped(row.rank.step), width), "text")]


def _seconds(field: str) -> partial[Spans]:
    return partial(_seconds_cell, field)


def _seconds_cell(field: str, row: RankRow, width: int) -> Spans:
    value: float | None = getattr(row.rank, field)
    decimals = 3 if value is not None and value < 0.9995 else 2
    return [(format.number(value, width, decimals), "text")]


def _spread(row: RankRow, width: int) -> Spans:
    ratio = row.rank.throughput_spread_ratio
    return [(format.number(None if ratio is None else ratio * 100, width, 1), "dim")]


def _rate(field: str, row: RankRow, width: int) -> Spans:
    return [(format.compact(getattr(row.rank, field), width), "text")]


def _ahead(row: RankRow, width: int) -> Spans:
    value = row.rank.run_ahead_seconds
    starved = value is not None and value < 0.01 * (row.rank.step_p50_seconds or 0.0)
    return [(right(format.precise(value), width), "warm" if starved else "text")]


def _memory(row: RankRow, width: int) -> Spans:
    rank = row.rank
    allocated, reserved = rank.memory_allocated_bytes, rank.memory_reserved_bytes
    text = format.used_of(allocated, reserved, format.GIB, (width - 1) // 2, 1)
    return [(right(text if allocated is not None else DASH, width), "text")]


def _note(row: RankRow, width: int) -> Spans:
    text, role = state_text(row.rank)
    if not text and row.rank.rank is None:
        return [(left(f"pid {row.rank.pid}", width), "dim")]
    delay = row.delay
    if not text and delay is not None and delay.ratio >= _WORTH_SAYING_RATIO:
        text, role = f"delays {delay.ranks}: {delay.ratio * 100:.0f} %", "warm"
    return [(left(text, width), role)]


def explained(job: JobFrame, width: int) -> Section:
    """For the help: the columns at this width."""
    return Section("Ranks", column_terms(layout_at(width, _unit(job))))


@lru_cache(16)
def layout_at(width: int, unit: str) -> Layout[RankRow]:
    """The columns that fit in so many cells, with the rate in that unit."""
    field = "tokens_per_second" if unit == "tok/s" else "samples_per_second"
    columns: tuple[Column[RankRow], ...] = (
        Column(
            "rank",
            5,
            _name,
            "r3 is rank 3 of the job; r? a rank whose number nothing tells.",
            ragged=True,
        ),
        Column(
            "gpu",
            3,
            _gpu,
            "Index of the GPU that it runs on; a dash: not known. NVML, else its open files or "
            "environment.",
            rank=3,
        ),
        Column(
            "phase",
            12,
            _phase,
            "What its main loop does now; from 2 s on with how long without a break. Probe page; "
            "without a probe from stacks (py-spy) or threads (/proc).",
            most=17,
            ragged=True,
        ),
        Column(
            "last steps",
            10,
            _bar,
            f"Shares of the phases in the host time of the last {RECENT} steps, one bar of 100 %; "
            "colors and letters as in the timeline. Probe page.",
            rank=4,
            most=36,
            ragged=True,
        ),
        Column("step", 7, _step, "Number of the last finished step. Probe page.", rank=2),
        Column(
            "p50 s",
            5,
            _seconds("step_p50_seconds"),
            "Median step time in seconds, over the steps that are kept: half of them took longer. "
            "Probe page.",
            rank=1,
        ),
        Column(
            "p99 s",
            5,
            _seconds("step_p99_seconds"),
            "99th percentile of the same step times: one step in a hundred took longer.",
            rank=1,
        ),
        Column(
            unit,
            5,
            partial(_rate, field),
            f"{_UNITS[unit]} a second that this rank trains on, over the last {RECENT} steps. As the "
            "job reports them to the probe.",
            rank=1,
        ),
        Column(
            "±%",
            4,
            _spread,
            "How much the rate beside it varies from step to step: half the distance between its 10th"
            " and 90th percentile, in % of the median. Around 1 is steady.",
            rank=7,
        ),
        Column(
            "host step",
            9,
            _seconds("host_step_seconds"),
            "Mean host time of a step in seconds: the main thread, from the end of one step to the "
            f"end of the next. Of the steps whose GPU time is known, at most the last {RECENT}. Probe "
            "page.",
            rank=9,
        ),
        Column(
            "GPU step",
            8,
            _seconds("gpu_step_seconds"),
            "Mean time of the same steps in seconds in which the GPU worked on the default stream "
            "(CUDA events). Well below the host step, the GPU waits for the host. Probe page.",
            rank=6,
        ),
        Column(
            "run-ahead",
            9,
            _ahead,
            "How far the host is ahead of the GPU as a step ends: how long ago it gave the GPU the work "
            f"that it is at, median of the last {RECENT} steps. Near 0, the GPU waits for the host. "
            "Probe page.",
            rank=5,
        ),
        Column(
            "alloc GiB",
            9,
            _memory,
            "Memory that torch's allocator has given to tensors, and what it holds reserved, in GiB, "
            "now. Probe page.",
            rank=8,
        ),
        Column(
            "",
            14,
            _note,
            "What is out of the ordinary: whom it waits for (from 1 s on), how many others waited for"
            " it and for what share of the timeline, that it is stopped, or when it exited.",
            most=36,
            ragged=True,
        ),
    )
    return lay_out(columns, width)
