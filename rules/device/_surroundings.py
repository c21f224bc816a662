"""What else was busy or idle while a GPU had little to do, and what that says to do next."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean

import msgspec

from ...probes.model.gpu_frames import GpuFrame
from ..finding import Evidence
from ..loader_workers import loader_workers
from ..rule import Scene, rank_on

_PEGGED_CORES = 0.9
_IDLE_CORES = 0.2
_BLOCKED_RATIO = 0.5
_IO_PRESSURE_RATIO = 0.10
_BUSY_PEERS_RATIO = 0.9


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """Means over a window; ``None`` where they were not read."""

    seconds: float
    """The window."""
    rank_cores: float | None = None
    """Of the process on the GPU, all its threads."""
    workers: int | None = None
    worker_cores: float | None = None
    """Of one of its DataLoader workers."""
    worker_blocked: float | None = None
    """Share of the time that a worker spent in state D."""
    pressure_io: float | None = None
    pcie_rx: float | None = None
    power: float | None = None
    peers: float | None = None
    """Activity of the other GPUs of the job."""

    def evidence(self) -> tuple[Evidence, ...]:
        """What is known of it."""
        workers = None if self.workers is None else float(self.workers)
        mean = self.seconds
        rows = (
            ("rank_cpu_cores", self.rank_cores, "cores", mean),
            ("loader_workers", workers, "processes", None),
            ("worker_cpu_cores", self.worker_cores, "cores", mean),
            ("worker_blocked_ratio", self.worker_blocked, "ratio", mean),
            ("pressure_io_ratio", self.pressure_io, "ratio", mean),
            ("pcie_rx_bytes_per_second", self.pcie_rx, "bytes_per_second", mean),
            ("power_watts", self.power, "watts", mean),
        )
        return tuple(
            Evidence(signal=signal, value=value, unit=unit, mean_seconds=mean_seconds)
            for signal, value, unit, mean_seconds in rows
            if value is not None
        )

    def next_step(self) -> str | None:
        """What the evidence points to; ``None`` where it points nowhere."""
        if _over(self.worker_cores, _PEGGED_CORES):
            return (
                "The DataLoader workers are CPU-bound: add workers or cores, "
                "or make the transforms cheaper."
            )
        if _over(self.worker_blocked, _BLOCKED_RATIO) or _over(
            self.pressure_io, _IO_PRESSURE_RATIO
        ):
            return "Storage holds the input up: check the disk or file system that the data is on."
        if _over(self.rank_cores, _PEGGED_CORES):
            return (
                "The rank's own process fills a core: look in its stack for data loading, or for "
                "many small kernels (launch-bound: try CUDA graphs or torch.compile)."
            )
        if _under(self.rank_cores, _IDLE_CORES) and not _over(self.worker_cores, _IDLE_CORES):
            return self._all_idle()
        return None

    def _all_idle(self) -> str:
        if _over(self.peers, _BUSY_PEERS_RATIO):
            return "All here is idle while its peers are busy: see in its stack what it waits for."
        return (
            "Everything here is idle: it waits for the network or another rank, "
            "so find the rank that is still busy."
        )


def look_around(gpu: GpuFrame, scene: Scene, seconds: float, peers: float | None) -> Surroundings:
    """What was around this GPU over the last ``seconds``."""
    history = scene.history
    rank = rank_on(gpu, scene.frame)
    workers = loader_workers(rank, scene.frame) if rank else ()

    def over_workers(signal: str) -> float | None:
        return _mean(history.process(worker.pid, signal).mean(seconds) for worker in workers)

    return Surroundings(
        seconds=seconds,
        rank_cores=history.process(rank.pid, "cpu_cores").mean(seconds) if rank else None,
        workers=len(workers) if rank else None,
        worker_cores=over_workers("cpu_cores"),
        worker_blocked=over_workers("blocked"),
        pressure_io=history.host("pressure_io_ratio").mean(seconds),
        pcie_rx=history.gpu(gpu.index, "pcie_rx_bytes_per_second").mean(seconds),
        power=history.gpu(gpu.index, "power_watts").mean(seconds),
        peers=peers,
    )


def _mean(values: Iterable[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return fmean(present) if present else None


def _over(value: float | None, limit: float) -> bool:
    return value is not None and value >= limit


def _under(value: float | None, limit: float) -> bool:
    return value is not None and value < limit
