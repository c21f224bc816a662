from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...probes.model.frame import Frame
from ...probes.model.kernel_log import KernelLogFrame
from ..finding import Severity, Subject, Verdict
from ..log_lines import FRESH, TOLD, LogRule, is_old, is_told, line_evidence, since, worst_of

_KINDS = ("adapter fault", "port module")
_MODULE_STEP = "Reseat or replace the cable and transceiver of this port, and see to its cooling."


class RdmaAdapterFault(LogRule):
    """RDMA adapter fault.

    Meaning:
        The kernel log has a fault of an mlx5 network card: its firmware has stopped or does not
        answer (health), or its cable or transceiver is bad or too hot (port module).
    Impact:
        A card whose firmware has stopped is reset by its driver: every connection over it breaks,
        and collectives end with an error or hang. A bad or hot module loses the link sooner or later.
    Diagnosis:
        The lines around it name the syndrome and the firmware's version; mlxlink and the counters
        of the port show the state of cable and module.
    Mitigation:
        Take the node out and restart it; send the log of the firmware (mstdump, mlxfwmanager) to
        support when it comes again. For a module, reseat or replace cable and transceiver.
    """

    id = "LNK516"
    name = "RDMA adapter fault"
    short = "RDMA fault"
    severity = "error"
    severities = ("info", "warning", "error")
    thresholds = {"fresh_seconds": FRESH, "told_seconds": TOLD}
    unpriced = "what it costs is seen in what it explains alone"
    hold_seconds = 0.0
    explains = ("LNK506", "LNK507", "LNK508", "LNK510", "LNK511")
    next_step = "Take the node out and restart it, and send the card's firmware log to support."

    def judge_log(self, frame: Frame) -> Iterable[Verdict]:
        by_card: dict[str, list[KernelLogFrame]] = {}
        for event in frame.kernel_log:
            if event.kind in _KINDS and is_told(event, frame, self.limit["told_seconds"]):
                by_card.setdefault(event.pci_bus_id or "", []).append(event)
        for card, events in by_card.items():
            yield self._verdict(card, events, frame)

    def _verdict(self, card: str, events: Sequence[KernelLogFrame], frame: Frame) -> Verdict:
        devices = next((event.rdma_devices for event in events if event.rdma_devices), ())
        jobs = [job.id for job in frame.running if len(job.ranks) > 1]
        job = jobs[0] if devices and len(jobs) == 1 else None
        firmware = [event for event in events if event.kind == "adapter fault"]
        return Verdict(
            subject=Subject(kind="link", id=", ".join(devices) or f"pci {card}", job=job),
            holds=True,
            severity=worst_of(self._severity(event, frame, job) for event in events),
            since_monotonic_seconds=since(events[0], frame),
            evidence=tuple(line_evidence(firmware or events, frame)),
            next_step=None if firmware else _MODULE_STEP,
        )

    def _severity(self, event: KernelLogFrame, frame: Frame, job: str | None) -> Severity:
        if not event.rdma_devices or is_old(event, frame, self.limit["fresh_seconds"], job):
            return "info"
        return "error" if event.kind == "adapter fault" else "warning"
