"""Everything about one rank: what it does, what it is made of, and what its probe can see."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from ...probes.derive.step_statistics import RECENT
from ...probes.model.frame import Frame, ProbeFrame
from ...probes.model.job_frames import JobFrame, RankFrame
from ...probes.model.probe_readings import (
    LONGEST_STEPS,
    NEWEST_STEPS,
    CollectiveReading,
    DdpReading,
    LoaderReading,
)
from ...probes.model.rank_readings import CommunicatorRankReading, CommunicatorReading
from ...probes.model.reading import key_of
from ...rules.progress import not_counted
from ..drawing import format
from ..drawing.glyphs import DASH, DOT, TIMES
from ..drawing.job_words import owner_words
from ..drawing.lines import Line, plain
from ..drawing.phase_marks import in_order
from ..drawing.rank_words import exact_name, ranks_text
from .gpu_facts import Fact, Group, grouped_lines
from .rank_table import state_text

_YES = {True: "yes", False: "no", None: DASH}


def rank_fact_lines(frame: Frame, job: JobFrame, rank: RankFrame, width: int) -> list[Line]:
    """The facts, group by group."""
    probe = frame.probe(rank.pid, rank.start_time_seconds)
    groups: list[Group] = [("Now", lambda: _now(rank))]
    if probe is not None:
        reported = probe  # narrowed for the closures below
        groups += [
            (f"Phases of the last {RECENT} steps", lambda: _phases(frame, rank)),
            ("Throughput", lambda: _throughput(rank, reported)),
            ("Collectives", lambda: _collectives(frame, job, rank, reported)),
            ("Memory of torch", lambda: _memory(reported)),
            ("DataLoader", lambda: _loader(reported.loader)),
            ("Other threads", lambda: _threads(frame, reported)),
            ("Probe", lambda: _probe(rank, reported)),
            ("Versions", lambda: _versions(reported)),
        ]
    groups += [("Process", lambda: _process(frame, job, rank)), ("Missing", lambda: _missing(rank))]
    return grouped_lines(groups, width)


def _now(rank: RankFrame) -> Iterable[Fact]:
    text, role = state_text(rank)
    if text:
        yield "state", text, role
    if rank.phase is not None:
        age = rank.phase_unbroken_seconds
        timeless = age is None or rank.ended_age_seconds is not None
        last = rank.phase if timeless else f"{rank.phase} for {format.duration(age)}"
        yield "phase", f"{last} {DOT} {rank.phase_source or DASH}", "strong"
    if rank.current_step is not None:
        since = format.duration(rank.step_age_seconds)
        yield "step", f"{format.grouped(rank.current_step)} in progress {DOT} for {since}", "text"
    elif reason := not_counted(rank):
        yield "step", plain(reason), "warm"
    if rank.loss is not None:
        yield "loss", f"{rank.loss:.4g}", "text"


def _phases(frame: Frame, rank: RankFrame) -> Iterable[Fact]:
    past = frame.rank_history(rank.pid, rank.start_time_seconds)
    steps = past.steps[-RECENT:] if past else ()
    timed = [step for step in steps if step.gpu_phases]
    for phase in in_order(rank.phases_last_steps):
        share = rank.phases_last_steps[phase]
        host = sum(step.phases.get(phase, 0.0) for step in steps) / len(steps) if steps else 0.0
        gpu = sum(step.gpu_phases.get(phase, 0.0) for step in timed) / len(timed) if timed else None
        words = (
            f"{share * 100:3.0f} %  host {format.precise(host):>7}  GPU {format.precise(gpu):>7}"
        )
        yield phase, words, "text"


def _throughput(rank: RankFrame, probe: ProbeFrame) -> Iterable[Fact]:
    p50, p99 = (format.precise(v) for v in (rank.step_p50_seconds, rank.step_p99_seconds))
    yield "step time", f"p50 {p50} {DOT} p99 {p99}{_spread(rank.step_spread_ratio)}", "text"
    host, gpu = (format.precise(v) for v in (rank.host_step_seconds, rank.gpu_step_seconds))
    yield "host and GPU", f"host {host} {DOT} GPU busy {gpu}", "text"
    yield "run-ahead", format.precise(rank.run_ahead_seconds), "text"
    spread = _spread(rank.throughput_spread_ratio)
    for counted, rate in (
        ("tokens", rank.tokens_per_second),
        ("samples", rank.samples_per_second),
    ):
        if rate is not None:
            yield counted, f"{format.compact(rate).strip()}/s{spread}", "text"
        elif f"{counted}_per_second" in rank.missing:
            yield counted, DASH, "text"
    if probe.steps_left_out:
        why = (
            f"too many came at once: of each look the newest {NEWEST_STEPS} and the {LONGEST_STEPS} "
            "longest before them are read, and p50 and p99 are of those"
        )
        yield "steps not read", f"{format.grouped(probe.steps_left_out)} {DOT} {why}", "text"
    skipped = probe.skipped_steps
    yield "skipped steps", DASH if skipped is None else str(skipped), "text"
    pauses = format.duration(probe.gc_pause_seconds)
    yield "garbage collection", f"{_count(probe.gc_pauses)} full {DOT} {pauses} in all", "text"
    yield "recompiles", _count(probe.recompiles), "warm" if probe.recompiles else "text"


def _collectives(frame: Frame, job: JobFrame, rank: RankFrame, probe: ProbeFrame) -> Iterable[Fact]:
    for each in probe.collectives:
        members = f" of {ranks_text(each.ranks)}" if each.ranks else ""
        last = f"{each.operation} no. {format.grouped(each.sequence)}" if each.sequence else ""
        flight = f" {DOT} {_flight(frame, each)}" if last else ""
        own = each.group_sequence
        counted = "" if own is None else f" {DOT} {format.grouped(own)} by the group's own count"
        if not last:
            last = "none launched from Python, as with DDP alone"
        yield f"group {each.group}", f"{last}{members}{flight}{counted}", "text"
        behind = _behind(frame, job, each)
        if behind:
            yield "", f"launched fewer: {', '.join(behind)}", "comm"
    for communicator in frame.communicators:
        mine = next((each for each in communicator.ranks if each.pid == rank.pid), None)
        if mine is not None:
            yield f"NCCL {communicator.id}", _ras_text(communicator, mine), "text"
    if probe.ddp is not None:
        yield "DDP's backward", _ddp_text(probe.ddp), "text"


def _ras_text(communicator: CommunicatorReading, own: CommunicatorRankReading) -> str:
    """As NCCL's RAS counts, with the ranks that do not answer it."""
    text = f"{format.grouped(own.launched)} launched {DOT} rank {own.rank} of {communicator.size}"
    if own.failed:
        text += f" {DOT} has failed"
    if communicator.silent:
        text += f" {DOT} no answer from {ranks_text(communicator.silent)}"
    return text


