"""The last steps across ranks: a row a rank, its phases as colors and letters, waiting as waiting."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...probes.derive.rank_waits import Track, Wait
from ...probes.model.job_frames import JobFrame, RankFrame
from ..drawing import format
from ..drawing.explanations import Section, Term
from ..drawing.glyphs import DOT, ELLIPSIS, WAITS
from ..drawing.lines import Line, LineBuilder, Span, heading, left, plain, spans_width
from ..drawing.phase_marks import in_order, letter_of, role_of_phase, run_of
from ..drawing.rank_words import name_of_rank, ranks_text
from ..drawing.target import Block, rank_target
from ..session.view import View
from .rank_delays import Past

NAMES = 6
"""Cells for the ranks."""
_NOTES_FROM = 110
_NOTE = 22


class _Cell(NamedTuple):
    phase: str
    """Empty: nothing is known."""
    began: float
    """Two phases of the same name are distinguished by this."""
    waits: bool


_NOTHING = _Cell("", 0.0, False)


_PHASES = {
    "data": "waits for input",
    "h2d": "copies to the GPU (host to device)",
    "forward": "computes the forward pass",
    "backward": "computes the backward pass; with DDP also its all-reduce",
    "comm": "communicates with other ranks",
    "optimizer": "updates the weights",
    "checkpoint": "saves the model",
    "eval": "evaluates",
    "compile": "compiles: torch.compile or Triton",
    "startup": "starts: imports, process groups, first batches",
    "gc": "Python collects garbage",
    "sync": "waits for the GPU",
    "idle": "waits for whoever types, in a notebook or at a prompt",
    "other": "anything else",
}


def explained(job: JobFrame) -> Section:
    """For the help: the rows, and the phases that the ranks of a job have been in."""
    seen = {phase for rank in job.ranks for phase in rank.phases_last_steps}
    seen |= {rank.phase for rank in job.ranks if rank.phase}
    phases = [
        Term(
            f"{letter_of(phase)} {plain(phase)}",
            _PHASES.get(phase, "a phase that the job itself names"),
        )
        for phase in in_order(dict.fromkeys(seen, 0.0))
    ]
    return Section("Timeline", [*_ROWS, *phases])


_ROWS = (
    Term(
        "Last ...",
        "Phases of each rank over its last steps on one clock, newest at the right. A letter begins "
        "each phase. "
        "Host time: what the main thread was in. Probe page.",
    ),
    Term(
        WAITS * 2,
        "In a collective, waiting for another rank of this node that has not entered it; at the right for "
        "whom, and for what share of the time shown.",
    ),
)


def timeline_block(
    view: View,
    job: JobFrame,
    ranks: Sequence[RankFrame],
    past: Past,
    width: int,
    count: str = "",
) -> Block:
    """A title with the legend, and a row for each of these ranks.

    Args:
        view: what to draw from.
        job: theirs.
        ranks: those to show.
        past: what they were in.
        width: cells.
        count: how many of how many they are, where not all.
    """
    noted = width >= _NOTES_FROM
    cells = width - 1 - NAMES - (_NOTE + 2 if noted else 1)
    lines = [timeline_title(job, past, width, count)]
    for rank in ranks:
        line = LineBuilder(width).gap().add(left(name_of_rank(rank), NAMES), "strong")
        line.extend(_row(rank, past, cells, shaded=view.shaded))
        if noted:
            line.gap(2).extend(_note(rank, past))
        lines.append(line.line())
    return Block(lines, [None, *[rank_target(rank) for rank in ranks]])


def timeline_title(job: JobFrame, past: Past, width: int, count: str = "") -> Line:
    """How much time is shown, of how many ranks, and what the letters stand for."""
    seen = {phase for rank in job.ranks for phase in rank.phases_last_steps}
    seen |= {rank.phase for rank in job.ranks if rank.phase}
    entries: list[list[Span]] = []
    for phase in in_order(dict.fromkeys(seen, 0.0)):
        entries.append([(letter_of(phase), role_of_phase(phase)), (f" {plain(phase)}", "dim")])
        if phase == "comm":
            entries.append([(WAITS * 2, "comm"), (" waits", "dim")])
    line = LineBuilder(width).extend(heading(f"Last {format.duration(past.seconds)}", width)[:2])
    if count:
        line.gap().add(f"{DOT} ", "dim").add(count, "warm").gap()
    gap = 2 if line.room >= sum(2 + spans_width(entry) for entry in entries) else 1
    for at, entry in enumerate(entries):
        more = gap + 1 if at + 1 < len(entries) else 0
        if gap + spans_width(entry) + more > line.room:
            return line.gap(gap).add(ELLIPSIS, "dim").line()
        line.gap(gap).extend(entry)
    return line.line()


def _row(rank: RankFrame, past: Past, width: int, *, shaded: bool) -> Iterator[Span]:
    track = past.tracks.get(rank.pid)
    if track is None or width <= 0:
        yield " " * max(0, width), "text"
        return
    waits = past.waits.get(rank.rank, ()) if rank.rank is not None else ()
    cells = _cells(track, waits, past, width)
    at = 0
    while at < width:
        cell = cells[at]
        upto = at
        while upto < width and cells[upto] == cell:
            upto += 1
        yield _run(cell, upto - at, shaded=shaded)
        at = upto


def _run(cell: _Cell, count: int, *, shaded: bool) -> Span:
    if not cell.phase:
        return " " * count, "text"
    if cell.waits:
        return WAITS * count, "comm"
    return run_of(cell.phase, count, shaded=shaded), role_of_phase(cell.phase)


def _cells(track: Track, waits: Sequence[Wait], past: Past, width: int) -> list[_Cell]:
    """What the rank was in at the middle of each cell."""
    each = past.seconds / width
    starts = [segment.monotonic_seconds for segment in track.segments]
    found: list[_Cell] = []
    at = bisect_right(starts, past.start) - 1
    for place in range(width):
        moment = past.start + (place + 0.5) * each
        while at + 1 < len(starts) and starts[at + 1] <= moment:
            at += 1
        if at < 0 or moment > track.end:
            found.append(_NOTHING)
            continue
        segment = track.segments[at]
        waiting = any(wait.start <= moment < wait.end for wait in waits)
        found.append(_Cell(segment.phase, segment.monotonic_seconds, waiting))
    return found


def _note(rank: RankFrame, past: Past) -> Iterator[Span]:
    """For whom it waited, and what share of the time."""
    if rank.ended_age_seconds is not None:
        yield f"exited {format.duration(rank.ended_age_seconds)} ago", "error"
        return
    waited: dict[int, float] = {}
    for wait in past.waits.get(rank.rank, ()) if rank.rank is not None else ():
        seconds = wait.end - max(wait.start, past.start)
        if seconds > 0:
            waited[wait.rank] = waited.get(wait.rank, 0.0) + seconds
    if not waited:
        return
    whom = max(waited, key=lambda each: waited[each])
    share = waited[whom] / past.seconds
    if share >= 0.01:
        yield f"{share * 100:.0f} % ", "comm" if share >= 0.1 else "dim"
        yield f"{DOT} waits for {ranks_text((whom,))}", "dim"
