from __future__ import annotations

from collections.abc import Iterable

from ...probes.model.frame import Frame
from ...probes.model.kernel_readings import KernelEventReading
from ..finding import Severity, Subject, Verdict
from ..kernel_events import AGE, began, lines_of, recent
from ..rule import Rule, Scene, Threshold, gpu_subject


class BusErrors(Rule):
    """Bus errors in the kernel log.

    Meaning:
        The kernel has logged errors of PCIe (AER) or of a network adapter's firmware in the last ten
        minutes: of a GPU where its address is in the line, else of this node.
    Impact:
        Corrected ones cost repeated transfers. Uncorrected and fatal ones end what goes over the link: a
        GPU falls off the bus, an adapter is reset, and the collective that used it hangs.
    Diagnosis:
        dmesg -T | grep -e AER -e mlx5_core; nvidia-smi -q -d PCIE, lspci -vv -s ADDRESS.
    Mitigation:
        Seat the card, riser or cable anew, and have the slot looked at; drain the node where errors are
        uncorrected.
    """

    id = "LNK515"
    name = "bus errors in kernel log"
    short = "bus errors"
    severity = "warning"
    severities = ("info", "warning", "error")
    thresholds = {
        "age_seconds": AGE,
        "corrected_count": Threshold(10.0, "count", "ours: of corrected ones within that time"),
    }
    hold_seconds = 0.0
    explains = ("HW206", "HW208", "LNK501", "LNK502", "LNK506", "LNK508")
    next_step = "Look at the link of that device: dmesg -T | grep -e AER -e mlx5_core, lspci -vv."
    unpriced = "what it costs is seen in what it explains alone"

    def judge(self, scene: Scene) -> Iterable[Verdict]:
        frame = scene.frame
        groups: dict[Subject, list[KernelEventReading]] = {}
        for event in recent(frame, ("AER", "RDMA"), self.limit["age_seconds"]):
            groups.setdefault(_subject(event, frame), []).append(event)
        for subject, events in groups.items():
            grave = any(event.grave for event in events)
            fatal = any("fatal" in event.text.lower() and event.grave for event in events)
            many = len(events) >= self.limit["corrected_count"]
            severity: Severity = "error" if fatal else "warning" if grave or many else "info"
            yield Verdict(
                subject=subject,
                holds=True,
                severity=severity,
                evidence=lines_of(events),
                since_monotonic_seconds=began(events, frame),
            )


def _subject(event: KernelEventReading, frame: Frame) -> Subject:
    for gpu in frame.gpus:
        if (
            event.pci_bus_id
            and gpu.pci_bus_id
            and _place(gpu.pci_bus_id) == _place(event.pci_bus_id)
        ):
            return gpu_subject(gpu)
    return Subject(kind="link", id=event.pci_bus_id or "rdma")


def _place(bus_id: str) -> str:
    """NVML gives the domain eight digits, the kernel four, and functions differ."""
    parts = bus_id.lower().split(":")
    return ":".join([parts[0][-4:], *parts[1:-1], parts[-1].split(".")[0]])
