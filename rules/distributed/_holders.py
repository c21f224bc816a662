"""Who holds what a rank waits for, as evidence: named where it was seen, and told as unseen where not."""

from __future__ import annotations

import signal
from collections.abc import Iterator

from ...probes.model.job_frames import JobFrame, RankFrame
from ...probes.model.rank_readings import FileLoop, StackThreadReading
from ...probes.model.stack_places import own_frame, place_of
from ...probes.model.wait_kinds import wait_kind
from ...probes.model.wait_readings import HolderReading, ThingReading
from ..finding import Evidence
from ..rule import Scene
from ..waits.charge import Charge
from ..waits.children import dead_children, how_it_ended, oom_kills
from ..waits.graph import Key
from ..waits.holders import awaited
from ..waits.motion import SHORTEST_SECONDS
from ..waits.other_threads import gil_owner, threads_of
from ..waits.places import loop_of
from ..waits.ranks import rank_key

_MOST_NAMED = 4
OOM_KILLS = "kills for want of memory in its control group since this watch began"
_HELD_BY = {
    "pipe": ("other_end", "its other end is with"),
    "fifo": ("other_end", "its other end is with"),
    "file lock": ("held_by", ""),
    "mutex": ("owned_by", ""),
    "socket": ("other_end", "far end"),
    "unix socket": ("other_end", "far end"),
}
_NOBODY = {
    "pipe": "nobody else: only this process itself has it open",
    "fifo": "nobody: no process has opened it",
    "file lock": "nobody: the lock is stale, or was let go of just now",
}
_NOT_SEEN = "not seen: not every process could be looked at"
_WAITS = {
    "lock": "waits for a lock",
    "file lock": "waits for a file lock",
    "timer": "sleeps",
    "pipe": "waits for a pipe",
    "socket": "waits for a socket",
    "unix socket": "waits for a socket",
    "poll": "waits for something to come",
    "accept": "waits for a connection",
    "child": "waits for another program",
    "disk": "waits for a disk",
    "terminal": "waits for its terminal",
}


def of_children(rank: RankFrame, scene: Scene) -> Iterator[Evidence]:
    """Whoever should have written or answered may be among them."""
    for child in dead_children(rank, scene)[:_MOST_NAMED]:
        words = f"its child {child.pid} ({child.name}) {how_it_ended(child)}"
        killed = child.exit_signal == signal.SIGKILL
        kills = oom_kills({child.cgroup}, scene.frame) if killed else 0
        if kills:
            words += f"; {OOM_KILLS}: {kills}"
        yield Evidence(signal="dead_child", value=words)


def of_holders(charge: Charge, scene: Scene) -> Iterator[Evidence]:
    """The thing itself, and whoever has its other end or holds it."""
    thing = awaited(charge.rank, scene.frame)
    if thing is None:
        return
    if thing.kind == "socket" and not thing.name.startswith("socket:"):
        words = f"{thing.name}, nothing came for {charge.movement.seconds:.0f} s"
        yield Evidence(signal="connected_to", value=words)
    process = scene.frame.process(charge.rank.pid)
    if thing.kind in ("file lock", "fifo") and (process is None or process.blocked_on is None):
        yield Evidence(signal="file", value=f"{thing.call} {thing.name}")
    words = holder_words(thing, charge.job, charge.rank)
    if words:
        name, label = _HELD_BY[thing.kind]
        yield Evidence(signal=name, label=label, value=words)
    yield from _cycle(charge)


def holder_words(thing: ThingReading, job: JobFrame, rank: RankFrame) -> str:
    """Whoever holds it; empty where that is no question of this thing."""
    if thing.kind not in _HELD_BY:
        return ""
    if thing.holders:
        named = [_of(each, job, rank) for each in thing.holders[:_MOST_NAMED]]
        more = len(thing.holders) - len(named)
        return "; ".join(named) + (f"; and {more} more" if more else "")
    if thing.kind == "socket" and not thing.all_seen:
        return ""  # on another machine, mostly
    if not thing.all_seen:
        return ("this process itself, and perhaps others: " if thing.own else "") + _NOT_SEEN
    return _NOBODY.get(thing.kind, "nobody")


def _of(holder: HolderReading, job: JobFrame, rank: RankFrame) -> str:
    does = _does(holder)
    if holder.tid is not None:
        back = ", and waits for what this thread owns" if holder.waits_back else ""
        return f"its thread {holder.tid} ({holder.name}), which {does}{back}"
    other = next((each for each in job.ranks if each.pid == holder.pid), None)
    if other is not None:
        return f"rank {other.rank} (pid {holder.pid}), which {does}"
    whose = "its child" if holder.pid in rank.workers else "pid"
    return f"{whose} {holder.pid} ({holder.command or holder.name}), which {does}"


def _does(holder: HolderReading) -> str:
    if holder.state in ("T", "t"):
        return "is stopped"
    if holder.state == "R":
        return "runs"
    words = _WAITS.get(wait_kind(holder.wait_channel) or "", "sleeps")
    still = holder.still_seconds or 0.0
    return f"{words}, for {still:.0f} s without a move" if still >= SHORTEST_SECONDS else words


