"""Whether a charge has lasted for long enough to be told, with as many witnesses as there are."""

from __future__ import annotations

from ..rule import Scene
from .build import rendezvous_waits
from .charge import Charge
from .children import killed_children
from .holders import awaited, wait_of
from .motion import LOOPS_SECONDS, SHORTEST_SECONDS, proven_seconds
from .ranks import rank_key

ALONE_SECONDS = 55.0
"""So long, where no other rank waits for it: then there is one witness less. A minute after the fault
it is to be told."""
OVERDUE_ALONE_SECONDS = 30.0
"""The same where the page tells that its step is overdue."""
STOPPED_SECONDS = 10.0
"""The same where what it waits for was stopped by a signal."""
STILL_ALONE_SECONDS = 20.0
"""So long it must not have woken up once."""
UNSEEN_SECONDS = 600.0
"""The same where no stack of it could be taken so far, and the next try may succeed."""
STEPS_WITHOUT = 20.0
"""So many steps long, where what it waits for may be work that somebody gives it."""
SEEN_MOVING_SECONDS = 3.0
"""So long it was seen to move before: what has only ever waited may have nothing to do."""
LOOP_ALONE_SECONDS = 45.0
"""The same where its stack shows a loop without an effect: to be looked at, it has run for long by then."""
ANSWERED_LOOKS = 3
BETWEEN_STEPS = "other"
"""Phase by the page of whoever has ended a step and begun no other."""
_ASKS = frozenset({"connects to", "sends to", "writes"})
"""Whoever does that waits for no work."""
_HELD = frozenset({"lock", "file lock", "pipe"})
_TELLS_ALONE = frozenset({"lock", "file lock", "pipe", "socket", "file"})


def has_lasted(charge: Charge, scene: Scene) -> bool:
    """Whether it is to be told now."""
    if _may_be_held_by_one_who_works(charge, scene):
        return False
    if charge.label == "stopped":
        return charge.kept_waiting or charge.seconds >= _least_stopped(charge)
    if charge.kept_waiting:
        polls = charge.movement.polls and not rendezvous_waits(charge.waits)
        polls = polls and not charge.movement.witness.lock_file  # its program says so itself
        return not polls or charge.joint_seconds >= LOOPS_SECONDS
    return _counts_alone(charge, scene)


def _least_stopped(charge: Charge) -> float:
    """A child that was stopped may be the reason of a wait that is longer than those of every step."""
    out = charge.waits.graph.out.get(rank_key(charge.rank), ())
    maybe = any(edge.on in charge.cause.culprits for edge in out)
    return STOPPED_SECONDS if maybe else SHORTEST_SECONDS


def _may_be_held_by_one_who_works(charge: Charge, scene: Scene) -> bool:
    """What it waits for was not looked up yet: that is asked for when it has stood still for a while, and
    answered by the next look but one, if at all."""
    on, activity = charge.on, charge.rank.activity
    if on is None or on.kind not in _HELD or activity is None:
        return False
    unanswered = wait_of(charge.rank, scene.frame) is None
    return unanswered and 0 < activity.still_looks < ANSWERED_LOOKS


def _counts_alone(charge: Charge, scene: Scene) -> bool:
    """Nobody waits for it: it hangs, or has nothing to do."""
    rank, activity = charge.rank, charge.rank.activity
    if charge.cause.waiters and charge.label not in ("loader", "own", "read"):
        return False
    if charge.label not in ("loader", "own", "read") or activity is None:
        return False
    stopped = charge.cause.end == "stopped"
    if activity.wait == "unix socket" and not stopped and not killed_children(rank, scene):
        thing = awaited(rank, scene.frame)
        if thing is None or thing.call not in _ASKS:
            return False  # whoever gives it work may have none
    if activity.wait in ("accept", "terminal", "child"):
        return False
    witness = charge.movement.witness
    seen = witness.looked or witness.busy_loop or witness.refused
    if not seen and not stopped and charge.seconds < UNSEEN_SECONDS:
        return (
            False  # its stack would tell why all is well: on a busy machine it takes long to come
        )
    if stopped:  # and it waits for that one: nobody does so who has nothing to do
        return charge.seconds >= STOPPED_SECONDS
    if charge.cause.end == "still" and _wakes(charge, scene):
        return False
    overdue = proven_seconds(rank) > 0.0
    if charge.label != "loader" and not _is_hang(charge, overdue=overdue):
        return False
    if rank.step is None and activity.moved_seconds < SEEN_MOVING_SECONDS:
        return False
    if overdue:
        return charge.seconds >= OVERDUE_ALONE_SECONDS
    loop = charge.cause.end == "busy" and charge.movement.witness.busy_loop
    return charge.seconds >= (LOOP_ALONE_SECONDS if loop else ALONE_SECONDS)


def _wakes(charge: Charge, scene: Scene) -> bool:
    """It woke up a moment ago, as whoever writes to a slow reader does: something goes on, whatever its page says."""
    activity = charge.rank.activity
    since = activity.still_since_seconds if activity else None
    if since is None:
        return False  # it looks again and again
    return scene.frame.monotonic_seconds - since < STILL_ALONE_SECONDS


def _has_fallen_into_a_loop(charge: Charge) -> bool:
    """It was seen to do something else before: to wait now and then, as training does."""
    activity = charge.rank.activity
    if activity is None or not charge.movement.witness.busy_loop:
        return False
    return activity.moved_seconds - charge.seconds >= SEEN_MOVING_SECONDS


def _is_hang(charge: Charge, *, overdue: bool) -> bool:
    on = charge.on
    if charge.cause.end == "busy":  # long work too is busy: only its stack tells that it is none
        # Between two steps its program may have much to do; within one nobody computes so long.
        within = charge.rank.phase != BETWEEN_STEPS or charge.seconds >= UNSEEN_SECONDS
        loops = charge.movement.witness.busy_loop or within
        return (overdue and loops) or _has_fallen_into_a_loop(charge)
    polls = charge.rank.activity is not None and charge.rank.activity.wait == "poll"
    if on is None or (polls and not charge.movement.witness.downloads):
        return overdue and _trained_without(charge)  # else a server, an event loop, a signal
    if on.kind not in _TELLS_ALONE and not overdue:
        return False
    if on.kind == "timer" and not charge.movement.polls:
        # Between two steps it may wait for the hour; within one nobody does.
        between = charge.rank.phase == BETWEEN_STEPS
        return overdue and not between and charge.seconds >= ALONE_SECONDS
    witness = charge.movement.witness
    if witness.awaits_file:
        return False
    if (on.kind == "lock" and witness.served) or (on.kind == "socket" and witness.awaits_task):
        return False  # also where its steps are over: it is given work by others now
    given = on.kind == "lock" and witness.queue and not witness.left_alone
    return not given or (overdue and not witness.scheduled)


def _trained_without(charge: Charge) -> bool:
    """It made many steps in the time for which it has waited now, and nothing says that it is given work."""
    witness, rank = charge.movement.witness, charge.rank
    step = rank.step_p50_seconds or rank.step_seconds
    given = witness.given_work or witness.awaits_task or witness.served or witness.queue
    idle = witness.prompt or charge.movement.motion == "idle"
    if given or idle or not witness.looked or step is None:
        return False
    return charge.seconds >= max(ALONE_SECONDS, STEPS_WITHOUT * step)
