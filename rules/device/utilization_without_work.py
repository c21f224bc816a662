from __future__ import annotations

from ...probes.model.gpu_frames import GpuFrame
from ..finding import Evidence, Verdict, compared
from ..occupancy import is_latched
from ..rule import (
    COLLECTIVE,
    NETWORK,
    GpuRule,
    Scene,
    gpu_subject,
    is_multi_node,
    job_of,
    peers_of,
    rank_on,
)
from ..serving import serves
from ._activity import Activity, activity
from ._spinning import SPINNING, idle_inside, links_silent, power_flat

_SMALL_KERNELS = (
    "Look in a profile for many small kernels: they fill little of the chip. Try larger batches, "
    "torch.compile or CUDA graphs."
)


class UtilizationWithoutWork(GpuRule):
    """Utilization without work.

    Meaning:
        The driver says that the GPU is busy all the time, but little of the chip works or it draws
        little power. A kernel that only waits counts as busy: a rank in an NCCL collective spins.
    Impact:
        Nothing, or little, is being computed. With flat power and silent links too it is most
        likely a collective that one rank never joined: the job stands still until the time-out.
    Diagnosis:
        Look for the GPU or rank of the same job that is not like this one: idle, lost, or busy
        with something else. That one is the culprit; the spinning ones are the victims. Where no
        process is on the GPU, its memory is empty and it draws what an idle one does, the counter
        is stuck, and no job is at fault. Small memory-bound kernels and inference decode look
        alike, but their power and links move; of a server it is information.
    Mitigation:
        Find out what the odd rank waits for (its stack, its input, its GPU). If none is odd,
        suspect the network. Before killing the job, keep its evidence: stacks of all ranks, and
        NCCL's flight recorder where it is on.
    """

    id = "HW211"
    name = "utilization without work"
    short = "SM idle"
    severity = "warning"
    unpriced = "how much more the GPU could do is in none of the counters"
    severities = ("info", "warning", "error")
    needs = ("utilization_ratio",)
    needs_any = ("sm_active_ratio", "power_watts")
    thresholds = SPINNING
    settled_only = True
    hold_seconds = 20.0
    job_wide = True
    explains = ("RUN436",)
    next_step = (
        "Find the GPU or rank of this job that differs from this one: the others wait for it."
    )

    def judge_gpu(self, gpu: GpuFrame, scene: Scene) -> Verdict:
        subject = gpu_subject(gpu)
        seen = activity(gpu, scene.history, self.limit["window_seconds"])
        if seen.utilization is None or seen.utilization < self.limit["utilization_ratio"]:
            return Verdict(subject=subject, holds=False)
        if seen.sm is None and seen.power is None:
            return Verdict(
                subject=subject,
                holds=None,
                unavailable="the power limit or its history is not known",
            )
        if not idle_inside(seen, self.limit):
            return Verdict(subject=subject, holds=False)
        if is_latched(gpu):
            return self._stuck(gpu, seen)
        window = self.limit["window_seconds"]
        flat = power_flat(gpu, scene.history, self.limit, window)
        silent = links_silent(gpu, scene.history, self.limit, window)
        spins = flat and silent and self._may_wait(gpu, scene)
        return Verdict(
            subject=subject,
            holds=True,
            severity="error" if spins else "info" if serves(gpu, scene.frame) else "warning",
            confidence=0.9 if spins else 0.6,
            evidence=self._evidence(seen, flat, silent),
            next_step=self._step(gpu, spins, scene),
            waits_in=_waits_in(gpu, spins, scene),
            lost_ratio=1.0 if spins else None,
            lost_origin="inferred",
        )

    def _stuck(self, gpu: GpuFrame, seen: Activity) -> Verdict:
        """Nobody is there who could be at fault: it is the counter."""
        return Verdict(
            subject=gpu_subject(gpu),
            holds=True,
            name="utilization counter stuck",
            severity="info",
            confidence=0.8,
            evidence=(
                *self._readings(seen),
                Evidence(signal="processes", value="none, and no memory in use"),
            ),
            next_step="Nothing runs here: do not believe this counter until the GPU was reset or the "
            "driver loaded anew.",
        )

    def _step(self, gpu: GpuFrame, spins: bool, scene: Scene) -> str | None:
        if spins:
            return "Take the stacks of all ranks and find the one that is not in the collective."
        job = job_of(gpu, scene.frame)
        if job is None or is_multi_node(job):
            return None
        window = self.limit["window_seconds"]
        alike = all(
            idle_inside(activity(peer, scene.history, window), self.limit)
            for peer in peers_of(gpu, scene.frame)
        )
        return _SMALL_KERNELS if alike else None  # where no GPU differs, none is waited for

    def _may_wait(self, gpu: GpuFrame, scene: Scene) -> bool:
        """It has somebody to wait for, and its probe, if any, does not say that it goes on."""
        job = job_of(gpu, scene.frame)
        if job is None or max(len(job.ranks), job.world_size or 0) < 2:
            return False
        rank = rank_on(gpu, scene.frame)
        age = rank.phase_age_seconds if rank else None
        return age is None or age >= self.limit["window_seconds"]

    def _evidence(self, seen: Activity, flat: bool, silent: bool) -> tuple[Evidence, ...]:
        return (
            *self._readings(seen),
            Evidence(signal="power", value="flat" if flat else "moves"),
            Evidence(signal="links", value="silent" if silent else "not known to be silent"),
        )

    def _readings(self, seen: Activity) -> tuple[Evidence, ...]:
        return (
            self._mean("utilization_ratio", seen.utilization, "utilization_ratio"),
            *(
                (self._mean("sm_active_ratio", seen.sm, "sm_active_ratio"),)
                if seen.sm is not None
                else ()
            ),
            *(
                (self._mean("power_ratio", seen.power, "power_ratio", "power of its limit"),)
                if seen.power is not None
                else ()
            ),
        )

    def _mean(self, signal: str, value: float | None, limit: str, label: str = "") -> Evidence:
        window = self.limit["window_seconds"]
        most = self.limit[limit]
        return compared(signal, value, most, "ratio", label=label, mean_seconds=window)


def _waits_in(gpu: GpuFrame, spins: bool, scene: Scene) -> frozenset[str]:
    job = job_of(gpu, scene.frame)
    on = {COLLECTIVE if spins else "work"}
    return frozenset({*on, NETWORK} if job is not None and is_multi_node(job) else on)
