"""A watch that stands still: its judgements come when a test says so, and what it is asked is kept."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

import msgspec
from textual.pilot import Pilot

from gputop.probes.derive.cache import DeriveCache
from gputop.probes.derive.frame import derive
from gputop.probes.model.frame import Frame
from gputop.probes.model.gpu_frames import GpuFrame
from gputop.probes.model.job_frames import RankFrame
from gputop.probes.model.process_frames import ProcessFrame
from gputop.probes.simulator import SimulatedNode
from gputop.probes.wire.messages import Reply
from gputop.rules.account.minute import minutes
from gputop.rules.catalogue import make_rules
from gputop.rules.engine import Engine
from gputop.rules.finding import Finding, Judgement, Severity, Subject
from gputop.rules.history import History
from gputop.tui.app.app import GputopApp
from gputop.tui.session.view import View

from support.clock import Clock
from support.unmeasured import unmeasured

UNIX = 1_793_455_651.0
"""Unix time of all pictures."""
PAST_SECONDS, STEP_SECONDS = 100.0, 2.0


@cache
def played(scenario: str) -> tuple[Judgement, Judgement, History]:
    """The last two judgements of a scenario after some time, and the past that they look back on."""
    node = SimulatedNode(scenario, start_time_seconds=UNIX)
    engine = Engine(make_rules())
    frame: Frame | None = None
    cache = DeriveCache()
    judgements: list[Judgement] = []
    with unmeasured():
        for number in range(int(PAST_SECONDS / STEP_SECONDS), -2, -1):
            frame = derive(frame, node.sample_at(-number * STEP_SECONDS), cache)
            judgements.append(engine.judge(frame))
    return judgements[-2], judgements[-1], engine.history


def judgement(scenario: str = "healthy") -> Judgement:
    """The judgement at the moment of all pictures."""
    return played(scenario)[0]


@cache
def with_stacks(scenario: str) -> Judgement:
    """The judgement at the moment of all pictures, with stacks that were asked for 9 s ago."""
    node = SimulatedNode(scenario, start_time_seconds=UNIX)
    frame: Frame | None = None
    for elapsed in (-2.0, 0.0):
        sample = node.with_stacks(node.sample_at(elapsed), elapsed, -9.0)
        frame = derive(frame, sample)
    assert frame is not None
    return Engine(make_rules()).judge(frame)


def view(judged: Judgement | None = None, **changes: Any) -> View:
    """A view of a judgement, with the history of the healthy scenario where it has none."""
    shown = judged or judgement()
    return View(judgement=shown, history=played("healthy")[2], **changes)


def changed(judged: Judgement, **frame: Any) -> Judgement:
    """The judgement of another frame."""
    other = msgspec.structs.replace(judged.frame, **frame)
    again = minutes(other, played("healthy")[2], judged.active)
    return msgspec.structs.replace(judged, frame=other, accounts=again)


def with_gpu(judged: Judgement, index: int, **fields: Any) -> Judgement:
    """One GPU changed."""
    gpus = tuple(
        msgspec.structs.replace(gpu, **fields) if gpu.index == index else gpu
        for gpu in judged.frame.gpus
    )
    return changed(judged, gpus=gpus)


def with_gpus(judged: Judgement, count: int) -> Judgement:
    """As many GPUs as that, copies of those that there are."""
    gpus = judged.frame.gpus
    copies = (
        msgspec.structs.replace(gpus[index % len(gpus)], index=index) for index in range(count)
    )
    return changed(judged, gpus=tuple(copies))


def with_ranks(judged: Judgement, count: int) -> Judgement:
    """As many ranks in the one job as that, copies of those that there are."""
    frame, (job,) = judged.frame, judged.frame.jobs
    ranks, rank_histories = [], []
    for number in range(count):
        rank = job.ranks[number % len(job.ranks)]
        past = frame.rank_history(rank.pid, rank.start_time_seconds)
        pid = 60_000 + number
        ranks.append(msgspec.structs.replace(rank, rank=number, gpu_index=number, pid=pid))
        rank_histories += [msgspec.structs.replace(past, pid=pid)] if past else []
    job = msgspec.structs.replace(job, ranks=tuple(ranks), world_size=count)
    return changed(judged, jobs=(job,), rank_histories=tuple(rank_histories), probes=())


def without_probes(judged: Judgement) -> Judgement:
    """The same with no probe in any rank."""
    (job,) = judged.frame.jobs
    ranks = tuple(
        RankFrame(
            rank=rank.rank,
            pid=rank.pid,
            start_time_seconds=rank.start_time_seconds,
            gpu_index=rank.gpu_index,
            missing={"phase": "no probe in this process: start it under `gputop run`"},
        )
        for rank in job.ranks
    )
    return changed(
        judged, jobs=(msgspec.structs.replace(job, ranks=ranks),), probes=(), rank_histories=()
    )


def bare_gpu(index: int) -> GpuFrame:
    """A GPU of which nothing is known."""
    return GpuFrame(index=index, monotonic_seconds=1.0)


def finding(
    id: str, name: str, severity: Severity, gpu: int, state: str = "active", **fields: Any
) -> Finding:
    """A finding about a GPU."""
    return Finding(
        id=id,
        name=name,
        severity=severity,
        subject=Subject(kind="gpu", id=str(gpu), gpu=gpu),
        state=state,  # type: ignore[arg-type]
        since_seconds=UNIX - 60,
        seen_seconds=60.0,
        **fields,
    )


class StillWatch:
    """Judgements are pushed by the test, from the application's own thread."""

    def __init__(
        self, *judgements: Judgement, simulated: bool = False, title: str = "live"
    ) -> None:
        self.simulated = simulated
        self.title = title
        self.stuck = ""
        self.past_samples = 0
        self.pids: tuple[int, ...] = ()
        self.asked_pid: int | None = None
        self.history = played("healthy")[2]
        self.intervals: list[float] = []
        self.attached: list[int] = []
        self.requests: list[tuple[tuple[int, ...], float]] = []
        """Of whom stacks were asked for, and for how long."""
        self.signals: list[tuple[int, int]] = []
        self.asked_environments: list[int] = []
        self.exact_stacks: list[tuple[int, bool]] = []
        self.reply = Reply(command_id=1, ok=True)
        self.closed = False
        self._first = judgements
        self._on_judgement: Callable[[Judgement], None] = lambda _: None
        self._on_end: Callable[[str], None] = lambda _: None

    def start(
        self,
        on_judgement: Callable[[Judgement], None],
        on_end: Callable[[str], None],
        on_notice: Callable[[str], None],
    ) -> None:
        self._on_judgement, self._on_end = on_judgement, on_end
        for each in self._first:
            on_judgement(each)

    def push(self, judged: Judgement) -> None:
        """Something new comes."""
        self._on_judgement(judged)

    def end(self, reason: str) -> None:
        """Nothing comes any more."""
        self._on_end(reason)

    def set_interval(self, seconds: float) -> None:
        self.intervals.append(seconds)

    def attach(self, pid: int) -> None:
        self.attached.append(pid)
        self.asked_pid = pid

    def take_stacks(self, pids: Sequence[int], seconds: float, *, shares: bool = False) -> None:
        self.requests.append((tuple(pids), seconds))

    def send_signal(
        self,
        process: ProcessFrame,
        signal: int,
        on_reply: Callable[[Reply], None] = lambda _: None,
    ) -> None:
        self.signals.append((process.pid, signal))
        on_reply(self.reply)

    def show_environment(self, process: ProcessFrame, on_reply: Callable[[Reply], None]) -> None:
        self.asked_environments.append(process.pid)
        on_reply(self.reply)

    def take_exact_stack(
        self, process: ProcessFrame, *, native: bool, on_reply: Callable[[Reply], None]
    ) -> None:
        self.exact_stacks.append((process.pid, native))
        on_reply(self.reply)

    def close(self) -> None:
        self.closed = True


def app_of(
    judged: Judgement | None = None,
    *,
    ascii_only: bool = False,
    clock: Callable[[], float] | None = None,
    pid: int | None = None,
    **watch: Any,
) -> tuple[GputopApp, StillWatch]:
    """An application over one judgement."""
    still = StillWatch(judged or judgement(), **watch)
    still.asked_pid = pid
    return GputopApp(still, ascii_only=ascii_only, clock=clock or Clock()), still


@asynccontextmanager
async def running(app: GputopApp, size: tuple[int, int] = (132, 43)) -> AsyncIterator[Pilot[int]]:
    """The application, once its first picture is drawn."""
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield pilot


async def press(pilot: Pilot[int], *keys: str) -> None:
    """Press keys, and wait until what they do is drawn."""
    await pilot.press(*keys)
    await pilot.pause()
