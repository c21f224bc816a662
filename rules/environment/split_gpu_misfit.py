from __future__ import annotations

from collections.abc import Mapping

from ...probes.model.frame import Frame
from ...probes.model.gpu_frames import GpuFrame
from ...probes.model.gpu_readings import GpuProcessReading
from ...probes.model.job_frames import JobFrame
from ..finding import Evidence, Verdict
from ..price_reasons import NOT_KNOWN_HOW_MUCH
from ..rule import GpuRule, Scene, gpu_subject

_MOST_NAMED = 4


class SplitGpuMisfit(GpuRule):
    """Shared GPU does not fit its work.

    Meaning:
        The GPU is split by MIG or shared by MPS in a way that does not go with what runs on it: processes
        on a GPU in MIG mode that are in none of its instances, MIG mode without instances, several ranks
        of one job on instances of one GPU, or several clients of its MPS server at once.
    Impact:
        In MIG mode CUDA computes in instances alone. Instances cannot reach each other: NCCL goes through
        host memory, or refuses two ranks on one GPU. Clients of MPS share memory and SMs without a limit,
        and a fault of one ends all. Utilization by process is not known under either.
    Diagnosis:
        nvidia-smi mig -lgi -i GPU lists the instances, nvidia-smi pmon -c 1 the processes; an MPS server
        is the process nvidia-cuda-mps-server, and writes control.log below CUDA_MPS_LOG_DIRECTORY.
    Mitigation:
        Give a training job whole GPUs: nvidia-smi -i GPU -mig 0 (as root, without processes on it). Name
        instances by their MIG UUID in CUDA_VISIBLE_DEVICES. Where MPS is meant, limit its clients by
        CUDA_MPS_ACTIVE_THREAD_PERCENTAGE and CUDA_MPS_PINNED_DEVICE_MEM_LIMIT.
    """

    id = "ENV604"
    name = "shared GPU does not fit its work"
    short = "MIG/MPS misfit"
    severity = "info"
    unpriced = NOT_KNOWN_HOW_MUCH
    hold_seconds = 15.0
    look_seconds = 5.0
    next_step = "Give this job whole GPUs, or instances and clients of its own."

    def judge_gpu(self, gpu: GpuFrame, scene: Scene) -> Verdict:
        subject = gpu_subject(gpu)
        found = _mig(gpu, scene.frame) if gpu.mig_mode else _mps(gpu)
        return Verdict(subject=subject, holds=bool(found), evidence=found)


def _mig(gpu: GpuFrame, frame: Frame) -> tuple[Evidence, ...]:
    if not gpu.migs and "migs" not in gpu.missing:
        return (Evidence(signal="mig_instances", label="MIG instances", value="none"),)
    outside = [
        on for on in gpu.processes or () if on.kind != "graphics" and on.gpu_instance is None
    ]
    if outside:
        return (_named("outside_instances", "in no MIG instance", outside),)
    together = _ranks_together(gpu, frame)
    if together:
        return (Evidence(signal="ranks_on_instances", label="ranks of one job", value=together),)
    return ()


def _ranks_together(gpu: GpuFrame, frame: Frame) -> str:
    """Ranks of a job of several on different instances of this GPU."""
    inside = {on.pid: on.gpu_instance for on in gpu.processes or () if on.gpu_instance is not None}
    for job in frame.running:
        ranks = [rank for rank in job.living if rank.pid in inside]
        if len({inside[rank.pid] for rank in ranks}) > 1:
            return _instances(job, inside)
    return ""


def _instances(job: JobFrame, inside: Mapping[int, int]) -> str:
    return ", ".join(
        f"rank {'?' if rank.rank is None else rank.rank} in instance {inside[rank.pid]}"
        for rank in job.living
        if rank.pid in inside
    )


def _mps(gpu: GpuFrame) -> tuple[Evidence, ...]:
    clients = [on for on in gpu.processes or () if on.kind == "mps"]
    count = len({on.pid for on in clients})
    if count < 2:
        return ()
    return (
        Evidence(signal="mps_clients", label="MPS clients", value=float(count), unit="processes"),
        _named("mps_client_pids", "they are", clients),
    )


def _named(signal: str, label: str, processes: list[GpuProcessReading]) -> Evidence:
    pids = list(dict.fromkeys(on.pid for on in processes))
    more = f" and {len(pids) - _MOST_NAMED} more" if len(pids) > _MOST_NAMED else ""
    text = ", ".join(f"pid {pid}" for pid in pids[:_MOST_NAMED]) + more
    return Evidence(signal=signal, label=label, value=text)
