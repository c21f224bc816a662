"""The first line: which node, which job, how bad, and of when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median

from ...probes.model.frame import Frame
from ...probes.model.gpu_frames import GpuFrame
from ...probes.model.job_frames import JobFrame
from ...rules.progress import overdue_seconds
from ..drawing import format
from ..drawing.explanations import Term
from ..drawing.glyphs import DASH, DOT, TIMES
from ..drawing.lines import Line, LineBuilder, Span, plain, spans_width
from ..drawing.missing import mute_gpus
from ..drawing.severity_marks import severity_mark
from ..session.job_order import asked_words, count_words, died_seconds, jobs_in_order, name_words
from ..session.view import View
from .finding_lines import cause_counts, causes

DEAD_IN_HEADLINE_SECONDS = 60.0
"""After that a job that nobody asked for is no news any more."""
_MAKERS = ("NVIDIA", "Tesla", "Quadro", "GeForce", "Graphics", "Device")
_UNKNOWING = ("stale", "failed", "denied")
"""States of the driver's source in which there may well be GPUs."""
TERMS = (
    Term("s/step", "Median over the ranks of how long the last whole step took. Probe page."),
    Term(
        "no step for", "No rank has ended a step for so long, which is more than usual. Probe page."
    ),
)
_Part = tuple[int, Sequence[Span]]
"""Where they do not all fit, those with the highest number go first; 0 stays."""


def top_line(view: View, width: int) -> Line:
    """The line, with the findings and the time always at its right end."""
    ending = _ending(view, wide=width >= 70)
    room = width - spans_width(ending) - 2
    parts = _parts(view, wide=width >= 120)
    while len(parts) > 1 and _taken(parts, _gap(width)) > room:
        parts.remove(max(reversed(parts), key=lambda part: part[0]))
    line = LineBuilder(max(0, width - spans_width(ending))).gap()
    for at, (_, spans) in enumerate(parts):
        line.gap(_gap(width) if at else 0).extend(spans)
    return LineBuilder(width).extend(line.line()).extend(ending).line()


def _gap(width: int) -> int:
    return 3 if width >= 120 else 2


def models(gpus: Sequence[GpuFrame], *, wide: bool) -> str:
    """``8 × H100 80GB HBM3``; all kinds where they differ."""
    names = Counter(_model(gpu.name, wide=wide) for gpu in gpus)
    joint = f" {TIMES} " if wide else TIMES
    return " + ".join(f"{count}{joint}{name}" for name, count in names.items()) or "no GPU"


def _gpus(frame: Frame, *, wide: bool) -> str:
    """All that there are, as far as is known: those without a row are there too."""
    if not frame.gpus:
        source = frame.source("nvml")
        unknown = (source is not None and source.status in _UNKNOWING) or mute_gpus(frame)
        return "GPUs unknown" if unknown else "no GPU"
    shown = models(frame.gpus, wide=wide)
    missing = len(mute_gpus(frame))
    return f"{len(frame.gpus)} of {len(frame.gpus) + missing} GPUs: {shown}" if missing else shown


def _model(name: str | None, *, wide: bool) -> str:
    words = [word for word in plain(name or "GPU").split() if word not in _MAKERS]
    if wide or not words:
        return " ".join(words) or "GPU"
    if words[0] in ("RTX", "GTX", "TITAN"):
        return " ".join(words[:2])
    return words[0].split("-")[0]


def _parts(view: View, *, wide: bool) -> list[_Part]:
    frame = view.frame
    parts: list[_Part] = [
        (7, [("gputop", "brand")]),
        (0, [(plain(frame.node), "strong")]),
        (3, [(_gpus(frame, wide=wide), "text")]),
        (6, [(f"driver {plain(frame.driver_version or DASH)}", "dim")]),
    ]
    return parts + _of_jobs(view)


def _of_jobs(view: View) -> list[_Part]:
    """The job asked for and what has become of it; else the largest; else the one that died last."""
    asked, jobs = view.asked, view.frame.running
    if asked is not None and asked.over_seconds is not None:
        return _ended_parts(asked_words(view), "ended", asked.over_seconds)
    wanted = asked.job.id if asked and asked.job else None
    most = max(jobs, key=lambda job: (job.id == wanted, len(job.ranks)), default=None)
    if most is not None and (len(jobs) == 1 or most.id == wanted):
        return _job_parts(most, len(jobs) - 1)
    if jobs:
        return [(1, [(_many_words(len(jobs), view), "strong")])]
    others = sum(bool(each.gpus) and each.job_id is None for each in view.frame.processes)
    if others:
        what = "1 process" if others == 1 else f"{others} processes"
        return [(1, [(f"{what} on GPUs, no job", "text")])]
    died = [(died_seconds(job) or 0.0, job) for job in jobs_in_order(view)]
    age, job = min(died, key=lambda each: each[0], default=(0.0, None))
    if job is None or age >= DEAD_IN_HEADLINE_SECONDS:
        return []
    return _ended_parts(name_words(job), "ended", age)


def _many_words(count: int, view: View) -> str:
    words = f"{count} jobs"
    return words if view.once else f"{words} {DOT} a chooses"


def _ended_parts(name: str, how: str, age: float) -> list[_Part]:
    return [(1, [(name, "strong")]), (2, [(f"{how} {format.duration(age)} ago", "error")])]


def _job_parts(job: JobFrame, others: int) -> list[_Part]:
    name = plain(job.name) + (f" +{format.counted(others, 'job')}" if others else "")
    parts: list[_Part] = [(1, [(name, "strong")])]
    parts.append((5, [(count_words(job), "text")]))
    overdue = overdue_seconds(job)
    if overdue is not None:
        parts.append((2, [(f"no step for {format.duration(overdue)}", "error")]))
    steps = [rank.step for rank in job.ranks if rank.step is not None]
    if steps:
        parts.append((4, [(f"step {format.grouped(max(steps))}", "text")]))
    seconds = [rank.step_seconds for rank in job.ranks if rank.step_seconds is not None]
    if seconds and overdue is None:
        parts.append((2, [(f"{format.number(median(seconds), 5, 2)} s/step", "strong")]))
    return parts


def _taken(parts: Sequence[_Part], gap: int) -> int:
    return sum(spans_width(spans) + gap for _, spans in parts) - gap


def _ending(view: View, *, wide: bool) -> list[Span]:
    """Marks, counts and the time of the frame."""
    spans: list[Span] = [*_marks(view)]
    for severity, count in cause_counts(causes(view.judgement.active)).items():
        mark, role = severity_mark(severity)
        if wide or count or severity != "info":
            spans += [("  ", "text"), (f"{mark} {count}", role if count else "dim")]
    if view.once and view.judgement.pending_causes:
        spans += [("  ", "text"), (f"{len(view.judgement.pending_causes)} pending", "warm")]
    spans.append(("   ", "text"))
    spans.append((format.clock(view.frame.time_seconds, seconds=wide), "text"))
    return [*spans, (" ", "text")]


def _marks(view: View) -> list[Span]:
    words: list[str] = []
    if view.title != "live":
        words.append(view.title)
    if view.ended is not None:
        words.append("ENDED")
    elif view.silent_seconds:
        words.append(f"NO NEWS {format.duration(view.silent_seconds)}")
    if view.past_seconds is not None:
        words.append(f"PAST {format.duration(view.past_seconds)} ago")
    elif view.paused_seconds is not None:
        words.append(f"PAUSED {format.duration(view.paused_seconds)}")
    return [(f" {plain(f' {DOT} '.join(words))} ", "mark")] if words else []
