from __future__ import annotations

from ...probes.model.gpu_frames import GpuFrame, NvlinkFrame
from ..finding import Evidence, Subject, Verdict, compared
from ..price_reasons import NOT_KNOWN_HOW_MUCH
from ..rule import Scene, Threshold, unavailable_field
from ._nvlink_rule import NvlinkRule


class NvlinkErrors(NvlinkRule):
    """NVLink errors.

    Meaning:
        Packets on an NVLink of this GPU arrive damaged: checksum errors at a high rate, or packets
        that had to be replayed, or links that had to recover, since this monitor came.
    Impact:
        Replays slow the link and with it every collective; a link that recovers again and again
        goes down sooner or later, and takes the job with it.
    Diagnosis:
        See nvidia-smi nvlink -e -i GPU for the counts of each link. One link alone: its connector
        or cable. All links of a GPU: the GPU or its power. All to one switch: that switch.
    Mitigation:
        Errors that go on: drain the node, reseat what can be reseated, run the vendor's NVLink
        test (dcgmi diag -r 3). A few that do not come again after a reset may be watched.
    """

    id = "LNK504"
    name = "NVLink errors"
    severity = "warning"
    unpriced = NOT_KNOWN_HOW_MUCH
    thresholds = {
        "crc_errors_per_second": Threshold(100.0, "per_second", "DCGM"),
        "replays_and_recoveries": Threshold(1.0, "errors", "DCGM; GCM allows none"),
        "window_seconds": Threshold(60.0, "seconds", "ours: no longer new after that"),
    }
    explains = ("LNK503",)
    next_step = "Run nvidia-smi nvlink -e for the counts of each link, and watch whether they grow."

    def judge_links(
        self, gpu: GpuFrame, links: tuple[NvlinkFrame, ...], subject: Subject, scene: Scene
    ) -> Verdict:
        if gpu.nvlink_errors_since_start is None:
            return unavailable_field(subject, gpu, "nvlink_errors_since_start")
        fastest = max((link.crc_errors_per_second or 0.0 for link in links), default=0.0)
        series = scene.history.gpu(gpu.index, "nvlink_errors_since_start")
        fresh = (series.grown(self.limit["window_seconds"]) or 0.0) > 0
        worst = max(links, key=_retries, default=None)
        retries = _retries(worst) if worst else 0
        bad = fastest >= self.limit["crc_errors_per_second"]
        if not bad and not (fresh and retries >= self.limit["replays_and_recoveries"]):
            return Verdict(subject=subject, holds=False)
        return Verdict(
            subject=subject,
            holds=True,
            evidence=(
                compared(
                    "crc_errors_per_second",
                    fastest,
                    self.limit["crc_errors_per_second"],
                    "per_second",
                ),
                compared(
                    "replays_and_recoveries",
                    float(retries),
                    self.limit["replays_and_recoveries"],
                    "errors",
                ),
                Evidence(signal="worst_link", value=str(worst.link) if worst else None),
            ),
        )


def _retries(link: NvlinkFrame) -> int:
    return link.replay_errors_since_start + link.recovery_errors_since_start
