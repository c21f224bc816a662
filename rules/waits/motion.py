"""How a rank moves: what its own counters, its page and its children say, whatever the others do."""

from __future__ import annotations

import msgspec

from ...probes.model.job_frames import RankFrame
from ...probes.model.process_frames import ProcessFrame
from ...probes.model.rank_activity import ActivityFrame
from ...probes.model.vocabulary import LONG_PHASES
from ..progress import STALL_SECONDS, STALL_STEPS, is_overdue
from ..rule import Scene
from .graph import DEFAULT_ALIBI_SECONDS, Motion
from .places import Witness, witness_of
from .ranks import WAITING_PHASES
from .working import IDLE_CORES, bytes_move, goes_on, is_helped

STARVED_RATIO = 0.5
RUNS_CORES = 0.25
"""Whoever gets that much runs, if slowly."""
STARVED_SECONDS = 30.0
"""A thread that gets no core is not to blame for that long; then it is told what it lacks."""
DISK_SECONDS = 30.0
"""A write to a disk that goes on shows neither CPU nor bytes for a while."""
TIMES_LONGER = 2.0
LEAST_LIMIT_SECONDS = 60.0
"""A checkpoint of a moment says nothing of the next, larger one."""
SHORTEST_SECONDS = 2.0
LOOPS_SECONDS = 10.0
"""Who sleeps and looks again, as who polls a lock file, may also do a little work in between."""
_TERMINALS = ("/dev/pts/", "/dev/tty", "/dev/console")
_WRITES = "writes"
_BLOCKING = frozenset({"pipe", "socket", "unix socket", "file lock", "accept"})


class Movement(msgspec.Struct, frozen=True):
    """One rank by itself."""

    rank: RankFrame
    motion: Motion
    seconds: float = 0.0
    proven: bool = False
    """Its page tells for how long; else it has been seen for so long, and may have lasted longer."""
    alibi_seconds: float = DEFAULT_ALIBI_SECONDS
    work: str = ""
    """Long by its nature: a phase, or ``own work`` by a word of the user's."""
    at_meeting: bool = False
    """It stands where ranks wait for each other."""
    polls: bool = False
    witness: Witness = Witness()


def movement(rank: RankFrame, scene: Scene) -> Movement:
    """How it moves now."""
    activity, seen = rank.activity, witness_of(rank, scene.frame)
    if activity is None:
        return Movement(rank, "unknown", witness=seen)
    now = scene.frame.monotonic_seconds
    since = activity.still_since_seconds
    still = None if since is None else now - since
    if rank.stopped:
        return _lasting(Movement(rank, "stopped", still or 0.0, witness=seen))
    if seen.finished:
        return Movement(rank, "finished", still or rank.phase_age_seconds or 0.0, witness=seen)
    typed = _reads_terminal(rank, scene)
    if rank.phase == "idle" or seen.given_work or typed:
        seen = msgspec.structs.replace(seen, prompt=seen.prompt or typed)
        return Movement(rank, "idle", still or rank.phase_age_seconds or 0.0, witness=seen)
    if still is not None:
        return _standing(rank, activity, still, seen, scene)
    return _moving(rank, activity, seen, scene)


def _reads_terminal(rank: RankFrame, scene: Scene) -> bool:
    """Somebody is to type something: a prompt, a debugger."""
    return _call_on_terminal(rank, scene) not in ("", _WRITES)


def writes_to_terminal(rank: RankFrame, scene: Scene) -> bool:
    """It has something to say, and its terminal was stopped, or nobody takes what is written there."""
    return _call_on_terminal(rank, scene) == _WRITES


def _call_on_terminal(rank: RankFrame, scene: Scene) -> str:
    process = scene.frame.process(rank.pid)
    blocked = process.blocked_on if process else None
    return blocked.call if blocked is not None and blocked.path.startswith(_TERMINALS) else ""


def _in_collective(rank: RankFrame, scene: Scene) -> bool:
    """By its page it is inside one, or waits for it."""
    probe = scene.frame.probe(rank.pid, rank.start_time_seconds)
    return any(
        each.in_flight_monotonic_seconds is not None and each.host_waits
        for each in (probe.collectives if probe else ())
    )


def is_at_meeting(rank: RankFrame, seen: Witness) -> bool:
    """Whether it is where ranks wait for each other."""
    return rank.phase in WAITING_PHASES or seen.rendezvous or seen.orderly


def _standing(
    rank: RankFrame, activity: ActivityFrame, still: float, seen: Witness, scene: Scene
) -> Movement:
    meets = is_at_meeting(rank, seen)
    if rank.phase in LONG_PHASES and not meets and not _is_blocked(rank, activity, still, scene):
        return _long_work(rank, seen, scene)
    return _lasting(Movement(rank, "still", still, at_meeting=meets, witness=seen))


