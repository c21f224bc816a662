"""The newest judgement as metrics, for Prometheus and whatever reads its format.

Gauges are made anew from the newest frame at each scrape, so that the series of what is gone end by
themselves. Counters and histograms come from `Totals`, which counts each step once.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from ....probes.model.frame import Frame
from ....probes.model.job_frames import JobFrame, RankFrame
from ....probes.model.signal_types import Signal, SignalOf
from ....probes.model.signals import signals_of
from ....rules.finding import Judgement
from .totals import BUCKETS, Histogram, Totals

MOST_RANKS = 512
MOST_FINDINGS = 200
"""Of each kind so many have series; a node has fewer of both in its right mind."""
_NODE = ("node",)
_GPU = (*_NODE, "gpu", "uuid", "job", "rank")
_PORT = (*_NODE, "device", "port")
_RANK = (*_NODE, "job", "rank", "gpu")
_FINDING = (*_NODE, "rule", "name", "severity", "subject", "job", "rank", "gpu")


class JudgementCollector(Collector):
    """What is scraped. Any thread may scrape while another one puts a new judgement in."""

    def __init__(self) -> None:
        self._judgement: Judgement | None = None
        self._totals = Totals()

    def take(self, judgement: Judgement) -> None:
        """It is the newest from now on."""
        self._totals.add(judgement)
        self._judgement = judgement

    def collect(self) -> Iterable[Metric]:
        """All families; none before the first judgement."""
        judgement = self._judgement
        if judgement is None:
            return
        frame = judgement.frame
        yield from _of_the_node(frame)
        yield from _of_gpus(frame)
        yield from _of_ports(frame)
        ranks = list(_ranks(frame))[:MOST_RANKS]
        yield from _of_ranks(frame, ranks)
        yield from self._of_steps(frame, ranks)
        yield from _of_findings(judgement)

    def _of_steps(self, frame: Frame, ranks: list[tuple[JobFrame, RankFrame]]) -> Iterator[Metric]:
        steps = HistogramMetricFamily(
            "gputop_rank_step_duration_seconds", "Steps of the main loop.", labels=_RANK
        )
        grads = HistogramMetricFamily(
            "gputop_rank_grad_sync_duration_seconds",
            "Of each step the time in which the main loop waited in collectives, such as DDP's of gradients.",
            labels=_RANK,
        )
        spent = CounterMetricFamily(
            "gputop_rank_time_seconds",
            "Where the time of a rank went, by the ledger: compute, and losses by name.",
            labels=(*_RANK, "spent_on"),
        )
        for job, rank in ranks:
            labels = _rank_labels(frame, job, rank)
            total = self._totals.of(rank)
            if total is None:
                continue
            _add_histogram(steps, labels, total.steps)
            _add_histogram(grads, labels, total.grad_sync)
            for entry, seconds in total.ledger.items():
                spent.add_metric([*labels, entry], seconds)
        yield from (steps, grads, spent)


def _of_the_node(frame: Frame) -> Iterator[Metric]:
    node = [frame.node]
    age = GaugeMetricFamily(
        "gputop_sample_age_seconds", "Since the newest sample was taken.", labels=_NODE
    )
    age.add_metric(node, max(0.0, time.time() - frame.time_seconds))
    yield age
    up = GaugeMetricFamily(
        "gputop_source_up", "Whether a source answers.", labels=(*_NODE, "source")
    )
    for source in frame.sources:
        up.add_metric([*node, source.name], float(source.status == "ok"))
    yield up
    if frame.host is not None:
        yield from _Gauges("host", _NODE).with_values_of(frame.host, node).families()


def _of_gpus(frame: Frame) -> Iterator[Metric]:
    up = GaugeMetricFamily("gputop_gpu_up", "Whether the GPU answers.", labels=_GPU)
    gauges = _Gauges("gpu", _GPU)
    for gpu in frame.gpus:
        labels = [frame.node, str(gpu.index), gpu.uuid or "", gpu.job_id or "", _text(gpu.rank)]
        up.add_metric(labels, float(gpu.status == "ok"))
        if gpu.status == "ok":  # else what was read last is no value of now
            gauges.with_values_of(gpu, labels)
    yield up
    yield from gauges.families()


def _of_ports(frame: Frame) -> Iterator[Metric]:
    up = GaugeMetricFamily("gputop_port_up", "Whether an RDMA port is active.", labels=_PORT)
    gauges = _Gauges("port", _PORT)
    for port in frame.ports:
        labels = [frame.node, port.device, str(port.port)]
        up.add_metric(labels, float(port.state == "active"))
        gauges.with_values_of(port, labels)
    yield up
    yield from gauges.families()


class _Gauges:
    """One family for each signal of a kind of subject."""

    def __init__(self, kind: SignalOf, labels: Sequence[str]) -> None:
        self._kind: SignalOf = kind
        self._labels = labels
        self._families: dict[str, GaugeMetricFamily] = {}

    def with_values_of(self, reading: Any, labels: Sequence[str]) -> _Gauges:
        """Those of one subject are added."""
        for signal, value in _values(reading, self._kind):
            family = self._families.get(signal.name)
            if family is None:
                name = f"gputop_{self._kind}_{signal.name}"
                family = GaugeMetricFamily(name, _help(signal), labels=self._labels)
                self._families[signal.name] = family
            family.add_metric(labels, value)
        return self

    def families(self) -> Iterable[Metric]:
        """What was added."""
        return self._families.values()


def _of_ranks(frame: Frame, ranks: list[tuple[JobFrame, RankFrame]]) -> Iterator[Metric]:
    step = CounterMetricFamily("gputop_rank_steps", "Finished steps.", labels=_RANK)
    tokens = CounterMetricFamily("gputop_rank_tokens", "Training tokens.", labels=_RANK)
    samples = CounterMetricFamily("gputop_rank_samples", "Training samples.", labels=_RANK)
    phase = CounterMetricFamily(
        "gputop_rank_phase_seconds", "Host time by phase.", labels=(*_RANK, "phase")
    )
    in_phase = GaugeMetricFamily(
        "gputop_rank_in_phase", "1 for the phase that a rank is in now.", labels=(*_RANK, "phase")
    )
    age = GaugeMetricFamily(
        "gputop_rank_step_age_seconds", "Since its last step ended.", labels=_RANK
    )
    memory = GaugeMetricFamily(
        "gputop_rank_memory_allocated_bytes", "By PyTorch's allocator.", labels=_RANK
    )
    for job, rank in ranks:
        labels = _rank_labels(frame, job, rank)
        if rank.phase is not None:
            in_phase.add_metric([*labels, rank.phase], 1.0)
        _add(age, labels, rank.step_age_seconds)
        _add(memory, labels, rank.memory_allocated_bytes)
        _add(step, labels, rank.step)
        probe = frame.probe(rank.pid, rank.start_time_seconds)
        if probe is None:
            continue
        _add(tokens, labels, probe.tokens)
        _add(samples, labels, probe.samples)
        for name, seconds in probe.phase_seconds.items():
            phase.add_metric([*labels, name], seconds)
    yield from (step, tokens, samples, phase, in_phase, age, memory)


def _of_findings(judgement: Judgement) -> Iterator[Metric]:
    frame = judgement.frame
    active = GaugeMetricFamily(
        "gputop_finding_active", "1 for each finding that counts now.", labels=_FINDING
    )
    lost = GaugeMetricFamily(
        "gputop_finding_lost_ratio",
        "Share of the time that would be won if it went away.",
        labels=_FINDING,
    )
    for finding in judgement.active[:MOST_FINDINGS]:
        subject = finding.subject
        labels = [
            frame.node,
            finding.id,
            finding.name,
            finding.severity,
            f"{subject.kind} {subject.id}",
            subject.job or "",
            _text(subject.rank),
            _text(subject.gpu),
        ]
        active.add_metric(labels, 1.0)
        _add(lost, labels, finding.lost_ratio)
    blind = GaugeMetricFamily(
        "gputop_rules_not_evaluated", "Rules that cannot look now.", labels=_NODE
    )
    blind.add_metric([frame.node], float(len(judgement.not_evaluated)))
    yield from (active, lost, blind)


def _ranks(frame: Frame) -> Iterator[tuple[JobFrame, RankFrame]]:
    for job in frame.running:
        for rank in job.ranks:
            yield job, rank


def _rank_labels(frame: Frame, job: JobFrame, rank: RankFrame) -> list[str]:
    name = _text(rank.rank) or f"pid {rank.pid}"
    return [frame.node, job.id, name, _text(rank.gpu_index)]


def _values(subject: Any, of: SignalOf) -> Iterator[tuple[Signal, float]]:
    """The numbers among its signals; what is missing has no series."""
    for signal in signals_of(of):
        value = getattr(subject, signal.name, None)
        # A name that ends in _count is a histogram's in this format.
        if isinstance(value, bool | int | float) and not signal.name.endswith("_count"):
            yield signal, float(value)


def _help(signal: Signal) -> str:
    about = signal.chart.about if signal.chart else ""
    return about or f"{signal.words[:1].upper()}{signal.words[1:]}."


def _add(family: Any, labels: list[str], value: float | None) -> None:
    if value is not None:
        family.add_metric(labels, float(value))


def _add_histogram(family: HistogramMetricFamily, labels: list[str], found: Histogram) -> None:
    if not found.count:
        return
    limits = [*map(str, BUCKETS), "+Inf"]
    family.add_metric(labels, list(zip(limits, found.cumulative(), strict=True)), found.total)


def _text(number: int | None) -> str:
    return "" if number is None else str(number)
