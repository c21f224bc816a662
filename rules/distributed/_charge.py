"""What the rules share that speak of a rank at an end of the wait-for graph."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import ClassVar

from ..addresses import is_local
from ..finding import Evidence, Severity, Verdict, WaitPath
from ..host._blocked import file_evidence
from ..rule import NETWORK, Rule, Scene, Threshold
from ..waits.build import rendezvous_waits
from ..waits.charge import Charge, Label
from ..waits.graph import Kind
from ..waits.holders import awaited
from ..waits.labels import charges
from ..waits.motion import Movement
from ..waits.ranks import KEPT_WAITING, names_of, rank_subject
from ._holders import of_children, of_holders, of_loop, of_threads

ERROR_SECONDS = Threshold(60.0, "seconds", "rule 56 of the catalogue: critical from 60 s")
HOLD_SECONDS = 5.0
"""With no base line, no progress for 5 s by two witnesses."""
_THINGS: dict[Kind, str] = {
    "lock": "a lock, or another thread",
    "file lock": "a file lock",
    "timer": "a timer",
    "pipe": "a pipe or FIFO",
    "socket": "a socket",
    "file": "a disk or file system",
    "program": "another program",
}
_OVER_THE_NETWORK = ("tcp", "inet", "nfs", "rpc", "ceph", "lustre", "cifs", "smb")
"""In the kernel's names of what is waited for, or of the file system."""
_PROMPT = "somebody who types at its prompt or debugger"
_LOOKED_FOR = "what it looks for again and again, as for a lock file"


class ChargeRule(Rule):
    """A rule about the rank that keeps others waiting, or hangs alone, for one kind of cause."""

    label: Label
    severity: ClassVar[Severity] = "warning"
    severities: ClassVar[tuple[Severity, ...]] = ("warning", "error")
    hold_seconds = HOLD_SECONDS
    clear_seconds = 3.0
    thresholds = {"error_seconds": ERROR_SECONDS}
    explains = ("HW210", "HW211", "RUN405", "RUN436")
    job_wide = True
    about_waiting = True

    def judge(self, scene: Scene) -> Iterable[Verdict]:
        for charge in charges(scene).get(self.label, ()):
            yield Verdict(
                subject=rank_subject(charge.job, charge.rank),
                holds=True,
                name=self.name_of(charge),
                severity=self.severity_of(charge),
                confidence=_confidence(charge),
                evidence=(*evidence_of(charge), *self.more_evidence(charge, scene)),
                since_monotonic_seconds=scene.frame.monotonic_seconds - charge.seconds,
                next_step=self.step_for(charge, scene),
                path=_path(charge),
                waits_in=_waits_in(charge, scene),
                lost_ratio=1.0,
            )

    def name_of(self, charge: Charge) -> str | None:
        """What is found, where that is something else than the rule's name says."""
        del charge
        return None

    def severity_of(self, charge: Charge) -> Severity:
        """An error needs both witnesses for long."""
        return "error" if charge.joint_seconds >= self.limit["error_seconds"] else "warning"

    def more_evidence(self, charge: Charge, scene: Scene) -> Iterable[Evidence]:
        """What proves this cause in particular."""
        yield from of_children(charge.rank, scene)
        yield from file_evidence(scene.frame.process(charge.rank.pid))
        yield from of_holders(charge, scene)
        yield from of_threads(charge, scene)
        yield from of_loop(charge, scene)

    @abstractmethod
    def step_for(self, charge: Charge, scene: Scene) -> str | None:
        """What to do now, where it can be more precise than the rule's."""


def _path(charge: Charge) -> WaitPath:
    return WaitPath(frozenset(each.rank for each in charge.waiters if each.rank is not None))


def _waits_in(charge: Charge, scene: Scene) -> frozenset[str]:
    """What its wait goes through: of several witnesses each adds its own."""
    on, thing = charge.on, awaited(charge.rank, scene.frame)
    found: set[str] = {on.kind if on is not None else "itself"}
    activity = charge.rank.activity
    channel = (activity.wait_channel if activity else None) or ""
    process = scene.frame.process(charge.rank.pid)
    blocked = process.blocked_on if process is not None else None
    if thing is not None and thing.kind == "socket":
        return frozenset({*found} if is_local(thing.name) else {*found, NETWORK})
    words = f"{channel} {blocked.file_system if blocked else ''}"
    if any(word in words for word in _OVER_THE_NETWORK):
        found.add(NETWORK)
    return frozenset(found)


def _confidence(charge: Charge) -> float:
    """A page may be certain, one dump of a stack is half a witness."""
    if charge.rank.phase_source == "sampled" and charge.rank.phase_dumps == 1:
        return 0.5
    return min(charge.cause.strength, 1.0 if charge.rank.phase_source != "inferred" else 0.7)


def evidence_of(charge: Charge) -> tuple[Evidence, ...]:
    """What proves it: the rank itself, then those that wait."""
    return tuple(each for each in _evidence(charge) if each.value is not None)


def _evidence(charge: Charge) -> Iterator[Evidence]:
    rank, activity = charge.rank, charge.rank.activity
    origin = rank.phase_source or "measured"
    yield Evidence(signal="phase", value=rank.phase, origin=origin)
    yield Evidence(signal="doing", value=rank.doing, origin=origin)
    yield Evidence(signal="place", value=rank.place, origin="sampled")
    yield Evidence(signal="dumps", value=rank.phase_dumps, unit="samples", origin="sampled")
    yield Evidence(signal="state", value=activity.state if activity else None)
    yield Evidence(signal="wait_channel", value=activity.wait_channel if activity else None)
    cores = activity.cpu_cores if activity else None
    yield Evidence(signal="main_cpu_cores", value=cores, unit="cores")
    thing = _THINGS.get(charge.on.kind) if charge.on else None
    if thing == _THINGS["timer"] and charge.movement.polls:
        thing = _LOOKED_FOR
    if charge.movement.witness.prompt:
        thing = _PROMPT
    yield Evidence(signal="waits_for", value=thing, origin="inferred")
    word = charge.movement.witness.long_word if charge.movement.work == "own work" else None
    yield Evidence(
        signal="own_function", label="its own function", value=word or None, origin="sampled"
    )
    yield from _of_waiters(charge)


def _of_waiters(charge: Charge) -> Iterator[Evidence]:
    if not charge.waiters:
        yield Evidence(
            signal="no_step_seconds",
            label="nobody waits for it yet; no step for",
            value=charge.seconds,
            unit="seconds",
        )
        return
    yield Evidence(signal=KEPT_WAITING, value=names_of(charge.waiters))
    waiting = charge.waits.waiting
    yield waiting_evidence(charge.waited_seconds, waiting)
    if rendezvous_waits(charge.waits):
        words = "the rendezvous: this rank has not joined"
        yield Evidence(
            signal="others_wait_in", label="the others wait in", value=words, origin="sampled"
        )
    if any(each.rank.pid in charge.waits.spins for each in waiting):
        yield Evidence(
            signal="waiting_gpus", label="their GPUs", value="only spin, with flat power"
        )


def waiting_evidence(seconds: float, waiting: Iterable[Movement]) -> Evidence:
    """For how long they wait; where no page proves it, for how long they were seen to."""
    proven = any(each.proven and each.seconds == seconds for each in waiting)
    signal = "waiting_seconds" if proven else "seen_waiting_seconds"
    return Evidence(signal=signal, value=seconds, unit="seconds")
