from __future__ import annotations

from ...probes.model.gpu_frames import GpuFrame
from ..finding import Evidence, Subject, Verdict, compared
from ..price_reasons import NOT_KNOWN_HOW_MUCH
from ..rule import GpuRule, Scene, Threshold
from ._subjects import pcie_subject

_GIGATRANSFERS = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}
_FEWEST = 2


class PcieReplays(GpuRule):
    """PCIe replays.

    Meaning:
        Packets on the GPU's PCIe link arrive damaged and are sent again, more often than the bit
        error rate that a healthy link may have explains.
    Impact:
        Each replay delays what comes behind it; many of them eat into the rate, and a link that
        gets worse trains down or falls off the bus.
    Diagnosis:
        See whether it grows with temperature or load, and whether one slot or riser has it. AER
        messages in the kernel log name the port; lspci -vv shows correctable errors on each hop.
    Mitigation:
        Reseat card, riser or cable; update the retimer's firmware; swap the card with a good one
        to see which of the two the errors follow.
    """

    id = "LNK502"
    name = "PCIe replays"
    severity = "warning"
    unpriced = NOT_KNOWN_HOW_MUCH
    needs = ("pcie_replays_since_start", "pcie_generation", "pcie_width")
    thresholds = {
        "replays_per_lane": Threshold(
            0.15, "per_minute", "DCGM, from a bit error rate of 1e-12, for generation 1"
        ),
        "window_seconds": Threshold(60.0, "seconds", "ours"),
    }
    hold_seconds = 15.0
    next_step = "Reseat the card or its riser, and look in the kernel log for AER messages."

    def subject_of(self, gpu: GpuFrame) -> Subject:
        return pcie_subject(gpu)

    def judge_gpu(self, gpu: GpuFrame, scene: Scene) -> Verdict:
        subject = self.subject_of(gpu)
        window = self.limit["window_seconds"]
        series = scene.history.gpu(gpu.index, "pcie_replays_since_start")
        grown = series.grown(window)
        if not grown or grown < _FEWEST or not (seconds := series.covered(window)):
            return Verdict(subject=subject, holds=False)
        faster = _GIGATRANSFERS.get(gpu.pcie_generation or 1, 64.0) / _GIGATRANSFERS[1]
        most = self.limit["replays_per_lane"] * faster * (gpu.pcie_width or 1)
        per_minute = grown / max(seconds, window / 2) * 60.0
        return Verdict(
            subject=subject,
            holds=per_minute >= most,
            evidence=(
                compared(
                    "pcie_replays_per_minute", per_minute, most, "per_minute", label="PCIe replays"
                ),
                Evidence(
                    signal="pcie_replays_since_start",
                    value=float(gpu.pcie_replays_since_start or 0),
                    unit="errors",
                ),
            ),
        )
