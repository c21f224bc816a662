"""Why values are missing, in words."""

from __future__ import annotations

from collections.abc import Iterator

from ...probes.model.frame import Frame
from ...probes.model.gpu_frames import GpuFrame
from ...probes.model.gpu_readings import gpu_source_name
from ...probes.model.link_frames import LinkFrame
from ...probes.model.signals import signals_of
from ...probes.scheduling.words import starved_sentence
from ...rules.occupancy import why_owner_unseen
from . import format
from .finding_words import runs_text, words_of
from .lines import plain
from .target import Target

HELP_WITHOUT_DRIVER = "`gputop demo` shows a simulated node"

_IN_THE_ROW = tuple(signal.name for signal in signals_of("gpu") if signal.in_row)


def why_no_gpus(frame: Frame) -> str:
    """Why there are no GPUs to show, in words; empty where there are, or nothing is known of them."""
    source = frame.source("nvml")
    if frame.gpus or source is None:
        return ""
    if source.status == "ok":
        mute = len(mute_gpus(frame))
        return (
            f"the NVIDIA driver does not answer about any of its GPUs ({mute})"
            if mute
            else "the NVIDIA driver lists no GPU"
        )
    if source.status == "stale":
        if (source.starved_seconds or 0.0) > (source.busy_seconds or 0.0):
            return source.reason
        if source.busy_seconds:
            return f"the NVIDIA driver has not answered for {format.duration(source.busy_seconds)}"
        return source.reason or "the NVIDIA driver has not answered"
    return source.reason or f"NVML is {source.status}"


def why_processes_unread(frame: Frame) -> str:
    """Why no process can be said to be there or not, in words; empty where it can."""
    source = frame.source("processes")
    if source is not None and source.status == "ok":
        return ""
    if frame.starvation is not None:
        return starved_sentence(frame.starvation)
    if source is None:
        return "the processes of this machine were left out"
    return f"processes: {source.reason or source.status}"


def mute_gpus(frame: Frame) -> dict[int, str]:
    """GPUs that have no row, since they never answered: their number and why not."""
    rows = {gpu.index for gpu in frame.gpus}
    found: dict[int, str] = {}
    for source in frame.sources:
        number = source.name.removeprefix("nvml gpu ")
        if source.status != "ok" and number.isdecimal() and int(number) not in rows:
            found[int(number)] = source.reason or source.status
    return found


def unread_gpus(frame: Frame) -> list[str]:
    """Sentences on the GPUs that are there and have no row; none where all have one."""
    return [
        f"GPU {runs_text(indices)} {'has' if len(indices) == 1 else 'have'} no row: {reason}"
        for reason, indices in _by_reason(mute_gpus(frame)).items()
    ]


def silent_words(frame: Frame, silent: dict[int, str]) -> Iterator[str]:
    """Which GPUs do not answer, with the reason; or that this monitor could not ask them.

    Args:
        frame: what is shown.
        silent: number of each such GPU, and why.
    """
    for reason, indices in _by_reason(silent).items():
        starved = all(gets_no_cpu(frame, index) for index in indices)
        one = len(indices) == 1
        what = ("is not read" if one else "are not read") if starved else ""
        what = what or ("does not answer" if one else "do not answer")
        yield f"GPU {runs_text(indices)} {what}: {reason}"


def gets_no_cpu(frame: Frame, index: int) -> bool:
    """Whether that GPU is silent because this monitor is not run."""
    source = frame.source(gpu_source_name(index))
    if source is None or source.busy_seconds is None:
        return frame.starvation is not None
    return (source.starved_seconds or 0.0) > source.busy_seconds


def _by_reason(gpus: dict[int, str]) -> dict[str, list[int]]:
    by_reason: dict[str, list[int]] = {}
    for index, reason in gpus.items():
        by_reason.setdefault(reason, []).append(index)
    return by_reason


def why_missing(frame: Frame, target: Target) -> str:
    """One sentence on the dashes in the row of what is selected; empty where there are none."""
    if target.kind == "gpu":
        gpu = frame.gpu(int(target.id))
        return _of_gpu(gpu) if gpu else ""
    if target.kind == "link":
        link = next((link for link in frame.links if link.id == target.id), None)
        return _of_link(link) if link else ""
    return ""


def _of_link(link: LinkFrame) -> str:
    parts = [f"{words_of(field)}: {reason}" for field, reason in link.missing.items()]
    return plain(f"{link.id}: {'; '.join(parts)}") if parts else ""


def _of_gpu(gpu: GpuFrame) -> str:
    """One sentence on the dashes in a GPU's row; empty where there are none."""
    if gpu.status != "ok":
        return f"GPU {gpu.index}: {gpu.status_reason or gpu.status}"
    reasons: dict[str, list[str]] = {}
    for field in _IN_THE_ROW:
        if getattr(gpu, field) is None:
            reason = gpu.missing.get(field, "not read yet")
            reasons.setdefault(reason, []).append(words_of(field))
    parts = [f"{', '.join(fields)} {reason}" for reason, fields in reasons.items()]
    unseen = why_owner_unseen(gpu)
    parts = [f"owner not seen: {unseen}", *parts] if unseen else parts
    return f"GPU {gpu.index}: {'; '.join(parts)}" if parts else ""
