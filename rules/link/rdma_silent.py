from __future__ import annotations

from ...probes.model.job_frames import JobFrame
from ..finding import Evidence, Subject, Verdict, compared
from ..price_reasons import NOT_KNOWN_HOW_MUCH
from ..rule import JobRule, Scene, Threshold, is_multi_node
from ._node_traffic import rdma_traffic, settled_for, step_seconds


class RdmaSilent(JobRule):
    """No RDMA traffic.

    Meaning:
        The job runs on several nodes, this node has RDMA ports that are up, and for three steps
        (or ten minutes, where steps are not known) they have carried nothing.
    Impact:
        Ranks of different nodes do not exchange anything: the job does not move, or it moves over
        another network, which is a finding of its own.
    Diagnosis:
        See the stacks: all ranks in one collective means that a rank of another node is missing
        from it, so look there. A rank in data loading or a checkpoint holds all the others.
    Mitigation:
        Find the node whose ranks are not in the collective (NCCL's RAS service or flight recorder
        names it). A checkpoint or evaluation that takes so long needs no action.
    """

    id = "LNK511"
    name = "no RDMA traffic"
    short = "RDMA silent"
    severity = "warning"
    unpriced = NOT_KNOWN_HOW_MUCH
    thresholds = {
        "bytes_per_second": Threshold(1e6, "bytes_per_second", "ours: about nothing"),
        "steps": Threshold(3.0, "count", "ours"),
        "seconds": Threshold(600.0, "seconds", "ByteRobust"),
    }
    hold_seconds = 5.0
    explains = ("HW210", "HW211", "RUN430", "RUN436")
    next_step = (
        "Find the rank that is not in the collective: on this node its stack, else its node."
    )

    def judge_job(self, job: JobFrame, subject: Subject, scene: Scene) -> Verdict:
        if not is_multi_node(job):
            return Verdict(subject=subject, holds=False)
        if why := settled_for(job):
            return Verdict(subject=subject, holds=None, unknown_because=why)
        step = step_seconds(job)
        seconds = self.limit["seconds"]
        if step is not None:
            seconds = min(seconds, max(30.0, self.limit["steps"] * step))
        traffic = rdma_traffic(scene, seconds)
        if traffic is None:
            return Verdict(subject=subject, holds=None, unknown_because="no RDMA port is up")
        if traffic.covered < 0.8 * seconds:
            return Verdict(subject=subject, holds=None, unknown_because="not seen for long enough")
        if traffic.most > self.limit["bytes_per_second"]:
            return Verdict(subject=subject, holds=False)
        return Verdict(
            subject=subject,
            holds=True,
            confidence=0.9 if step is not None else 0.7,
            evidence=(
                compared(
                    "rdma_bytes_per_second",
                    traffic.most,
                    self.limit["bytes_per_second"],
                    "bytes_per_second",
                    label="RDMA",
                ),
                Evidence(
                    signal="silent_seconds", label="silent for", value=seconds, unit="seconds"
                ),
                Evidence(
                    signal="local_ranks",
                    label="ranks here",
                    value=f"{len(job.ranks)} of {job.world_size}",
                ),
            ),
        )