def _moving(rank: RankFrame, activity: ActivityFrame, seen: Witness, scene: Scene) -> Movement:
    now = scene.frame.monotonic_seconds
    meets = is_at_meeting(rank, seen)
    inside = bool(rank.waits_for) or _in_collective(rank, scene)
    if inside and proven_seconds(rank):  # its host may spin in it
        return _lasting(Movement(rank, "still", at_meeting=True, witness=seen))
    if activity.cpu_cores is None:
        return Movement(rank, "unknown", witness=seen)  # one look does not tell
    if seen.without_gil and activity.asks_since_seconds is not None:
        return Movement(rank, "still", now - activity.asks_since_seconds, witness=seen)
    looks = activity.polls_since_seconds is not None and not goes_on(rank, scene)
    if rank.phase in LONG_PHASES and not meets and not looks:
        return _long_work(rank, seen, scene)
    if seen.busy_loop and is_helped(rank, scene):
        seen = msgspec.structs.replace(seen, busy_loop=False)
    if seen.busy_loop and activity.awake_since_seconds is not None:
        seconds = now - activity.awake_since_seconds
        return Movement(rank, "busy", seconds, alibi_seconds=_alibi(rank), witness=seen)
    if activity.busy_since_seconds is not None:
        seconds = now - activity.busy_since_seconds
        found = Movement(rank, "busy", seconds, alibi_seconds=_alibi(rank), witness=seen)
        return _with_word(found)
    process = scene.frame.process(rank.pid)
    moves = _page_moves(rank) or bytes_move(process)
    if activity.polls_since_seconds is not None and not moves:
        seconds = now - activity.polls_since_seconds
        asks = seen.rendezvous or seen.orderly  # a store is asked again and again, no collective is
        return Movement(rank, "still", seconds, at_meeting=asks, polls=True, witness=seen)
    if seen.rendezvous and (activity.cpu_cores or 0.0) < IDLE_CORES:  # its client asks the store
        seconds = rank.phase_age_seconds or 0.0
        return Movement(rank, "still", seconds, at_meeting=True, polls=True, witness=seen)
    if _is_starved(activity, process):
        return Movement(rank, "starved", 0.0, alibi_seconds=STARVED_SECONDS, witness=seen)
    if moves:
        return Movement(rank, "progress", rank.phase_age_seconds or 0.0, witness=seen)
    seconds = proven_seconds(rank) or rank.phase_age_seconds or 0.0
    return _with_word(Movement(rank, "busy", seconds, alibi_seconds=_alibi(rank), witness=seen))


def _long_work(rank: RankFrame, seen: Witness, scene: Scene) -> Movement:
    """What takes long by its nature is an alibi without a limit only while bytes move."""
    work, seconds = rank.phase or "", rank.phase_age_seconds or 0.0
    moves = bytes_move(scene.frame.process(rank.pid))
    motion: Motion = "progress" if moves else "busy"
    return Movement(
        rank, motion, seconds, work=work, alibi_seconds=long_limit(rank, work), witness=seen
    )


def long_limit(rank: RankFrame, work: str, otherwise: float = DEFAULT_ALIBI_SECONDS) -> float:
    """For how long such work may go on without progress: twice what it took at most before."""
    longest = rank.longest_phases.get(work)
    return otherwise if longest is None else max(LEAST_LIMIT_SECONDS, TIMES_LONGER * longest)


def _is_blocked(rank: RankFrame, activity: ActivityFrame, still: float, scene: Scene) -> bool:
    """It stands in something that no saving or evaluating needs for long, and nothing of it goes on."""
    if activity.wait in _BLOCKING:
        return True
    if goes_on(rank, scene):
        return False
    if activity.wait == "lock":
        return True
    return activity.wait == "disk" and still >= DISK_SECONDS


def _page_moves(rank: RankFrame) -> bool:
    """Its probe has seen it go from one phase to the next a moment ago."""
    return rank.phase_source == "measured" and (rank.phase_age_seconds or 0.0) < SHORTEST_SECONDS


def _is_starved(activity: ActivityFrame, process: ProcessFrame | None) -> bool:
    """Ready to run and without a core: that is not standing still."""
    delay = process.run_delay_ratio if process else None
    no_core = activity.state == "R" and activity.cpu_cores is not None
    no_core = no_core and (activity.cpu_cores or 0.0) < IDLE_CORES
    cores = activity.cpu_cores or 0.0
    return no_core or ((delay or 0.0) >= STARVED_RATIO and cores < RUNS_CORES)


def _alibi(rank: RankFrame) -> float:
    """A step may take so long, by this rank's own past."""
    step = rank.step_p50_seconds or rank.step_seconds or 0.0
    return STALL_SECONDS + STALL_STEPS * step


def _with_word(found: Movement) -> Movement:
    """The user's own name for what it does: a weak witness, but enough for patience."""
    word = found.witness.long_word
    if not word:
        return found
    return msgspec.structs.replace(found, work="own work", alibi_seconds=DEFAULT_ALIBI_SECONDS)


def _lasting(found: Movement) -> Movement:
    """For as long as its page proves, where that is longer than it was seen."""
    proven = proven_seconds(found.rank)
    if proven <= found.seconds:
        return found
    return msgspec.structs.replace(found, seconds=proven, proven=True)


def proven_seconds(rank: RankFrame) -> float:
    """Since when it is in its phase, by its page, if its step is overdue; 0 where that proves nothing.

    Before the first step nothing is overdue, but to wait for others is to wait all the same.
    """
    if rank.phase_source != "measured" or rank.phase in LONG_PHASES or rank.phase == "idle":
        return 0.0
    first = rank.step is None and rank.phase in WAITING_PHASES
    return (rank.phase_age_seconds or 0.0) if first or is_overdue(rank) else 0.0