def _ddp_text(ddp: DdpReading) -> str:
    compute, comm = (
        format.precise(each) for each in (ddp.backward_compute_seconds, ddp.backward_comm_seconds)
    )
    text = f"computes {compute}, its all-reduce takes {comm}"
    if ddp.backward_comm_seconds is not None and ddp.backward_overlap_seconds is not None:
        bare = max(0.0, ddp.backward_comm_seconds - ddp.backward_overlap_seconds)
        text += f", {format.precise(bare)} of that not hidden"
    return f"{text} {DOT} mean of what it timed itself"


def _flight(frame: Frame, collective: CollectiveReading) -> str:
    if collective.in_flight_monotonic_seconds is None:
        return "completed"
    age = format.duration(
        max(0.0, frame.monotonic_seconds - collective.in_flight_monotonic_seconds)
    )
    if collective.host_waits:
        return f"in flight for {age}"
    return f"launched {age} ago, not waited for yet"


def _behind(frame: Frame, job: JobFrame, collective: CollectiveReading) -> list[str]:
    """Ranks of this node that are not as far, with how many they have launched."""
    probes = [(rank, frame.probe(rank.pid, rank.start_time_seconds)) for rank in job.ranks]
    return [
        f"{exact_name(rank)} ({format.grouped(each.sequence)})"
        for rank, probe in probes
        for each in (probe.collectives if probe else ())
        if each.group == collective.group and 0 < each.sequence < collective.sequence
    ]


def _memory(probe: ProbeFrame) -> Iterable[Fact]:
    allocator = probe.allocator
    if allocator is None:
        return
    allocated, reserved = allocator.allocated_bytes, allocator.reserved_bytes
    yield "allocated", f"{format.binary(allocated)} of {format.binary(reserved)} reserved", "text"
    yield "inactive split", format.binary(allocator.inactive_split_bytes), "text"
    retries = allocator.alloc_retries
    text = f"{_count(retries)} {DOT} {_count(allocator.ooms)} out of memory"
    yield "allocation retries", text, "warm" if retries or allocator.ooms else "text"


