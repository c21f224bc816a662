"""Why values are missing, in words."""

from __future__ import annotations

from collections.abc import Iterator

from ...probes.model.driver_errors import fault_text
from ...probes.model.frame import Frame
from ...probes.model.gpu_frames import GpuFrame
from ...probes.model.gpu_readings import GpuReading, gpu_source_name, gpu_source_number
from ...probes.model.link_frames import LinkFrame
from ...probes.model.missing_reasons import NO_PERMISSION, NOT_SUPPORTED
from ...probes.model.signals import signals_of
from ...probes.scheduling.words import starved_sentence
from ...rules.occupancy import why_owner_unseen
from . import format
from .finding_words import runs_text, words_of
from .lines import plain
from .target import Target

HELP_WITHOUT_DRIVER = "`gputop demo` shows a simulated node"

REFUSALS = (NO_PERMISSION, NOT_SUPPORTED)
"""Reasons that say nothing bad of a GPU."""
_SILENT_SECONDS = 5.0
_MOVING = tuple(signal.name for signal in signals_of("gpu") if signal.moving)
"""Every GPU of any age has some of these."""
_IN_THE_ROW = tuple(signal.name for signal in signals_of("gpu") if signal.in_row)


def why_no_gpus(frame: Frame) -> str:
    """Why there are no GPUs to show, in words; empty where there are, or nothing is known of them."""
    source = frame.source("nvml")
    if source is None or any(gpu.ever_read or gpu.fault_code for gpu in frame.gpus):
        return ""
    if source.status == "ok" or frame.gpus:
        mute = len(frame.gpus) + len(mute_gpus(frame))
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
        return "the processes were left out"
    return f"processes: {source.reason or source.status}"


def mute_gpus(frame: Frame) -> dict[int, str]:
    """GPUs that have no row yet, since they have not answered so far: their number and why not."""
    rows = {gpu.index for gpu in frame.gpus}
    found: dict[int, str] = {}
    for source in frame.sources:
        number = gpu_source_number(source.name)
        if source.status != "ok" and number is not None and number not in rows:
            found[number] = source.reason or source.status
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
        what = "could not be read" if reason in REFUSALS else what
        what = what or ("does not answer" if one else "do not answer")
        yield f"GPU {runs_text(indices)} {what}: {reason}"


def gets_no_cpu(frame: Frame, index: int) -> bool:
    """Whether that GPU is silent because this monitor is not run."""
    gpu = frame.gpu(index)
    if gpu is not None and gpu.status != "stale":
        return False  # it was read, whatever it said
    source = frame.source(gpu_source_name(index))
    if source is None or source.busy_seconds is None:
        return frame.starvation is not None
    return (source.starved_seconds or 0.0) > source.busy_seconds


def _by_reason(gpus: dict[int, str]) -> dict[str, list[int]]:
    by_reason: dict[str, list[int]] = {}
    for index, reason in gpus.items():
        by_reason.setdefault(reason, []).append(index)
    return by_reason


def silent_gpus(frame: Frame) -> dict[int, str]:
    """GPUs of which nothing is known now, with the reason; empty where no GPU was looked at."""
    silent = {gpu.index: why for gpu in frame.gpus if (why := _why_silent(gpu))}
    if frame.gpus:
        silent |= mute_gpus(frame)
    return dict(sorted(silent.items()))


def unreadable_gpus(frame: Frame) -> tuple[int, ...]:
    """Those that are in a bad state, lost, or silent for so long that it is one: no refusals."""
    return tuple(
        gpu.index
        for gpu in frame.gpus
        if gpu.status in ("lost", "failed")
        or (
            gpu.status == "stale"
            and (not gpu.ever_read or gpu.age_seconds >= _SILENT_SECONDS)
            and not gets_no_cpu(frame, gpu.index)
        )
    )


def all_refused(frame: Frame) -> str:
    """That the driver refuses every value of every GPU, and why; empty where it gives any."""
    reasons = {why_refused(gpu) for gpu in frame.gpus if gpu.status == "ok"}
    if not reasons or "" in reasons or any(gpu.status != "ok" for gpu in frame.gpus):
        return ""
    return f"no GPU can be read: {', '.join(sorted(reasons))}"


def why_refused(gpu: GpuReading) -> str:
    """What the driver says instead of every value; empty where it gives any."""
    if any(getattr(gpu, field) is not None for field in _MOVING):
        return ""
    if gpu.fault_code and not gpu.failed_calls and not gpu.lost:
        return f"driver says: {fault_text(gpu.fault_code)}"
    return next((why for field in _MOVING if (why := gpu.missing.get(field))), "")


def _why_silent(gpu: GpuFrame) -> str:
    return why_refused(gpu) if gpu.status == "ok" else gpu.status_reason or gpu.status


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
