from __future__ import annotations

from collections.abc import Iterator

from ...probes.model.frame import Frame
from ...probes.model.job_frames import JobFrame
from ..finding import Evidence, Subject, Verdict
from ..host.cores_oversubscribed import CoresOversubscribed
from ..price_reasons import NOT_KNOWN_HOW_MUCH
from ..rule import JobRule, Scene
from ._loader_settings import loader_lines
from ._network_settings import cards, interfaces
from ._settings_audit import Line, Variables, audit, threads


class SlowSettings(JobRule):
    """Slow settings.

    Meaning:
        The environment of the ranks switches something off that makes them fast, or something on that is
        for debugging. Each is told with what it does; some are meant so.
    Impact:
        CUDA_LAUNCH_BLOCKING waits for each kernel; NCCL without InfiniBand, peer-to-peer or shared memory
        takes slower ways, and so it does by a network card that is far from the GPU; debugging output and
        checks cost time in each collective.
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
        variables_of = _variables_of(job, scene.frame)
        if not variables_of:
            return Verdict(
                subject=subject, holds=None, unknown_because="its environment is not readable"
            )
        found = tuple(_lines(job, variables_of, subject, scene))
        return Verdict(
            subject=subject,
            holds=bool(found),
            evidence=tuple(
                Evidence(signal="setting", value=f"{name}: {what}") for name, what in found
            ),
        )


def _variables_of(job: JobFrame, frame: Frame) -> dict[int, Variables]:
    """Of each rank whose own are known, by its pid."""
    found: dict[int, Variables] = {}
    for rank in job.living:
        process = frame.process(rank.pid)
        if process is not None and process.environment:
            found[rank.pid] = process.environment
    return found


def _lines(
    job: JobFrame, variables_of: dict[int, Variables], subject: Subject, scene: Scene
) -> Iterator[Line]:
    first = next(iter(variables_of.values()))  # but for its number and its cards each has the same
    yield from audit(first, job, scene.frame)
    if not CoresOversubscribed().judge_job(job, subject, scene).holds:  # which says it better
        yield from threads(first, job, scene.frame)
    yield from interfaces(first, scene.frame)
    yield from cards(job, variables_of, scene.frame)
    yield from loader_lines(job, scene)
