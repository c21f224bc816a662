"""What is no number and differs all the same: hosts, chips, versions, how many ranks there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from ...drawing.finding_words import runs_text
from .side import GpuSide, JobSide, Side

JobPair = tuple[JobSide | None, JobSide | None]
_NONE = "none"


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One of them."""

    whose: str
    """Of whom: ``node``, ``train.py``."""
    what: str
    a_text: str
    b_text: str


def differences(a: Side, b: Side, pairs: Sequence[JobPair]) -> tuple[Difference, ...]:
    """All that may explain a change of numbers, or make them say nothing."""
    return tuple(each for each in (*_of_node(a, b), *_of_jobs(pairs)) if each.a_text != each.b_text)


def paired(a: Side, b: Side) -> tuple[JobPair, ...]:
    """The jobs of both sides by their names; where one of each side is left over, these two."""
    first = {job.name: job for job in a.jobs}
    second = {job.name: job for job in b.jobs}
    pairs: list[JobPair] = [(first[name], second[name]) for name in first if name in second]
    only_a = [job for name, job in first.items() if name not in second]
    only_b = [job for name, job in second.items() if name not in first]
    if len(only_a) == len(only_b) == 1:
        return (*pairs, (only_a[0], only_b[0]))
    return (*pairs, *((job, None) for job in only_a), *((None, job) for job in only_b))


def subject_of(pair: JobPair) -> str:
    """What a pair is called: by the first of the two."""
    job = pair[0] or pair[1]
    return job.name if job else ""


def _of_node(a: Side, b: Side) -> Iterator[Difference]:
    yield Difference(whose="node", what="host", a_text=a.node, b_text=b.node)
    drivers = (a.driver_version or "unknown", b.driver_version or "unknown")
    yield Difference(whose="node", what="driver", a_text=drivers[0], b_text=drivers[1])
    yield Difference(whose="node", what="GPUs", a_text=_models(a.gpus), b_text=_models(b.gpus))


def _models(gpus: Sequence[GpuSide]) -> str:
    """``0-7 NVIDIA H100``: which GPUs of which kind."""
    kinds: dict[str, list[int]] = {}
    for gpu in gpus:
        kinds.setdefault(gpu.name or "unknown", []).append(gpu.index)
    return ", ".join(f"{runs_text(of)} {kind}" for kind, of in kinds.items()) or _NONE


def _of_jobs(pairs: Sequence[JobPair]) -> Iterator[Difference]:
    for pair in pairs:
        a, b = pair
        subject = subject_of(pair)
        if a is None or b is None:
            there, gone = "there", "not there"
            yield Difference(
                whose=subject, what="job", a_text=there if a else gone, b_text=there if b else gone
            )
            continue
        yield Difference(whose=subject, what="name", a_text=a.name, b_text=b.name)
        yield Difference(
            whose=subject,
            what="jobs of that name",
            a_text=str(a.job_count),
            b_text=str(b.job_count),
        )
        yield Difference(
            whose=subject, what="ranks here", a_text=str(a.rank_count), b_text=str(b.rank_count)
        )
        sizes = [str(each.world_size or "unknown") for each in (a, b)]
        yield Difference(whose=subject, what="world size", a_text=sizes[0], b_text=sizes[1])
        for name in ("python", "torch", "cuda", "nccl"):
            versions = [getattr(each, f"{name}_version") or "unknown" for each in (a, b)]
            yield Difference(whose=subject, what=name, a_text=versions[0], b_text=versions[1])
