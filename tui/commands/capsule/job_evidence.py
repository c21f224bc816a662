"""What is asked of each rank itself once the look has ended: its logs, and what its probe dumps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from ....probes.attach.control_client import ProbeError
from ....probes.attach.rank_dumps import flight_recorder, memory_snapshot
from ....probes.attach.rank_logs import LINES, LogReader
from ....probes.model.job_frames import RankFrame
from ....probes.recording.redaction import Redactor
from .contents import Contents
from .texts import log_name, numbered, rank_name

_AT_ONCE = 8
"""Ranks that are asked at the same time: those of a job that hangs answer after 15 seconds each, or never."""
REASON_LEFT_OUT = "it could not be had, and why is left out by --redact"


def add_logs(contents: Contents, ranks: Sequence[RankFrame]) -> None:
    """The last lines of what each rank writes to, or who reads it."""
    reader = LogReader()
    why_not: dict[str, list[str]] = {}
    for rank in ranks:
        for log in reader.logs(rank.pid, rank.start_time_seconds):
            name = rank_name(rank)
            if log.why_not:
                why_not.setdefault(f"{log.stream} is not taken: {log.why_not}", []).append(name)
                continue
            about = f"the last {LINES} lines of its {log.stream}, masked"
            contents.add(log_name(rank, log.stream), about, "\n".join(log.lines))
    for whose, reason in numbered(why_not):
        contents.miss(f"log of {whose}", reason)


def add_flight_recorders(
    contents: Contents, ranks: Sequence[RankFrame], redactor: Redactor | None
) -> None:
    """Of each rank with a probe."""

    def taken(rank: RankFrame) -> str:
        return flight_recorder(rank.pid, redactor.flight_recorder if redactor else None)

    _add(
        contents,
        ranks,
        taken,
        "flight recorder",
        "flight-recorder/{}.json",
        "torch's flight recorder: its last collectives",
        redactor,
    )


def add_memory_snapshots(contents: Contents, ranks: Sequence[RankFrame]) -> None:
    """Of each rank with a probe and a GPU."""
    _add(
        contents,
        ranks,
        lambda rank: memory_snapshot(rank.pid),
        "memory snapshot",
        "memory/{}.pickle",
        "its allocator's state, for pytorch.org/memory_viz",
        None,
    )


def _add(
    contents: Contents,
    ranks: Sequence[RankFrame],
    take: Callable[[RankFrame], str | bytes],
    what: str,
    name: str,
    about: str,
    redactor: Redactor | None,
) -> None:
    why_not: dict[str, list[str]] = {}

    def answer(rank: RankFrame) -> str | bytes | ProbeError:
        try:
            return take(rank)
        except ProbeError as error:
            return error

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for rank, found in zip(ranks, pool.map(answer, ranks), strict=True):
            if not isinstance(found, ProbeError):
                contents.add(name.format(rank_name(rank)), about, found)
                continue
            # The pid stands in front: ranks with the same reason are told together.
            why = str(found).replace(f"process {rank.pid}", "the process")
            why = REASON_LEFT_OUT if redactor else why
            why_not.setdefault(why, []).append(rank_name(rank))
    for whose, reason in numbered(why_not):
        contents.miss(f"{what} of {whose}", reason)
