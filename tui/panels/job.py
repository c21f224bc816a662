"""The job screen as a picture: how many lines table, chart and timeline get."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from statistics import median
from typing import NamedTuple

from ...probes.model.job_frames import JobFrame, RankFrame
from ...rules.progress import not_counted, overdue_seconds
from ..drawing import format
from ..drawing.explanations import Section, Term, drawn_terms, panel_text
from ..drawing.glyphs import DOT
from ..drawing.lines import Line, LineBuilder, blank, heading
from ..drawing.rank_words import exact_name, name_of_rank
from ..drawing.target import Block, rank_target
from ..session.job_order import (
    count_words,
    jobs_in_order,
    labels_of_one_name,
    name_words,
    no_job_words,
    tab_words,
)
from ..session.view import View
from .phase_table import TERMS as PHASE_TERMS
from .phase_table import phase_lines
from .rank_delays import Past, delays_of, past_of
from .rank_table import explained as ranks_explained
from .rank_table import rank_block
from .rank_timeline import explained as timeline_explained
from .rank_timeline import timeline_block
from .ranks_in_sight import count_in_sight, ranks_in_sight
from .step_chart import TERMS as STEP_TERMS
from .step_chart import step_chart_lines, steps_of
from .top_line import top_line

_LEAST_CHART = 3
_LEAST_TABLE = 2
_ROOMY = 24
"""Lines from which the chart is worth more than a glance."""
_HOW_TO_PROBE = (
    "No rank of this job tells its phases and steps. Start the job under `gputop run -- COMMAND`, or put"
    " two lines into the script: import gputop; gputop.attach()"
)


SUMMARY_TERMS = (
    Term(
        "s/step",
        "Median step time of each rank's last steps, and of these the median over the ranks, "
        "in seconds. Probe page.",
    ),
    Term(
        "\u00b1",
        "Spread of what stands before it, over the same steps: half the distance between the "
        "10th and 90th percentile, in % of the median. Probe page.",
    ),
    Term(
        "tokens/s",
        "Tokens a second, sum over the ranks of this node, over the last steps. As the job "
        "reports them to the probe.",
    ),
    Term(
        "samples/s",
        "Samples a second, sum over the ranks of this node, over the last steps. As the job "
        "reports them to the probe.",
    ),
    Term("loss", "Mean over the ranks of the newest that each has reported to the probe."),
    Term("no step for", "No rank has ended a step for so long, which is more than usual."),
)


class Rows(NamedTuple):
    """Lines for each part, titles included."""

    table: int
    chart: int
    phases: int
    timeline: int


def ranks_shown(view: View, job: JobFrame) -> list[RankFrame]:
    """Those that the filter lets through."""
    return [
        rank
        for rank in job.ranks
        if view.lets(name_of_rank(rank), rank.pid, rank.phase, f"GPU {rank.gpu_index}")
    ]


def draw_job(view: View, job: JobFrame | None, width: int, height: int) -> Block:
    """Exactly ``height`` lines of exactly ``width`` cells."""
    head = [top_line(view, width)]
    if job is None:
        said = LineBuilder(width).gap(2).add(no_job_words(view), "dim").line()
        return Block.of([*head, heading("Job", width), said, *[blank(width)] * (height - 3)])
    head += _titles(view, job, width)
    block = Block.of(head) + _panels(view, job, width, height - len(head))
    rest = max(0, height - len(block.lines))
    return Block(block.lines[:height], block.targets[:height]) + Block.of([blank(width)] * rest)


def explained_job(view: View, job: JobFrame | None, width: int, height: int) -> list[Section]:
    """For the help: what the picture of that size shows."""
    if job is None:
        return []
    text = draw_job(view, job, width, height).text
    summary = drawn_terms(SUMMARY_TERMS, panel_text(text, name_words(job)).partition("\n")[0])
    sections = [Section("The job", summary)] if summary else []
    sections.append(ranks_explained(job, width))
    if chart := panel_text(text, "Step time"):
        terms = drawn_terms(STEP_TERMS, chart)
        terms += drawn_terms(PHASE_TERMS, panel_text(text, "Phases of a step"))
        sections.append(Section("Steps and phases", terms))
    if any(rank.phase for rank in job.ranks) and "Last " in text:
        sections.append(timeline_explained(job))
    return sections


def rows_of(room: int, ranks: int, phases: int) -> Rows:
    """How ``room`` lines are given out; as many ranks in the timeline as in the table.

    Args:
        room: lines.
        ranks: how many there are.
        phases: how many there are; their table comes where nothing else needs the lines.
    """
    if room < 2 * _LEAST_TABLE + _LEAST_CHART:
        timeline = max(0, min(ranks + 1, room - _LEAST_TABLE))
        if timeline < _LEAST_TABLE:
            return Rows(room, 0, 0, 0)
        table = min(room - timeline, ranks + 2)
        return Rows(table, 0, 0, room - table)
    chart = _LEAST_CHART if room < _ROOMY else max(_LEAST_CHART + 1, room // 5)
    each = max(2, min(ranks + 1, (room - chart) // 2))
    spare = room - chart - 2 * each
    table = each + (1 if spare > 0 and each <= ranks else 0)
    reported = phases + 1 if phases and spare > phases + 1 else 0
    return Rows(table, room - table - each - reported, reported, each)


def _panels(view: View, job: JobFrame, width: int, room: int) -> Block:
    ranks = ranks_shown(view, job)
    if not any(rank.phase for rank in job.ranks):
        reported = textwrap.wrap(_HOW_TO_PROBE, width - 4)
        table = _table(view, job, ranks, None, width, max(_LEAST_TABLE, room - len(reported)))
        said = [LineBuilder(width).gap(2).add(text, "dim").line() for text in reported]
        return table + Block.of(said)
    phases = {phase for rank in job.ranks for phase in rank.phases_last_steps}
    rows = rows_of(room, len(ranks), len(phases))
    past = past_of(view.frame, job)
    table = _table(view, job, ranks, past, width, rows.table)
    block = table + Block.of(_steps(view, job, width, rows))
    if not rows.timeline:
        return block
    shown = ranks_in_sight(view, job, ranks, rows.timeline - 1)
    count = count_in_sight(len(shown), len(ranks))
    return block + timeline_block(view, job, shown, past, width, count)


def _steps(view: View, job: JobFrame, width: int, rows: Rows) -> list[Line]:
    """The chart of all ranks, or of the selected one, and the phases."""
    if not rows.chart:
        return []
    chosen = [rank for rank in job.ranks if rank_target(rank) == view.selected]
    lines = step_chart_lines(steps_of(view.frame, chosen or job.ranks), job, width, rows.chart)
    reported = phase_lines(job.living or job.ranks, width)[: rows.phases]
    return lines + reported


def _table(
    view: View,
    job: JobFrame,
    ranks: Sequence[RankFrame],
    past: Past | None,
    width: int,
    rows: int,
) -> Block:
    shown = ranks_in_sight(view, job, ranks, rows - 1)
    delays = delays_of(past) if past else {}
    count = count_in_sight(len(shown), len(ranks))
    return rank_block(view, job, shown, delays, width, count)


def _titles(view: View, job: JobFrame, width: int) -> list[Line]:
    jobs = jobs_in_order(view)
    titles = [heading(name_words(job), width, f" {DOT} ".join(_summary(view, job, jobs)))]
    if len(jobs) > 1:
        line = LineBuilder(width).gap()
        of_one_name = labels_of_one_name(view)
        for each in jobs:
            line.add(
                f" {tab_words(each, of_one_name)} ", "mark" if each.id == job.id else "dim"
            ).gap()
        titles.append(line.add(" h l", "key").add(" another job", "dim").line())
    return titles


def _summary(view: View, job: JobFrame, jobs: Sequence[JobFrame]) -> list[str]:
    parts = [f"{[each.id for each in jobs].index(job.id) + 1} of {len(jobs)}"] if jobs[1:] else []
    parts.append(count_words(job))
    alive = job.living
    if len(alive) < len(job.ranks):
        parts.append(f"{len(job.ranks) - len(alive)} exited")
    steps = [rank.step for rank in alive if rank.step is not None]
    if steps:
        behind = f" to {format.grouped(max(steps))}" if min(steps) != max(steps) else ""
        parts.append(f"step {format.grouped(min(steps))}{behind}")
    uncounted = [exact_name(rank) for rank in alive if not_counted(rank)]
    if uncounted:
        parts.append(f"steps of {', '.join(uncounted[:4])} not counted")
    overdue = overdue_seconds(job)
    if overdue is not None:
        parts.append(f"no step for {format.duration(overdue)}")
    else:
        parts += _pace(alive)
    losses = [rank.loss for rank in alive if rank.loss is not None]
    if losses:
        parts.append(f"loss {sum(losses) / len(losses):.3f}")
    if view.filter:
        parts.append(f"matching {view.filter!r}")
    return parts


def _pace(alive: Sequence[RankFrame]) -> Iterator[str]:
    """How fast the job goes on."""
    middle = [rank.step_p50_seconds for rank in alive if rank.step_p50_seconds is not None]
    spreads = [rank.step_spread_ratio for rank in alive if rank.step_spread_ratio is not None]
    if middle:
        spread = f" ±{median(spreads) * 100:.1f} %" if spreads else ""
        yield f"{median(middle):.2f} s/step{spread}"
    for field, unit in (("tokens_per_second", "tokens/s"), ("samples_per_second", "samples/s")):
        rates = [value for rank in alive if (value := getattr(rank, field)) is not None]
        if rates:
            yield f"{format.compact(sum(rates)).strip()} {unit}"
            break
