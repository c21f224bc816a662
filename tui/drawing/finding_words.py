"""Findings in people's words: who it is about, and the numbers that prove it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ...probes.model.frame import Frame
from ...probes.model.signal_types import UNITS
from ...probes.model.signals import signal_named
from ...probes.model.vocabulary import Origin
from ...rules.finding import Evidence, Finding, NotEvaluated, PriceBasis, Subject
from . import format
from .glyphs import DOT
from .lines import plain, whole_words, width_of

SURE_FROM = 0.8
"""Confidence from which a finding is reported without it."""

LEAST_PRICE = 0.005
"""Of the time; less is not told."""
_ALL = 0.995
_BASES: dict[PriceBasis, str] = {
    "account": "from the ledger",
    "symptom": "by what it explains",
}
_HOUR_SECONDS = 3600.0
_CONTAINER_ID = r"(?<![0-9a-f])([0-9a-f]{12})[0-9a-f]{52}(?:\.scope)?(?![0-9a-f])"
"""Of 64 digits, of which the runtimes themselves show the first twelve."""
_PLURALS = {"process": "processes", "cgroup": "groups", "link": "links", "job": "jobs"}
_AMOUNTS = ("cores", "count")
"""Units that stand behind the number."""
_SPELLED = {
    word.lower(): word
    for word in (
        *(
            "CPU",
            "CPUs",
            "GPU",
            "GPUs",
            "SM",
            "SMs",
            "DRAM",
            "IO",
            "PCIe",
            "NVLink",
            "NVLinks",
            "RDMA",
            "TCP",
        ),
        *(
            "ECC",
            "MIG",
            "MPS",
            "NUMA",
            "OOM",
            "NFS",
            "GIL",
            "GC",
            "H2D",
            "NCCL",
            "CUDA",
            "NVML",
            "IMEX",
            "PID",
        ),
        *("Xid", "Xids", "HCA", "IB", "ACS", "AER", "SRAM", "NIC", "NICs", "DDP", "JSON", "UUID"),
    )
}
"""Acronyms, as they are written."""


def words_of(signal: str) -> str:
    """``sm_clock_hertz`` → ``SM clock``."""
    known = signal_named(signal)
    if known is not None:
        return known.words
    for unit in (*UNITS, *_AMOUNTS):
        signal = signal.removesuffix(f"_{unit}")
    return plain(" ".join(_SPELLED.get(word, word) for word in signal.split("_")))


def label_of(evidence: Evidence) -> str:
    """What a piece of evidence is, for people."""
    return plain(evidence.label) or words_of(evidence.signal)


def evidence_text(evidence: Evidence) -> str:
    """``temperature 86 °C ≥ 85 °C``."""
    value = plain(format.quantity(evidence.value, evidence.unit))
    text = f"{label_of(evidence)} {value}"
    if evidence.threshold is not None and evidence.comparison:
        limit = format.quantity(evidence.threshold, evidence.unit)
        if evidence.comparison == "against":
            text += f" against {limit} of its peers"
        else:
            text += f" {evidence.comparison} {limit}"
    if evidence.mean_seconds:
        text += f", mean of {format.duration(evidence.mean_seconds)}"
    return text if evidence.origin == "measured" else f"{text} ({evidence.origin})"


def subject_text(subject: Subject) -> str:
    """``GPU 6``, ``rank 3``, ``pid 51877``; ``train r3`` where several jobs are here."""
    if subject.kind == "gpu":
        return f"GPU {subject.id}"
    if subject.kind == "rank" and subject.rank is not None:
        return (
            f"{plain(subject.job_label)} r{subject.rank}"
            if subject.job_label
            else f"rank {subject.rank}"
        )
    if subject.kind in ("rank", "process"):  # the id of a rank has that of its job before it
        return f"pid {plain(subject.id).rpartition(' ')[2].partition('@')[0]}"
    if subject.kind == "job":
        return f"job {plain(subject.job_label)}" if subject.job_label else "job"
    if subject.kind in ("host", "node"):
        return subject.kind
    if subject.kind == "cgroup":
        return plain(group_text(subject.id))
    return plain(subject.id)


def group_text(path: str) -> str:
    """A control group; that of a container begins there, as ``docker-8f3c1d9a5be2``."""
    parts = path.split("/")
    at = next((at for at, part in enumerate(parts) if re.search(_CONTAINER_ID, part)), None)
    if at is None:
        return path
    bare = re.fullmatch(_CONTAINER_ID, parts[at]) is not None
    named = parts[max(0, at - bare) :]
    return re.sub(_CONTAINER_ID, r"\1", "/".join(named)).lstrip("/")


def name_within(finding: Finding, cells: int) -> str:
    """What is found; the short name where there is no room for the whole one."""
    name = finding.name if width_of(finding.name) <= cells else finding.short or finding.name
    return whole_words(name, cells)


def sureness_text(finding: Finding, below: float = SURE_FROM) -> str:
    """``60 % sure``, where that is little enough to be reported; else empty."""
    return f"{finding.confidence * 100:.0f} % sure" if finding.confidence < below else ""


def price_text(finding: Finding, *, whole: bool = True) -> str:
    """``costs 36 % of the time, 1.2 GPU-hours so far``; empty where nobody can say or it costs nothing.

    Args:
        finding: whose price.
        whole: with what it has cost so far; else the share alone, unless that is all of it.
    """
    ratio, seconds = finding.lost_ratio, finding.lost_gpu_seconds
    if not ratio or ratio < LEAST_PRICE or (ratio >= _ALL and not whole):
        return ""
    text = f"costs {format.quantity(ratio, 'ratio')} of the time"
    if whole and seconds is not None and seconds >= 1.0:
        text += f", {gpu_time_text(seconds)} so far"
    return text


def price_line(finding: Finding) -> str:
    """As `price_text`; where there is no price, why."""
    if finding.lost_ratio is None:
        return f"cannot be priced: {finding.price.reason}" if finding.price.reason else ""
    text = price_text(finding)
    if not text:
        return "" if finding.lost_ratio >= LEAST_PRICE else "costs no time now"
    basis = _BASES.get(finding.price.basis, "")
    how = ", ".join(filter(None, (basis, _unless_measured(finding.price.origin))))
    return f"{text} ({how})" if how else text


def _unless_measured(origin: Origin | None) -> str:
    return "" if origin in (None, "measured") else str(origin)


def gpu_time_text(seconds: float, unit: str = "GPU") -> str:
    """``1.2 GPU-hours``, ``40 GPU-seconds``."""
    if seconds >= _HOUR_SECONDS / 10:
        return f"{seconds / _HOUR_SECONDS:.1f} {unit}-hours"
    return f"{seconds:.0f} {unit}-seconds"


def age_seconds(finding: Finding, now_seconds: float) -> float:
    """For how long it has held."""
    return max(0.0, now_seconds - finding.since_seconds)


def unseen_seconds(finding: Finding, frame: Frame) -> float:
    """For how long it has not been seen to hold, though it still counts; 0 while it is."""
    unseen = frame.time_seconds - finding.since_seconds - finding.seen_seconds
    return unseen if unseen > 0.5 * frame.interval_seconds else 0.0


def subjects_text(findings: Sequence[Finding]) -> str:
    """Whom several findings of one rule are about: ``GPU 0-2,5``, ``3 processes``."""
    subjects = [finding.subject for finding in findings]
    if len(subjects) == 1:
        return subject_text(subjects[0])
    kinds = {subject.kind for subject in subjects}
    if kinds == {"gpu"}:
        return f"GPU {runs_text([int(subject.id) for subject in subjects])}"
    ranks = [subject.rank for subject in subjects if subject.rank is not None]
    labels = {subject.job_label for subject in subjects}
    if kinds == {"rank"} and len(ranks) == len(subjects) and len(labels) == 1:
        label = labels.pop()
        return f"{plain(label)} r{runs_text(ranks)}" if label else f"rank {runs_text(ranks)}"
    return f"{len(subjects)} {_PLURALS.get(subjects[0].kind, 'subjects')}"


def of_one_kind(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Those of each rule that are called the same together, in the order of their first."""
    kinds: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        kinds.setdefault((finding.id, finding.name), []).append(finding)
    return list(kinds.values())


