"""Ranks sorted by what they belong to: one launcher, one Slurm step, one place to meet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

import msgspec

from .command_line import is_spawned
from .rank_identity import Identity, SlurmStep, same_rank, slurm_step_of
from .roles import Roles


class Part(msgspec.Struct):
    """Ranks of one job."""

    origin: int | None = None
    """Pid of what started them; ``None`` where they started on their own, or Slurm did it."""
    launched: bool = False
    """The origin is a launcher by name: all that it starts is one job, doubles included."""
    ranks: list[int] = msgspec.field(default_factory=list[int])


class Parts:
    """Finds the jobs of one sample."""

    def __init__(self, roles: Roles) -> None:
        self._roles = roles
        self.names = self._find_names()

    def jobs(self) -> list[Part]:
        """The oldest first."""
        return sorted(self._joined(self._split(self._started())), key=self._age)

    def step(self, pid: int) -> SlurmStep | None:
        """The Slurm step of a process."""
        return slurm_step_of(self._roles.by_pid[pid])

    def ray_job(self, pid: int) -> str | None:
        """The job of Ray for which a worker of its works."""
        process = self._roles.by_pid[pid]
        return process.environment.get("RAY_JOB_ID") or process.ray_job

    def numbers(self, part: Part) -> set[int | None]:
        """The ranks in it; ``None`` stands for all that do not tell."""
        return {name.rank if (name := self.names[pid]) else None for pid in part.ranks}

    def _find_names(self) -> dict[int, Identity | None]:
        """Identities of the ranks; one that several ranks inherited from one process is nobody's."""
        roles = self._roles
        names = {pid: roles.identities[pid] for pid in roles.ranks}
        heirs = Counter((self._bequeather(pid), name) for pid, name in names.items())
        return {
            pid: None if heirs[self._bequeather(pid), name] > 1 else name or self._passed_on(pid)
            for pid, name in names.items()
        }

    def _passed_on(self, pid: int) -> Identity | None:
        """What its own workers were started with: variables that it has set since its own start."""
        roles = self._roles
        found = {
            name
            for child, process in roles.by_pid.items()
            if roles.parent(child) == pid and child not in roles.ranks
            if is_spawned(process.command) and (name := roles.identities[child]) is not None
        }
        return found.pop() if len(found) == 1 else None

    def _bequeather(self, pid: int) -> int:
        """The topmost ancestor that has the same identity."""
        identities, top = self._roles.identities, pid
        for above in self._roles.above(pid):
            if not same_rank(identities[above], identities[pid]):
                break
            top = above
        return top

    def _started(self) -> list[Part]:
        parts: dict[Hashable, Part] = {}
        keys: dict[int, Hashable] = {}
        for pid in self._roles.ranks:
            keys[pid], origin, launched = self._origin(pid, keys)
            parts.setdefault(keys[pid], Part(origin, launched)).ranks.append(pid)
        return list(parts.values())

    def _origin(self, pid: int, keys: dict[int, Hashable]) -> tuple[Hashable, int | None, bool]:
        """What ranks of one origin share; the origin's pid; whether it is a launcher by name."""
        roles, name = self._roles, self.names[pid]
        launcher: int | None = None
        for above in roles.above(pid):
            if above in keys:
                if launcher is None:
                    return keys[above], None, False  # a rank started it: Lightning, mp.spawn
                break
            if roles.is_pool(above):
                return (above, self.ray_job(pid)), above, True
            if roles.kind(above) == "launcher":
                launcher = above
        if launcher is not None:
            return launcher, launcher, True
        parent, step = roles.parent(pid), self.step(pid)
        if name is not None and name.world_size != 1:
            if step is not None:
                return (step, name.master), None, False
            if parent is not None:
                return (parent, name.master), parent, False
        if parent is not None and roles.is_part_of_parent(pid):
            whole = roles.whole(pid)
            return whole, whole, False
        return (pid,), None, False

    def _split(self, parts: Sequence[Part]) -> list[Part]:
        """Runs that only share a shell or a Slurm step, reported by both having the same rank."""
        split: list[Part] = []
        for part in parts:
            doubles = set[int]() if part.launched else self._doubles(part)
            rest = [pid for pid in part.ranks if pid not in doubles]
            if rest:
                split.append(Part(part.origin, part.launched, rest))
            split.extend(Part(ranks=[pid]) for pid in sorted(doubles))
        return split

    def _doubles(self, part: Part) -> set[int]:
        named = {pid: name.rank for pid in part.ranks if (name := self.names[pid])}
        counts = Counter(named.values())
        return {pid for pid, rank in named.items() if rank is not None and counts[rank] > 1}

    def _joined(self, parts: Sequence[Part]) -> list[Part]:
        """Parts of one run that were started apart."""
        joined: dict[Hashable, list[Part]] = {}
        for part in sorted(parts, key=self._age):
            meeting = self._meeting(part)
            others = joined.setdefault(id(part) if meeting is None else meeting, [])
            fitting = next((other for other in others if self._fit(other, part)), None)
            if fitting is None:
                others.append(part)
            else:
                fitting.ranks.extend(part.ranks)
        return [part for others in joined.values() for part in others]

    def _meeting(self, part: Part) -> Hashable | None:
        first = part.ranks[0]
        process, name = self._roles.by_pid[first], self.names[first]
        if name is None or name.world_size in (None, 1):
            return None
        place = name.master or self.step(first)
        return (place, name.world_size, process.user, process.container_id) if place else None

    def _fit(self, one: Part, other: Part) -> bool:
        first, second = self.numbers(one), self.numbers(other)
        return None not in first | second and first.isdisjoint(second)

    def _age(self, part: Part) -> tuple[float, int]:
        by_pid = self._roles.by_pid
        return min((by_pid[pid].start_time_seconds, pid) for pid in part.ranks)
