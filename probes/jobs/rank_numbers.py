"""The numbers of the ranks of one job, and how many there are: as they are told, or as they follow."""

from __future__ import annotations

from .command_line import is_spawned
from .parts import Part, Parts
from .roles import Roles
from .titles import ranks_by_titles

_UNNAMED = "its environment names no rank"
_SHARED = "its environment names a rank, and so do those of others that inherited it"
_TITLE = "its title tells no rank"


class RankNumbers:
    """Of one job; what nothing tells is not known."""

    def __init__(self, roles: Roles, parts: Parts, part: Part) -> None:
        self._roles = roles
        self._names = parts.names
        self._part = part
        self._unnamed = [pid for pid in part.ranks if self._names[pid] is None]
        self._titles = ranks_by_titles(
            {pid: (roles.by_pid[pid].command or ("",))[0] for pid in self._unnamed}
        )
        self._follows = self._following()
        self.world_size = self._find_world_size()

    def of(self, pid: int) -> int | None:
        """The number of a rank."""
        name = self._names[pid]
        if name is not None:
            return name.rank
        return self._titles.get(pid) if pid in self._titles else self._follows.get(pid)

    def is_only(self, pid: int) -> bool:
        """Whether it is the one without a name, and nothing says that there are more than it knows of."""
        return self._follows.get(pid) == 0

    def why_unknown(self, pid: int) -> str:
        """Why a rank has no number."""
        process = self._roles.by_pid[pid]
        if "environment" in process.missing:
            return process.missing["environment"]
        if self._roles.identities[pid] is not None and self._names[pid] is None:
            return _SHARED
        return _TITLE if self._roles.has_title_alone(pid) else _UNNAMED

    def _find_world_size(self) -> int | None:
        names = [self._names[pid] for pid in self._part.ranks]
        sizes = [name.world_size for name in names if name and name.world_size is not None]
        if sizes:
            return max(sizes)
        return 1 if len(names) == 1 and self._follows else None

    def _following(self) -> dict[int, int]:
        """The number of the one process without a name, where no other one is left, or it can have none."""
        if len(self._unnamed) != 1 or self._titles:
            return {}
        pid = self._unnamed[0]
        numbers = {name.rank for each in self._part.ranks if (name := self._names[each])}
        sizes = {name.world_size for each in self._part.ranks if (name := self._names[each])}
        if len(sizes) == 1 and None not in numbers:
            left = set(range(next(iter(sizes)) or 0)).difference(numbers)
            if len(left) == 1:
                return {pid: left.pop()}
        alone = self._is_alone(pid) if not numbers else self._started_the_others(pid)
        return {pid: 0} if alone and 0 not in numbers else {}

    def _is_alone(self, pid: int) -> bool:
        """A program that somebody started as it is, and that has no fellows."""
        process = self._roles.by_pid[pid]
        return not (
            self._part.launched
            or process.titled
            or process.in_process_group
            or is_spawned(process.command)
            or self._roles.identities[pid] is not None
            or "environment" in process.missing
        )

    def _started_the_others(self, pid: int) -> bool:
        """As Lightning's first rank does, which needs no name."""
        others = [each for each in self._part.ranks if each != pid]
        started = all(pid in self._roles.above(each) for each in others)
        return started and "environment" not in self._roles.by_pid[pid].missing
