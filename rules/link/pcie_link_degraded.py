from __future__ import annotations

from ...probes.model.gpu_frames import GpuFrame
from ..finding import Evidence, Subject, Verdict
from ..price_reasons import NOT_KNOWN_HOW_MUCH
from ..rule import GpuRule, Scene, Threshold, peers_of
from ._subjects import pcie_subject


class PcieLinkDegraded(GpuRule):
    """PCIe link degraded.

    Meaning:
        Under load the GPU's PCIe link runs at a lower generation or with fewer lanes than card and
        slot can do. Without load a lower generation is normal, for it saves power.
    Impact:
        Copies between host and GPU are slower in proportion: half the lanes, half the rate.
        Without NVLink the collectives use this link too, and every rank waits for the slowest.
    Diagnosis:
        Compare with the other GPUs: if all are alike, the slot, the riser or the BIOS setting
        limits them (then this is information). One alone points to a bad contact, cable, retimer
        or card. lspci -vv shows LnkCap against LnkSta on each hop; look for PCIe replays as well.
    Mitigation:
        Reset the GPU or restart the host, which trains the link anew. If it stays low, reseat the
        card or its cable, then swap it with a good one to see which of the two the fault follows.
    """

    id = "LNK501"
    name = "PCIe link degraded"
    short = "PCIe degraded"
    severity = "warning"
    unpriced = NOT_KNOWN_HOW_MUCH
    severities = ("info", "warning")
    needs = (
        "pcie_generation",
        "pcie_width",
        "pcie_generation_max",
        "pcie_width_max",
        "utilization_ratio",
        "memory_total_bytes",  # without memory of its own the chip is built in: no real link
    )
    thresholds = {
        "busy_ratio": Threshold(0.2, "ratio", "ours; the link trains down when idle (nvtop#6)"),
        "window_seconds": Threshold(10.0, "seconds", "ours"),
    }
    explains = ("HW210", "LNK502", "RUN407", "RUN430", "RUN436")
    next_step = (
        "Train the link anew (GPU reset or restart of the host); if it stays, reseat the card."
    )

    def subject_of(self, gpu: GpuFrame) -> Subject:
        return pcie_subject(gpu)

    def judge_gpu(self, gpu: GpuFrame, scene: Scene) -> Verdict:
        subject = self.subject_of(gpu)
        window = self.limit["window_seconds"]
        busy = scene.history.gpu(gpu.index, "utilization_ratio").mean(window)
        if (busy or 0.0) < self.limit["busy_ratio"] or not _degraded(gpu):
            return Verdict(subject=subject, holds=False)
        peers = peers_of(gpu, scene.frame)
        alike = len(peers) >= 2 and all(_link(peer) == _link(gpu) for peer in peers)
        return Verdict(
            subject=subject,
            holds=True,
            severity="info" if alike else "warning",
            evidence=(
                *_below(gpu),
                Evidence(signal="card_and_slot", value=_ends(gpu)),
                Evidence(signal="utilization_ratio", value=busy, unit="ratio", mean_seconds=window),
                Evidence(
                    signal="peers", value="all alike" if alike else "differ" if peers else None
                ),
            ),
            next_step="All GPUs are alike: compare with what slot, riser and BIOS should give."
            if alike
            else None,
        )


def _link(gpu: GpuFrame) -> tuple[int | None, int | None]:
    return (gpu.pcie_generation, gpu.pcie_width)


def _degraded(gpu: GpuFrame) -> bool:
    return bool(_below(gpu))


def _below(gpu: GpuFrame) -> tuple[Evidence, ...]:
    """Generation and width, as far as they are not what they could be."""
    pairs = (
        ("pcie_generation", gpu.pcie_generation, gpu.pcie_generation_max, "count"),
        ("pcie_width", gpu.pcie_width, gpu.pcie_width_max, "lanes"),
    )
    return tuple(
        Evidence(signal=name, value=float(now), threshold=float(most), comparison="<", unit=unit)
        for name, now, most, unit in pairs
        if now is not None and most is not None and now < most
    )


def _ends(gpu: GpuFrame) -> str | None:
    """What each end of the link can do, where both are reported."""
    card = (gpu.pcie_generation_device_max, gpu.pcie_width_device_max)
    slot = (gpu.pcie_generation_slot_max, gpu.pcie_width_slot_max)
    if None in card or None in slot:
        return None
    return f"gen {card[0]} x{card[1]} in gen {slot[0]} x{slot[1]}"
