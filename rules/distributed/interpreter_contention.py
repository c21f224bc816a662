from __future__ import annotations

from collections.abc import Iterable

from ...probes.model.job_frames import JobFrame, RankFrame
from ...probes.model.stack_places import own_frame, place_of
from ..finding import Evidence, Subject, Verdict, compared
from ..history import INTERPRETER_TAKEN
from ..progress import NOT_GOING_ON, steps_go_on
from ..rank_rule import not_known
from ..rule import Rule, Scene, Threshold
from ..waits.other_threads import gil_owner
from ..waits.ranks import rank_subject

_WINDOW_SECONDS = 120.0
_GPU_WINDOW_SECONDS = 30.0


class InterpreterContention(Rule):
    """Interpreter taken by another thread.

    Meaning:
        The main thread of a rank stands in a lock, in the midst of Python, while another thread of its
        process has the interpreter (the GIL): a thread that logs, decodes, prefetches or serves takes it
        from the training loop.
    Impact:
        Each time the main thread has let go of the interpreter it waits up to 5 ms to have it back, and
        launches no kernel meanwhile. The share that is shown is of its time, as far as the GPU idles too.
    Diagnosis:
        The stacks screen (key 5) shows which thread has the interpreter, and where it is; the rule judges
        while it is open, since stacks are taken only then.
    Mitigation:
        Move the work of that thread into a process (DataLoader workers, multiprocessing), let it sleep
        between two pieces, or do it once in many steps. A shorter sys.setswitchinterval helps the loop
        and slows the thread.
    """

    id = "RUN440"
    name = "interpreter taken by another thread"
    short = "GIL contention"
    severity = "warning"
    thresholds = {
        "taken_ratio": Threshold(0.20, "ratio", "ours: of the looks; pytorch#77139: 50 of 335 ms"),
        "looks": Threshold(30.0, "count", "ours: fewer say too little"),
        "lost_ratio": Threshold(0.05, "ratio", "ours: of the time in which the GPU idles as well"),
    }
    look_seconds = 5.0
    explains = ("HW210", "RUN407", "RUN436")
    next_step = (
        "See on the stacks screen which thread has the interpreter, and move its work to a process."
    )

    def judge(self, scene: Scene) -> Iterable[Verdict]:
        for job in scene.frame.running:
            for rank in job.ranks:
                yield self._judge_rank(rank, rank_subject(job, rank), job, scene)

    def _judge_rank(
        self, rank: RankFrame, subject: Subject, job: JobFrame, scene: Scene
    ) -> Verdict:
        looks = scene.history.rank(rank.pid, INTERPRETER_TAKEN).window(_WINDOW_SECONDS)
        if len(looks) < self.limit["looks"]:
            why = "too few stacks were taken: they are while the stacks screen is open"
            return Verdict(subject=subject, holds=None, unknown_because=why)
        if not steps_go_on(job):
            return not_known(subject, NOT_GOING_ON)
        taken = sum(looks) / len(looks)
        idle = _idle(rank, scene)
        lost = taken if idle is None else min(taken, idle)
        if taken < self.limit["taken_ratio"] or lost < self.limit["lost_ratio"]:
            return Verdict(subject=subject, holds=False)
        return Verdict(
            subject=subject,
            holds=True,
            confidence=0.7,
            evidence=(
                compared(
                    "taken_ratio",
                    taken,
                    self.limit["taken_ratio"],
                    "ratio",
                    label="main thread waits for the interpreter",
                    origin="sampled",
                    mean_seconds=_WINDOW_SECONDS,
                ),
                Evidence(signal="looks", value=float(len(looks)), unit="count"),
                Evidence(
                    signal="gpu_idle_ratio",
                    value=idle,
                    unit="ratio",
                    mean_seconds=_GPU_WINDOW_SECONDS,
                ),
                *_owner(rank, scene),
            ),
            lost_ratio=lost,
            lost_origin="sampled",
            payers=frozenset(each.rank for each in job.ranks if each.rank is not None),
        )


def _owner(rank: RankFrame, scene: Scene) -> Iterable[Evidence]:
    """Who has it now, where somebody has."""
    thread = gil_owner(rank, scene.frame)
    if thread is not None:
        own = own_frame(thread.frames)
        at = f" at {place_of(own)}" if own is not None else ""
        yield Evidence(signal="interpreter_held_by", value=f"thread {thread.name or '?'}{at}")


def _idle(rank: RankFrame, scene: Scene) -> float | None:
    if rank.gpu_index is None:
        return None
    gpu = scene.history.gpu(rank.gpu_index, "utilization_ratio")
    busy = gpu.mean(_GPU_WINDOW_SECONDS)
    return None if busy is None else 1.0 - busy
