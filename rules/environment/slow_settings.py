from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...probes.model.frame import Frame
from ...probes.model.job_frames import JobFrame
from ..finding import Evidence, Subject, Verdict
from ..price_reasons import NOT_KNOWN_HOW_MUCH
from ..rule import JobRule, Scene

_TRUE = frozenset({"1", "true", "yes", "on", "y"})
_LOUD = frozenset({"INFO", "TRACE"})
_CROWDED_RATIO = 0.20
"""CPU pressure from which the number of threads matters (ours)."""


class SlowSettings(JobRule):
    """Slow settings.

    Meaning:
        The environment of the ranks switches something off that makes them fast, or something on that is
        for debugging. Each is told with what it does; some are meant so.
    Impact:
        CUDA_LAUNCH_BLOCKING waits for each kernel; NCCL without InfiniBand, peer-to-peer or shared memory
        takes slower ways; debugging output and checks cost time in each collective.
    Diagnosis:
        Key e on the processes screen shows the environment of a rank, NCCL_DEBUG=INFO at one start shows
        which way NCCL takes.
    Mitigation:
        Unset what was set for debugging or for another machine, and start the job anew.
    """

    id = "ENV602"
    name = "slow settings"
    severity = "info"
    unpriced = NOT_KNOWN_HOW_MUCH
    hold_seconds = 10.0
    look_seconds = 10.0
    next_step = "Unset what is not meant so, at the next start of the job."

    def judge_job(self, job: JobFrame, subject: Subject, scene: Scene) -> Verdict:
        environment = self._environment(job, scene.frame)
        if environment is None:
            return Verdict(
                subject=subject, holds=None, unknown_because="its environment is not readable"
            )
        found = tuple(_audit(environment, job, scene.frame))
        return Verdict(
            subject=subject,
            holds=bool(found),
            evidence=tuple(
                Evidence(signal="setting", value=f"{name}: {what}") for name, what in found
            ),
        )

    def _environment(self, job: JobFrame, frame: Frame) -> Mapping[str, str] | None:
        """Of its first rank whose own is known."""
        for rank in job.ranks:
            process = frame.process(rank.pid)
            if process is not None and process.environment:
                return process.environment
        return None


def _audit(
    environment: Mapping[str, str], job: JobFrame, frame: Frame
) -> Iterator[tuple[str, str]]:
    """Setting → what it does here."""

    def on(name: str) -> bool:
        return environment.get(name, "").strip().lower() in _TRUE

    if on("CUDA_LAUNCH_BLOCKING"):
        yield "CUDA_LAUNCH_BLOCKING", "the host waits for each kernel"
    if environment.get("TORCH_DISTRIBUTED_DEBUG", "").upper() == "DETAIL":
        yield "TORCH_DISTRIBUTED_DEBUG=DETAIL", "each collective is checked on all ranks first"
    if environment.get("NCCL_DEBUG", "").upper() in _LOUD:
        yield f"NCCL_DEBUG={environment['NCCL_DEBUG']}", "NCCL writes a log"
    if environment.get("CUBLAS_WORKSPACE_CONFIG"):
        yield "CUBLAS_WORKSPACE_CONFIG", "deterministic kernels, which may be slower"
    several = (job.world_size or len(job.ranks)) > 1
    if several and on("NCCL_P2P_DISABLE"):
        yield "NCCL_P2P_DISABLE", "GPUs of this node talk through host memory"
    if several and on("NCCL_SHM_DISABLE"):
        yield "NCCL_SHM_DISABLE", "ranks of this node talk through the network"
    if several and on("NCCL_IB_DISABLE") and _has_live_port(frame):
        yield "NCCL_IB_DISABLE", "nodes talk over Ethernet though RDMA ports are up"
    yield from _interfaces(environment, frame)
    waits = frame.host.pressure_cpu_ratio if frame.host else None
    crowded = len(job.ranks) > 1 and (waits or 0.0) >= _CROWDED_RATIO
    if crowded and "OMP_NUM_THREADS" not in environment:
        yield "OMP_NUM_THREADS is not set", "each rank may start a thread per core"


def _has_live_port(frame: Frame) -> bool:
    return any(port.state == "active" for port in frame.ports)


def _interfaces(environment: Mapping[str, str], frame: Frame) -> Iterator[tuple[str, str]]:
    """Names of network interfaces that none here begins with."""
    networks = frame.host.networks if frame.host else None
    if not networks:
        return
    here = [network.name for network in networks]
    for name in ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"):
        wanted = environment.get(name, "")
        if not wanted or wanted.startswith("^"):
            continue
        exact = wanted.startswith("=")
        parts = [part for part in wanted.lstrip("=").split(",") if part and part != "lo"]
        missing = [
            part
            for part in parts
            if not any(each == part if exact else each.startswith(part) for each in here)
        ]
        if parts and len(missing) == len(parts):
            yield f"{name}={wanted}", "this node has no such network interface"
