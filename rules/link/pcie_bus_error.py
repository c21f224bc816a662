from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...probes.model.frame import Frame
from ...probes.model.kernel_log import KernelLogFrame
from ..finding import Evidence, Severity, Subject, Verdict
from ..log_lines import (
    FRESH,
    TOLD,
    LogRule,
    age_of,
    is_old,
    is_told,
    line_evidence,
    since,
    worst_of,
)
from ..rule import Threshold

_STORM_SECONDS = 600.0


class PcieBusError(LogRule):
    """PCIe bus error.

    Meaning:
        The kernel log has PCIe errors (AER, DPC) of a GPU, of a network card, or of a bridge above
        one: fatal ones, others that were not corrected, or very many that were.
    Impact:
        After a fatal error the card is gone until the node is started again, or its slot is reset.
        One that was not corrected may have lost a transfer; a storm of corrected ones costs
        bandwidth and mostly comes before worse.
    Diagnosis:
        The line names the device, and with it which layer found it: the physical and data link
        layers mean signal, slot, riser or cable; the transaction layer means a time-out or an
        access that was refused. lspci -vv shows the error registers of each hop.
    Mitigation:
        Drain the node, reseat the card and its riser, and look for a newer firmware of board and
        switch. A card that goes on with it in another slot is the card's own fault.
    """

    id = "LNK515"
    name = "PCIe bus error"
    severity = "warning"
    severities = ("info", "warning", "error")
    thresholds = {
        "storm_errors": Threshold(100.0, "errors", "ours; corrected ones within ten minutes"),
        "fresh_seconds": FRESH,
        "told_seconds": TOLD,
    }
    unpriced = "what it costs is seen in what it explains alone"
    hold_seconds = 0.0
    explains = ("HW206", "HW208", "LNK501", "LNK502")
    next_step = "Drain the node, reseat this card and its riser, and see lspci -vv for each hop."

    def judge_log(self, frame: Frame) -> Iterable[Verdict]:
        by_device: dict[str, list[KernelLogFrame]] = {}
        for event in frame.kernel_log:
            if event.kind == "pcie error" and is_told(event, frame, self.limit["told_seconds"]):
                by_device.setdefault(event.pci_bus_id or "", []).append(event)
        for device, events in by_device.items():
            counted = [event for event in events if event.level != "corrected"]
            counted += self._storm(events, frame)
            if counted:
                yield self._verdict(device, counted, frame)

    def _storm(self, events: Sequence[KernelLogFrame], frame: Frame) -> list[KernelLogFrame]:
        corrected = [
            event
            for event in events
            if event.level == "corrected"
            and (age := age_of(event, frame)) is not None
            and age < _STORM_SECONDS
        ]
        many = sum(event.count for event in corrected) >= self.limit["storm_errors"]
        return corrected if many else []

    def _verdict(self, device: str, events: Sequence[KernelLogFrame], frame: Frame) -> Verdict:
        first = events[0]
        gpu = frame.gpu(first.gpus[0]) if len(first.gpus) == 1 else None
        jobs = {each.job_id for index in first.gpus if (each := frame.gpu(index))} - {None}
        job = jobs.pop() if len(jobs) == 1 else None
        return Verdict(
            subject=Subject(
                kind="link",
                id=f"pci {device}",
                gpu=gpu.index if gpu else None,
                rank=gpu.rank if gpu else None,
                job=job,
            ),
            holds=True,
            severity=worst_of(self._severity(event, frame, job) for event in events),
            since_monotonic_seconds=since(first, frame),
            evidence=(*line_evidence(events, frame), *_below(first)),
        )

    def _severity(self, event: KernelLogFrame, frame: Frame, job: str | None) -> Severity:
        concerns = event.gpus or event.rdma_devices
        if not concerns or is_old(event, frame, self.limit["fresh_seconds"], job):
            return "info"
        return "error" if event.level == "fatal" else "warning"


def _below(event: KernelLogFrame) -> tuple[Evidence, ...]:
    """Whom it concerns, where the line names only the bridge that they hang from."""
    if not event.below_bridge:
        return ()
    named = [*(f"GPU {index}" for index in event.gpus), *event.rdma_devices]
    return (Evidence(signal="below_bridge", label="below this bridge", value=", ".join(named)),)
