"""Where one rank is: its stacks, innermost frame first; without any, why, and what its threads tell."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from ...probes.attribution.stack_phase import margin
from ...probes.derive.activity import LEAST_SAMPLES
from ...probes.model.frame import Frame
from ...probes.model.job_frames import RankFrame
from ...probes.model.rank_readings import StackReading, StackThreadReading, ThreadsReading
from ...probes.model.stack_places import is_own, place_of
from ..drawing import format
from ..drawing.explanations import Term
from ..drawing.glyphs import DASH, DOT
from ..drawing.lines import Line, LineBuilder, left, plain
from ..drawing.rank_words import ORIGINS

TERMS = (
    Term(
        "innermost first",
        "Stack of the selected rank, with the function that runs now at the top. py-spy.",
    ),
    Term("tid", "Thread id in the process's own PID namespace."),
    Term(
        "holds the GIL",
        "It has the lock of the interpreter: no other Python thread of the process runs.",
    ),
    Term("no Python frames", "A thread of C or C++ code alone."),
    Term(
        "host phases",
        "Share of the samples of the last minutes in which the main thread was in each phase; \u00b1:"
        " the true "
        "share lies within it at 95 %.",
    ),
    Term(
        "inconsistent",
        "Dumps that failed or had no whole main stack, since the process ran on while it was read: "
        "left out.",
    ),
)
_STATES = {
    "R": "runs, or is ready to",
    "S": "sleeps",
    "D": "waits in the kernel and cannot be interrupted",
    "T": "is stopped",
    "t": "is held by a debugger",
    "Z": "has exited",
    "I": "is idle",
}
_STOPPED = frozenset("Tt")
ASKED = "no stack yet: it has been asked for"


def rank_stack_lines(frame: Frame, rank: RankFrame, width: int) -> list[Line]:
    """All that is known of where it is; any number of lines."""
    reading = frame.stacks_of(rank)
    if reading is not None and any(thread.frames for thread in reading.threads):
        return [*_shares(rank, width), *reading_lines(reading, width)]
    why = why_no_stack(frame, rank)
    said = _wrapped(why, width, "dim" if why == ASKED else "warm")
    return [*said, *_methods(frame, rank, width)]


def reading_lines(reading: StackReading, width: int) -> list[Line]:
    """All threads of a dump; before them, where the process does not go on after it."""
    return [*_state_after(reading, width), *_threads(reading, width)]


def why_no_stack(frame: Frame, rank: RankFrame) -> str:
    """One sentence, with what would lift it; also where it will come in a moment."""
    if rank.ended_age_seconds is not None:
        return f"it exited {format.duration(rank.ended_age_seconds)} ago: it has no stack any more"
    reading = frame.stacks_of(rank)
    if reading is not None and reading.refusal:
        return f"no stack: {reading.refusal}"
    source = frame.source("stacks")
    if source is not None and source.status in ("absent", "denied", "failed", "unsupported"):
        return f"no stack: {source.reason or source.status}"
    if reading is not None and reading.taken:
        failed = f"no whole stack yet: {reading.inconsistent_dumps} of {reading.taken} dumps were inconsistent"
        return f"{failed}: {reading.failure}" if reading.failure else failed
    return ASKED


def _state_after(reading: StackReading, width: int) -> Iterator[Line]:
    if reading.state_after in _STOPPED:
        stopped = f"its process {_STATES[reading.state_after or '']}: kill -CONT {reading.pid}"
        yield LineBuilder(width).gap().add(stopped, "warm").line()


def _shares(rank: RankFrame, width: int) -> Iterator[Line]:
    """The phases of the host, with the error that so many samples leave."""
    count = rank.phases_sampled_count
    if not count:
        return
    if not rank.phases_sampled:
        text = f"host phases: {count} of {LEAST_SAMPLES} samples so far"
    else:
        shares = sorted(rank.phases_sampled.items(), key=lambda item: -item[1])
        reported = (f"{name} {share:.0%} ±{margin(share, count):.0%}" for name, share in shares)
        text = f"host phases of {count} samples: {', '.join(reported)}".replace("%", " %")
    yield from _wrapped(text, width, "text")


def _threads(reading: StackReading, width: int) -> Iterator[Line]:
    ordered = sorted(reading.threads, key=lambda thread: (not thread.main, not thread.frames))
    for thread in ordered:
        yield _thread_title(thread, width)
        for frame in thread.frames:
            role = "dim" if not thread.main else "strong" if is_own(frame) else "text"
            yield LineBuilder(width).gap(3).add(plain(place_of(frame)), role).line()


def _thread_title(thread: StackThreadReading, width: int) -> Line:
    name = plain(thread.name or ("main thread" if thread.main else "a thread without a name"))
    line = LineBuilder(width).gap().add(name, "title")
    notes: list[str] = []
    if thread.os_thread_id is not None:
        notes.append(f"tid {thread.os_thread_id}")
    if thread.active is not None:
        notes.append("running" if thread.active else "sleeping")
    if thread.owns_gil:
        notes.append("holds the GIL")
    if not thread.frames:
        notes.append("no Python frames")
    return line.add("".join(f" {DOT} {note}" for note in notes), "dim").line()


def _methods(frame: Frame, rank: RankFrame, width: int) -> Iterator[Line]:
    """What needs no right to be read: state, wait channel and CPU of its threads."""
    if rank.ended_age_seconds is not None:
        return
    if rank.phase is not None:
        reported = ", ".join(plain(text) for text in (rank.phase, rank.doing) if text)
        origin = ORIGINS.get(rank.phase_source or "", "")
        line = LineBuilder(width).gap().add(reported, "strong")
        yield line.add(f"  reported by the {origin}" if origin else "", "dim").line()
    yield LineBuilder(width).gap().add("main thread", "title").line()
    for text in _main_facts(frame, rank):
        yield LineBuilder(width).gap(3).add(plain(text)).line()
    reading = _threads_reading(frame, rank)
    if reading is None or not reading.others:
        return
    title = f"named threads, of {format.counted(reading.count, 'thread')}"
    yield LineBuilder(width).gap().add(title, "title").line()
    for thread in reading.others:
        state = _STATES.get(thread.state, thread.state)
        line = LineBuilder(width).gap(3).add(left(plain(thread.name), 16)).gap()
        line.add(f"{state} {DOT} CPU {format.duration(thread.cpu_seconds)} in all", "dim")
        yield line.line()


def _main_facts(frame: Frame, rank: RankFrame) -> Iterator[str]:
    activity, process = rank.activity, frame.process(rank.pid)
    state = activity.state if activity else process.state if process else None
    channel = activity.wait_channel if activity else process.wait_channel if process else None
    words = _STATES.get(state or "", f"state {state or DASH}")
    yield f"{words} ({state or DASH})"
    if channel and state != "R":
        kind = f", a wait for {activity.wait}" if activity and activity.wait else ""
        yield f"in {channel}{kind}"
    if activity is None:
        cores = process.cpu_cores if process else None
        yield f"CPU of the whole process {format.quantity(cores, 'cores')}"
        return
    yield f"CPU {format.quantity(activity.cpu_cores, 'cores')}"
    yield f"waits {format.quantity(activity.switches_per_second, 'per_second')}"
    if activity.autograd_cores is not None:
        yield f"backward threads {format.quantity(activity.autograd_cores, 'cores')}"
    if activity.still_since_seconds is not None:
        still = frame.monotonic_seconds - activity.still_since_seconds
        yield f"has not moved for {format.duration(still)}"
    if activity.busy_since_seconds is not None:
        busy = frame.monotonic_seconds - activity.busy_since_seconds
        yield f"has run without a pause for {format.duration(busy)}"


def _threads_reading(frame: Frame, rank: RankFrame) -> ThreadsReading | None:
    return next((each for each in frame.threads if each.pid == rank.pid), None)


def _wrapped(text: str, width: int, role: str) -> list[Line]:
    wrapped = textwrap.wrap(plain(text), max(10, width - 2))
    return [LineBuilder(width).gap().add(part, role).line() for part in wrapped]