def same_kind_text(findings: Sequence[Finding]) -> str:
    """Findings of one kind in a few words: ``rank waits, GPU 0-2,5``."""
    return f"{findings[0].name}, {subjects_text(findings)}"


def runs_text(numbers: Iterable[int]) -> str:
    """``0-2,5``."""
    runs: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if runs and number <= runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def symptoms_of(finding: Finding, findings: Sequence[Finding]) -> list[Finding]:
    """Those among the findings that this one explains."""
    own = (finding.id, finding.subject.key)
    return [
        other
        for other in findings
        if other.explained_by is not None
        and (other.explained_by.id, other.explained_by.subject.key) == own
    ]


def with_all_symptoms(findings: Sequence[Finding]) -> list[tuple[Finding, list[Finding]]]:
    """Those whose cause is not among them, in their order, each with all that it leads to."""
    own = {(finding.id, finding.subject.key): finding for finding in findings}
    found: dict[tuple[str, tuple[str, str]], tuple[Finding, list[Finding]]] = {}
    for finding in findings:
        first, seen = finding, 0
        while first.explained_by is not None and seen < len(findings):
            cause = own.get((first.explained_by.id, first.explained_by.subject.key))
            if cause is None:
                break
            first, seen = cause, seen + 1
        of_first = found.setdefault((first.id, first.subject.key), (first, []))
        if finding is not first:
            of_first[1].append(finding)
    return list(found.values())


def explained_text(symptoms: Iterable[Finding]) -> str:
    """``utilization low, GPU 0-7 · straggler, rank 3``."""
    return f" {DOT} ".join(map(same_kind_text, of_one_kind(symptoms)))


def not_evaluated_reasons(not_evaluated: Iterable[NotEvaluated]) -> list[str]:
    """``no permission: HW201, HW203``: each reason with the rules that it keeps from looking."""
    by_reason: dict[str, list[str]] = {}
    for rule in not_evaluated:
        by_reason.setdefault(rule.reason, []).append(rule.id)
    return [f"{plain(reason)}: {', '.join(ids)}" for reason, ids in by_reason.items()]
