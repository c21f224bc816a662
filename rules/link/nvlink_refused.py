from __future__ import annotations

from collections import Counter

from ...probes.model.job_frames import JobFrame
from ...probes.model.topology_frames import PeerAccess
from ..finding import Evidence, Subject, Verdict
from ..price_reasons import NOT_KNOWN_HOW_MUCH
from ..rule import JobRule, Scene


class NvlinkRefused(JobRule):
    """NVLink refused.

    Meaning:
        NVLinks between GPUs of this job are up, but the driver does not let one GPU reach the
        memory of the other over them.
    Impact:
        NCCL falls back to PCIe or to the memory of the host: collectives take ten times as long.
    Diagnosis:
        See nvidia-smi topo -p2p n for the pairs. On nodes with NVSwitch the fabric manager must run
        and match the driver (systemctl status nvidia-fabricmanager, nvidia-smi -q | grep -A3 Fabric).
        A registry key stands in /proc/driver/nvidia/params; virtual machines need the whole
        partition of the fabric.
    Mitigation:
        Start the fabric manager of the driver's version, or take the key out of the module's
        options, then start the job anew: it decides once, when it begins.
    """

    id = "LNK514"
    name = "NVLink refused"
    severity = "warning"
    unpriced = NOT_KNOWN_HOW_MUCH
    hold_seconds = 5.0
    explains = ("HW210", "LNK505", "RUN430", "RUN436")
    next_step = (
        "Check that the fabric manager runs and matches the driver, then start the job anew."
    )

    def judge_job(self, job: JobFrame, subject: Subject, scene: Scene) -> Verdict:
        topology = scene.frame.topology
        if topology is None or not topology.peers:
            return Verdict(subject=subject, holds=None, unknown_because="peer access: not reported")
        indices = {rank.gpu_index for rank in job.ranks}
        refused = [peer for peer in scene.once(_refused) if {peer.one, peer.two} <= indices]
        if not refused:
            return Verdict(subject=subject, holds=False)
        why, _ = Counter(peer.over_nvlink for peer in refused).most_common(1)[0]
        first = refused[0]
        return Verdict(
            subject=subject,
            holds=True,
            confidence=0.9,
            evidence=(
                Evidence(signal="pairs_refused", value=float(len(refused)), unit="count"),
                Evidence(
                    signal="first_refused_pair",
                    label="first of them",
                    value=f"GPU {first.one} and GPU {first.two}",
                ),
                Evidence(signal="nvlink_peer_access", label="peer access over NVLink", value=why),
                Evidence(
                    signal="nvlinks_between",
                    label="NVLinks between them",
                    value=float(first.links),
                    unit="links",
                ),
            ),
        )


def _refused(scene: Scene) -> tuple[PeerAccess, ...]:
    """All pairs of the node. A GPU that is split has no peers, and nobody expects that."""
    topology = scene.frame.topology
    split = {gpu.index for gpu in scene.frame.gpus if gpu.mig_mode}
    return tuple(
        peer
        for peer in (topology.peers if topology else ())
        if peer.refused and split.isdisjoint((peer.one, peer.two))
    )
