"""Processes as trees: job, launcher, ranks, workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...probes.model.frame import Frame
from ...probes.model.job_frames import JobFrame
from ...probes.model.process_frames import ProcessFrame
from ..drawing.glyphs import BRANCH, DOT, FOLD, TRUNK
from ..drawing.job_words import owner_words, size_words
from ..drawing.lines import plain
from .process_table import ProcessRow

Entry = ProcessRow | str
"""A process, or the title of those that follow."""


def tree(frame: Frame, processes: Sequence[ProcessFrame]) -> list[Entry]:
    """Job by job, then the others. ``processes`` are those to show, in the order of siblings."""
    entries: list[Entry] = []
    reported: set[int] = set()
    for job in frame.jobs:
        members = [process for process in processes if process.job_id == job.id]
        if members:
            entries.append(job_title(job))
            entries += _rows(members)
            reported |= {process.pid for process in members}
    rest = [process for process in processes if process.pid not in reported]
    if rest:
        entries += ["not in a job", *_rows(rest)]
    return entries


def job_title(job: JobFrame) -> str:
    """What a job is, in a line."""
    return f" {DOT} ".join([plain(job.name), size_words(job), *owner_words(job)])


def _rows(members: Sequence[ProcessFrame]) -> list[ProcessRow]:
    known = {process.pid for process in members}
    children: dict[int | None, list[ProcessFrame]] = {}
    for process in members:
        parent = _parent(process, known)
        children.setdefault(parent, []).append(process)
    return list(_walk(children, None, "", set()))


def _parent(process: ProcessFrame, known: set[int]) -> int | None:
    """The nearest process above it that is shown."""
    for pid in (process.parent_pid, process.rank_pid):
        if pid is not None and pid in known and pid != process.pid:
            return pid
    return None


def _walk(
    children: dict[int | None, list[ProcessFrame]], parent: int | None, stem: str, seen: set[int]
) -> Iterator[ProcessRow]:
    found = children.get(parent, [])
    for at, process in enumerate(found):
        if process.pid in seen:
            continue
        seen.add(process.pid)
        last = at == len(found) - 1
        branch = "" if parent is None else f"{stem}{FOLD if last else BRANCH} "
        yield ProcessRow(process, branch)
        below = stem if parent is None else f"{stem}{' ' if last else TRUNK} "
        yield from _walk(children, process.pid, below, seen)