def _cycle(charge: Charge) -> Iterator[Evidence]:
    if charge.cause.end != "cycle":
        return
    out, names = charge.waits.graph.out, charge.cause.named
    words = [
        f"{_name(key, charge.job)} waits for {edge.on.id}"
        for key in names
        for edge in out.get(key, ())
        if edge.on in charge.cause.things
    ]
    others = [key for key in names if all(e.on.kind == "meeting" for e in out.get(key, ()))]
    words += [f"{_name(key, charge.job)} waits for the others" for key in others]
    yield Evidence(
        signal="wait_for_each_other", label="they wait for each other", value="; ".join(words)
    )


def _name(key: Key, job: JobFrame) -> str:
    rank = next((each.rank for each in job.ranks if str(each.pid) == key.id), None)
    return f"rank {rank}" if key.kind == "rank" and rank is not None else f"{key.kind} {key.id}"


def of_threads(charge: Charge, scene: Scene) -> Iterator[Evidence]:
    """Of a main thread in a lock: which other Python threads could let it go on."""
    rank = charge.rank
    owner = gil_owner(rank, scene.frame)
    if owner is not None:
        words = f"thread {_thread(owner)}"
        yield Evidence(
            signal="interpreter_held_by",
            label="the interpreter is held by",
            value=words,
            origin="sampled",
        )
    if charge.on is None or charge.on.kind != "lock":
        return
    threads = threads_of(rank, scene.frame)
    if threads is None:
        return
    others = [each for each in threads if not each.main]
    if others:
        named = "; ".join(map(_thread, others[:_MOST_NAMED]))
        if charge.movement.witness.left_alone:
            named += "; by its source none of them hands anything over: one that should have may have ended"
        yield Evidence(
            signal="other_python_threads",
            label="its other Python threads",
            value=named,
            origin="sampled",
        )
        return
    words = "none: no thread is left that could let it go on; one that should have may have ended"
    yield Evidence(
        signal="other_python_threads",
        label="its other Python threads",
        value=words,
        origin="sampled",
    )


def _thread(thread: StackThreadReading) -> str:
    where = f" at {thread.place}" if thread.place else ""
    state = {True: ", which runs", False: ", which sleeps", None: ""}[thread.active]
    return f"{thread.name or thread.os_thread_id}{where}{state}"


def of_loop(charge: Charge, scene: Scene) -> Iterator[Evidence]:
    """The loop in which it sleeps and looks for a file, or runs without an effect."""
    busy = loop_of(charge.rank, scene.frame)
    if busy is not None:
        yield Evidence(
            signal="runs_in_loop",
            label="runs in a loop that only looks or counts",
            value=f"{busy.text} (line {busy.line}){_in_function(charge, scene)}",
            origin="sampled",
        )
    loop = _file_loop(charge, scene)
    if loop is None:
        return
    until = {
        "gone": "until a lock file is gone",
        "locked": "until a lock file can be taken",
        "there": "until a file is there",
    }[loop.until]
    yield Evidence(
        signal="looks_again", value=f"{until}: {loop.text} (line {loop.line})", origin="sampled"
    )
    if loop.path:
        yield Evidence(
            signal="looks_for",
            label="the file that it looks for",
            value=loop.path,
            origin="sampled",
        )


def _in_function(charge: Charge, scene: Scene) -> str:
    reading = scene.frame.stacks_of(charge.rank)
    own = (
        own_frame(reading.main_stacks[-1]) if reading is not None and reading.main_stacks else None
    )
    return f" in {place_of(own)}" if own is not None else ""


def _file_loop(charge: Charge, scene: Scene) -> FileLoop | None:
    reading = scene.frame.stacks_of(charge.rank)
    return reading.file_loop if reading is not None and charge.rank.phase_dumps else None


def step_of(charge: Charge, scene: Scene) -> str | None:
    """What to do about whoever is behind it; ``None`` where nobody is known."""
    owner = gil_owner(charge.rank, scene.frame)
    if owner is not None and owner.active is False:
        return (
            f"The interpreter is held by thread {owner.name or owner.os_thread_id}, which sleeps in C code: "
            f"what it calls{f' in {owner.place}' if owner.place else ''} has to release the GIL."
        )
    dead = dead_children(charge.rank, scene)
    if dead and charge.cause.culprits[:1] == (rank_key(charge.rank),):
        return f"Its child {dead[0].pid} {how_it_ended(dead[0])}: find out why in its log and dmesg, and start the job again."
    thing = awaited(charge.rank, scene.frame)
    if thing is not None and thing.kind in ("file lock", "pipe", "fifo") and thing.holders:
        pid = thing.holders[0].pid
        what = "holds" if thing.kind == "file lock" else "has the other end of"
        return f"See what {pid} does, which {what} {thing.name}: gputop stacks {pid}."
    if charge.on is not None and charge.on.kind == "file lock" and charge.movement.polls:
        loop = _file_loop(charge, scene)
        what = loop.path if loop is not None and loop.path else "the lock file that it looks for"
        return (
            f"See who made {what}. If nobody works behind it, it was left "
            f"by a process that exited: remove it. gputop stacks {charge.rank.pid} shows the place."
        )
    return None
