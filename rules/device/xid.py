from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...probes.model.frame import Frame
from ...probes.model.gpu_readings import XidReading
from ...probes.model.kernel_log import KERNEL_LOG
from ..finding import SEVERITY_ORDER, Evidence, Severity, Subject, Verdict
from ..log_lines import BEFORE, FRESH, TOLD, is_before_job
from ..rule import Rule, Scene, Threshold, gpu_subject
from ._xid_codes import UNKNOWN_XID, XidMeaning, xid_meaning

_MOST_SHOWN = 5
_SOURCE = "nvml events"
_FOLLOWS_SECONDS = 600.0
"""So long after another one may a code follow from it."""


class Xid(Rule):
    """Xid.

    Meaning:
        The driver reported an error of this GPU by its Xid code. It is shown for ten minutes after
        the last one; the evidence names the code, what it stands for, and the process it hit. Those
        from before this watch are read in the kernel log: for an hour they count as new ones do,
        unless the job was started since, and for a day they are information.
    Impact:
        That depends on the code, and so does the severity: codes that only follow from another one
        are information, faults of the application are warnings, those that need a reset are
        errors.
    Diagnosis:
        The first code counts: 43 and 45 come after the real one. Read the driver's full text with
        dmesg -T and grep Xid. 13 and 31 are mostly bugs of the application, and after 31 the SM
        activity counters may stay at 0. 79 means that the GPU has left the bus; 48, 63, 64, 94 and
        95 are about its memory.
    Mitigation:
        Follow the next step given with the code. A code that comes again after a reset, on the
        same GPU and with another job, is the board's: drain the node and send it to support.
    """

    id = "HW206"
    name = "Xid"
    severity = "warning"
    unpriced = "what it costs is seen in what it explains alone"
    severities = ("info", "warning", "error")
    thresholds = {
        "age_seconds": Threshold(
            600.0, "seconds", "ours; a stale code must not look current (DCGM#277)"
        ),
        "fresh_seconds": FRESH,
        "told_seconds": TOLD,
    }
    hold_seconds = 0.0
    explains = (
        "HST107",
        "HW204",
        "HW205",
        "HW206",
        "HW208",
        "HW209",
        "HW210",
        "HW211",
        "HW216",
        "HW217",
        "HW218",
        "RUN436",
    )
    next_step = "Read the kernel log (dmesg -T) around this Xid and follow NVIDIA's action for it."

    def judge(self, scene: Scene) -> Iterable[Verdict]:
        yield from _unavailable(scene.frame)
        told: dict[str, list[XidReading]] = {}
        for xid in sorted(scene.frame.xids, key=lambda xid: xid.time_seconds):
            if self._is_told(xid, scene.frame):
                told.setdefault(_place(xid, scene.frame), []).append(xid)
        for place, xids in told.items():
            yield self._verdict(place, xids, scene.frame)

    def _is_told(self, xid: XidReading, frame: Frame) -> bool:
        age = frame.time_seconds - xid.time_seconds
        if age < self.limit["age_seconds"] or not xid.before_start:
            return age < self.limit["age_seconds"]
        # Of long ago those that only follow from others say nothing any more.
        serious = xid_meaning(xid.code).severity != "info"
        return serious and age < self.limit["told_seconds"]

    def _verdict(self, place: str, xids: Sequence[XidReading], frame: Frame) -> Verdict:
        # Of the worst the first: what follows mostly follows from it.
        subject = _subject(place, frame)
        severity: dict[int, Severity] = {
            id(xid): self._severity(xid, subject, frame) for xid in xids
        }
        worst = min(xids, key=lambda xid: SEVERITY_ORDER[severity[id(xid)]])
        row = xid_meaning(worst.code)
        shown = [worst, *(xid for xid in xids if xid is not worst)][:_MOST_SHOWN]
        return Verdict(
            subject=subject,
            holds=True,
            severity=severity[id(worst)],
            name="Xid before this watch" if all(xid.before_start for xid in xids) else None,
            since_monotonic_seconds=worst.time_seconds
            - (frame.time_seconds - frame.monotonic_seconds),
            evidence=tuple(_evidence(xid, frame) for xid in shown) + _before(worst, subject, frame),
            next_step=_next_step(worst, row, frame),
        )

    def _severity(self, xid: XidReading, subject: Subject, frame: Frame) -> Severity:
        old = xid.before_start and (
            frame.time_seconds - xid.time_seconds >= self.limit["fresh_seconds"]
            or is_before_job(xid.time_seconds, frame, subject.job)
        )
        return "info" if old else xid_meaning(xid.code).severity


def _unavailable(frame: Frame) -> Iterable[Verdict]:
    """Where neither the driver nor the kernel log tells of Xids."""
    events, log = frame.source(_SOURCE), frame.source(KERNEL_LOG)
    if events is None or events.status == "ok" or not frame.gpus:
        return
    if log is None or log.status != "ok":
        yield Verdict(
            subject=Subject(kind="node", id=frame.node),
            holds=None,
            unavailable=events.reason or events.status,
        )


def _before(xid: XidReading, subject: Subject, frame: Frame) -> tuple[Evidence, ...]:
    if not xid.before_start:
        return ()
    job = is_before_job(xid.time_seconds, frame, subject.job)
    return (Evidence(signal="since", value=f"{BEFORE}, and before this job" if job else BEFORE),)


def _ago(xid: XidReading, frame: Frame) -> str:
    """In hours and days: the kernel's clock and ours run apart by more than seconds."""
    hours = max(0.0, frame.time_seconds - xid.time_seconds) / 3600.0
    if hours >= 48:
        return f"{hours / 24:.0f} days"
    return f"{hours:.0f} h" if hours >= 1 else f"{hours * 60:.0f} min"


def _place(xid: XidReading, frame: Frame) -> str:
    if xid.gpu_index is not None:
        return str(xid.gpu_index)
    for gpu in frame.gpus:
        if xid.gpu_uuid is not None and gpu.uuid == xid.gpu_uuid:
            return str(gpu.index)
    return xid.gpu_uuid or xid.pci_bus_id or "unknown"


def _subject(place: str, frame: Frame) -> Subject:
    gpu = frame.gpu(int(place)) if place.isdigit() else None
    return gpu_subject(gpu) if gpu else Subject(kind="gpu", id=place)


def _evidence(xid: XidReading, frame: Frame) -> Evidence:
    victim = "" if xid.pid is None else f", process {xid.pid}"
    ago = f", {_ago(xid, frame)} ago" if xid.before_start else ""
    row = xid_meaning(xid.code)
    # What the driver itself says is all that there is to go by.
    text = f", the driver says: {xid.text}" if row is UNKNOWN_XID and xid.text else ""
    return Evidence(signal="xid", value=f"{xid.code}: {row.meaning}{text}{victim}{ago}")


def _next_step(xid: XidReading, row: XidMeaning, frame: Frame) -> str:
    if row.kind != "consequence":
        return row.next_step
    earlier = [
        other
        for other in frame.xids
        if 0.0 <= xid.time_seconds - other.time_seconds < _FOLLOWS_SECONDS
        and xid_meaning(other.code).kind != "consequence"
    ]
    if not earlier:
        return row.next_step
    cause = max(earlier, key=lambda other: other.time_seconds)
    seconds = xid.time_seconds - cause.time_seconds
    return (
        f"Ignore this one and look at Xid {cause.code} on GPU {_place(cause, frame)}, "
        f"{seconds:.0f} s before it."
    )