def _loader(loader: LoaderReading | None) -> Iterable[Fact]:
    if loader is None:
        return
    workers = format.counted(loader.num_workers, "worker")
    if loader.worker_pids:
        workers += f" (pid {', '.join(map(str, loader.worker_pids))})"
    yield "workers", f"{workers} {DOT} prefetch {_count(loader.prefetch_factor)} each", "text"
    empty = loader.queue_depth == 0 and loader.num_workers > 0
    ready = f"{_count(loader.queue_depth)} of {_count(loader.queue_capacity)}"
    yield "batches ready", ready, "warm" if empty else "text"
    pinned, kept = _YES[loader.pin_memory], _YES[loader.persistent_workers]
    yield "settings", f"pinned memory {pinned} {DOT} persistent workers {kept}", "text"
    yield "batch size", _count(loader.batch_size), "text"


def _threads(frame: Frame, probe: ProbeFrame) -> Iterable[Fact]:
    for thread in probe.threads:
        age = max(0.0, frame.monotonic_seconds - thread.phase_monotonic_seconds)
        yield thread.name, f"{thread.phase} for {format.duration(age)}", "text"


def _probe(rank: RankFrame, probe: ProbeFrame) -> Iterable[Fact]:
    if probe.error is not None:
        yield "switched itself off", probe.error, "error"
    cost = (
        DASH if probe.overhead_ratio is None else f"{probe.overhead_ratio * 100:.2f} % of step time"
    )
    yield "cost", cost, "text"
    if rank.ended_age_seconds is None:
        yield "page read", f"{format.duration(probe.age_seconds)} ago", "text"
    on = [name for name, state in probe.instruments.items() if state == "on"]
    if on:
        yield "instruments on", ", ".join(on), "text"
    off = {name: why for name, why in probe.instruments.items() if why != "on"}
    for why, names in groupby(sorted(off, key=lambda name: off[name]), key=lambda name: off[name]):
        yield "off", f"{', '.join(names)}: {why}", "dim"
    if probe.socket is not None:
        yield "socket", probe.socket, "dim"


def _versions(probe: ProbeFrame) -> Iterable[Fact]:
    pairs = (
        ("Python", probe.python_version),
        ("torch", probe.torch_version),
        ("CUDA", probe.cuda_version),
        ("NCCL", probe.nccl_version),
    )
    reported = [f"{name} {version}" for name, version in pairs if version]
    yield "libraries", f" {DOT} ".join(reported) or DASH, "text"
    yield "precision", probe.precision or DASH, "text"


def _process(frame: Frame, job: JobFrame, rank: RankFrame) -> Iterable[Fact]:
    process = frame.process(rank.pid)
    gpu = DASH if rank.gpu_index is None else str(rank.gpu_index)
    if rank.gpu_assigned_by in ("open files", "environment"):
        gpu += f" (by its {rank.gpu_assigned_by})"
    yield "pid", f"{rank.pid} {DOT} GPU {gpu} {DOT} {len(rank.workers)} {TIMES} worker", "text"
    if process is not None:
        where = f"{process.state or DASH} in {process.wait_channel or DASH}"
        state = "running" if process.state == "R" else where
        yield "state", f"{state} {DOT} {format.quantity(process.cpu_cores, 'cores')}", "text"
        yield "threads", _thread_words(frame, rank), "text"
        yield "command", plain(" ".join(process.command or ())) or DASH, "dim"
        if process.working_directory:
            yield "runs in", process.working_directory, "dim"
    owner = f" {DOT} ".join(owner_words(job))
    if owner:
        yield "belongs to", owner, "dim"


def _thread_words(frame: Frame, rank: RankFrame) -> str:
    """How many, and how often the main one gave its core up or was taken off it."""
    threads = next((each for each in frame.threads if key_of(each) == key_of(rank)), None)
    if threads is None:
        return DASH
    main = threads.main
    own, taken = _count(main.voluntary_switches), _count(main.involuntary_switches)
    return f"{threads.count} {DOT} the main one waited {own} times, was taken off its core {taken} times"


def _missing(rank: RankFrame) -> Iterable[Fact]:
    for field, reason in sorted(rank.missing.items()):
        yield field.replace("_", " "), reason, "dim"


def _spread(ratio: float | None) -> str:
    return "" if ratio is None else f" {DOT} ±{ratio * 100:.1f} %"


def _count(value: int | None) -> str:
    return DASH if value is None else format.grouped(value)
