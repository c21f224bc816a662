"""What the rules about RDMA ports share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable

from ...probes.model.frame import Frame
from ...probes.model.link_frames import GONE, PortFrame
from ...probes.model.port_counters import CounterKind, of_kind
from ..finding import Evidence, Subject, Verdict
from ..history import History
from ..rule import Rule, Scene, reading_too_old
from ..series import Series

ACTIVE = "active"
_BESIDE_A_GPU = frozenset({"PIX", "PXB"})


class PortRule(Rule):
    """A rule about single RDMA ports."""

    def judge(self, scene: Scene) -> Iterable[Verdict]:
        for port in scene.frame.ports:
            subject = port_subject(port, scene.frame)
            # One that is gone is not read any more, and that is what there is to judge.
            age = 0.0 if port.state == GONE else port.age_seconds
            old = reading_too_old(subject, age, scene.frame)
            yield old or self._unmet(subject, port) or self.judge_port(port, subject, scene)

    @abstractmethod
    def judge_port(self, port: PortFrame, subject: Subject, scene: Scene) -> Verdict:
        """The verdict on this port; every field in ``needs`` is there."""


def port_subject(port: PortFrame, frame: Frame) -> Subject:
    """The subject that stands for a port. What is wrong with it, the node's one job suffers."""
    jobs = [job.id for job in frame.running if len(job.ranks) > 1]
    return Subject(
        kind="link",
        id=f"{port.device}/{port.port}",
        job=jobs[0] if len(jobs) == 1 else None,
    )


def errors(port: PortFrame, history: History, kind: CounterKind) -> Series:
    """Counters of one kind since the start, added up, over time."""
    return history.port(port.device, port.port, f"errors {kind}")


def count_evidence(port: PortFrame, *kinds: CounterKind) -> tuple[Evidence, ...]:
    """The counters of these kinds that have grown since the start, the largest first."""
    grown = of_kind(port.counters_since_start, *kinds)
    return tuple(
        Evidence(
            signal=name,
            value=float(count),
            unit="errors",
            comparison="≥" if name in port.full_counters else "",
        )
        for name, count in sorted(grown.items(), key=lambda item: -item[1])[:5]
    )


def siblings(port: PortFrame, frame: Frame) -> tuple[PortFrame, ...]:
    """The other active ports of the same model and kind of network."""
    return tuple(
        other
        for other in frame.ports
        if (other.device, other.port) != (port.device, port.port)
        and other.state == ACTIVE
        and (other.driver, other.model, other.link_layer)
        == (port.driver, port.model, port.link_layer)
    )


def same_role(one: PortFrame, other: PortFrame, frame: Frame) -> bool:
    """Whether both are known to be for the same: for the GPU behind the same PCIe switch as each of them.

    Ports for storage have the same cards, and are elsewhere. Without a topology nobody can tell.
    """
    topology = frame.topology
    beside = {
        name
        for gpu in (topology.gpus if topology else ())
        if gpu.nearest_level in _BESIDE_A_GPU
        for name in gpu.nearest_nics
    }
    return {one.device, other.device} <= beside
