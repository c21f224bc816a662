from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...probes.model.frame import Frame
from ...probes.model.gpu_readings import XidReading
from ..finding import SEVERITY_ORDER, Evidence, Subject, Verdict
from ..rule import Rule, Scene, Threshold, gpu_subject
from ._xid_codes import UNKNOWN_XID, XidMeaning, xid_meaning

_MOST_SHOWN = 5
_SOURCE = "nvml events"
_LOG = "kernel log"


class Xid(Rule):
    """Xid.

    Meaning:
        The driver reported an error of this GPU by its Xid code. It is shown for ten minutes after
        the last one; the evidence names the code, what it stands for, and the process it hit.
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
        )
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
        now = scene.frame.time_seconds
        source = scene.frame.source(_SOURCE)
        log = scene.frame.source(_LOG)
        has_log = log is not None and log.status == "ok"  # it tells the same, a moment later
        if source is not None and source.status != "ok" and scene.frame.gpus and not has_log:
            yield Verdict(
                subject=Subject(kind="node", id=scene.frame.node),
                holds=None,
                unavailable=source.reason or source.status,
            )
        recent: dict[str, list[XidReading]] = {}
        before: dict[str, list[XidReading]] = {}
        for xid in sorted(scene.frame.xids, key=lambda xid: xid.time_seconds):
            old = now - xid.time_seconds >= self.limit["age_seconds"]
            found = before if old else recent
            if not old or xid.origin == "kernel log":
                found.setdefault(_place(xid, scene.frame), []).append(xid)
        for place, xids in recent.items():
            yield self._verdict(place, xids, scene.frame)
        for place, xids in before.items():
            if place not in recent and any(_is_serious(xid) for xid in xids):
                yield self._earlier(place, xids, scene.frame)

    def _earlier(self, place: str, xids: Sequence[XidReading], frame: Frame) -> Verdict:
        """What the kernel log has of hours and days ago: told with its time, and no more."""
        shown = sorted(filter(_is_serious, xids), key=lambda xid: -xid.time_seconds)[:_MOST_SHOWN]
        return Verdict(
            subject=_subject(place, frame),
            holds=True,
            severity="info",
            name="Xid before this watch",
            evidence=tuple(
                Evidence(signal="xid", value=f"{_evidence(xid).value}, {_ago(xid, frame)} ago")
                for xid in shown
            ),
            next_step=xid_meaning(shown[0].code).next_step,
        )

    def _verdict(self, place: str, xids: Sequence[XidReading], frame: Frame) -> Verdict:
        # Of the worst the first: what follows mostly follows from it.
        worst = min(xids, key=lambda xid: SEVERITY_ORDER[xid_meaning(xid.code).severity])
        row = xid_meaning(worst.code)
        shown = [worst, *(xid for xid in xids if xid is not worst)][:_MOST_SHOWN]
        return Verdict(
            subject=_subject(place, frame),
            holds=True,
            severity=row.severity,
            since_monotonic_seconds=worst.time_seconds
            - (frame.time_seconds - frame.monotonic_seconds),
            evidence=tuple(_evidence(xid) for xid in shown),
            next_step=_next_step(worst, row, frame),
        )


def _is_serious(xid: XidReading) -> bool:
    return xid_meaning(xid.code).severity != "info"


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
    return xid.gpu_uuid or "unknown"


def _subject(place: str, frame: Frame) -> Subject:
    gpu = frame.gpu(int(place)) if place.isdigit() else None
    return gpu_subject(gpu) if gpu else Subject(kind="gpu", id=place)


def _evidence(xid: XidReading) -> Evidence:
    victim = "" if xid.pid is None else f", process {xid.pid}"
    row = xid_meaning(xid.code)
    # What the driver itself says is all that there is to go by.
    text = f", the driver says: {xid.text}" if row is UNKNOWN_XID and xid.text else ""
    return Evidence(signal="xid", value=f"{xid.code}: {row.meaning}{text}{victim}")


def _next_step(xid: XidReading, row: XidMeaning, frame: Frame) -> str:
    if row.kind != "consequence":
        return row.next_step
    earlier = [
        other
        for other in frame.xids
        if other.time_seconds <= xid.time_seconds and xid_meaning(other.code).kind != "consequence"
    ]
    if not earlier:
        return row.next_step
    cause = max(earlier, key=lambda other: other.time_seconds)
    seconds = xid.time_seconds - cause.time_seconds
    return (
        f"Ignore this one and look at Xid {cause.code} on GPU {_place(cause, frame)}, "
        f"{seconds:.0f} s before it."
    )
