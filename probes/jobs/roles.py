"""Which processes are ranks, who started them, and on which GPU each one is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from ..model.gpu_readings import GpuProcessReading, GpuReading
from ..model.probe_readings import ProbeReading
from ..model.process_readings import ProcessReading
from .borrowed_names import borrowers
from .command_line import CommandKind, is_pool, is_spawned, kind_of, program_of, python_of, untitled
from .gpu_assignment import Choice, choose_gpu, gpu_by_environment
from .rank_identity import Identity, identity_of, same_rank

_LATE_SECONDS = 0.02
"""A parent may seem this much younger than its child, for both are counted in ticks."""
_MPS_SERVERS = ("nvidia-cuda-mps",)
_LOADER_WORKER = "pt_data_worker"
"""As torch calls the main thread of one."""

Placement = tuple[GpuReading, GpuProcessReading]


class Roles:
    """The processes of one sample as a tree, with the ranks in it found.

    A process is a rank when its environment or its probe names one, or when it is on a GPU or trains,
    and no rank above it explains that: children inherit the environment, so a loader worker bears its rank's name too.
    """

    def __init__(
        self,
        processes: Sequence[ProcessReading],
        gpus: Sequence[GpuReading],
        probes: Sequence[ProbeReading] = (),
    ) -> None:
        self.by_pid = {process.pid: process for process in processes}
        self._probes = _probes_of(self.by_pid, probes)
        self._gpus = gpus
        self._gpus_by_uuid = {gpu.uuid: gpu for gpu in gpus if gpu.uuid}
        self.local_pids = _local_pids(self.by_pid, gpus)
        self.placements = _placements(self.by_pid, gpus, self.local_pids)
        self._parents = {pid: self._find_parent(process) for pid, process in self.by_pid.items()}
        # Parents before children, whatever order pids and start times have.
        self.order = sorted(self.by_pid, key=lambda pid: (self._depth(pid), pid))
        self._given: dict[int, Identity | None] = {}
        """By the variables that each was started with."""
        self.identities = self._find_identities()

    @cached_property
    def ranks(self) -> tuple[int, ...]:
        """Pids of the ranks."""
        ranks: dict[int, None] = {}
        for pid in self.order:
            if self._is_candidate(pid) and self._is_rank(pid, self._nearest(pid, ranks)):
                ranks[pid] = None
        named = {pid: name for pid in ranks if (name := self.identities[pid]) is not None}
        borrowed = borrowers(self.by_pid, named, self._shows_itself)
        return tuple([pid for pid in ranks if pid not in borrowed])

    @cached_property
    def wrapping(self) -> frozenset[int]:
        """Processes above one that was started with the same name and shows itself as a rank, as they do not."""
        return frozenset(
            above
            for pid in self.by_pid
            if self.identities[pid] is not None and self._is_no_aide(pid)
            for above in self.above(pid)
            if not self._shows_itself(above) and self._share_a_name(above, pid)
        )

    @cached_property
    def _starting(self) -> frozenset[int]:
        """Processes above one that is a rank by itself."""
        return frozenset(
            above
            for pid in self.by_pid
            if self.identities[pid] is not None or self._shows_itself(pid)
            for above in self.above(pid)
        )

    def rank_of(self, pid: int) -> int | None:
        """Pid of the rank that the process is, or is a descendant of."""
        ranks = self._rank_set
        return pid if pid in ranks else self._nearest(pid, ranks)

    def above(self, pid: int) -> Iterator[int]:
        """The ancestors that are known, the nearest first."""
        seen = {pid}
        parent = self.parent(pid)
        while parent is not None and parent not in seen:
            yield parent
            seen.add(parent)
            parent = self.parent(parent)

    def parent(self, pid: int) -> int | None:
        """Its parent, if that is one of the processes; an older process of that pid is not."""
        return self._parents[pid]

    def kind(self, pid: int) -> CommandKind:
        """What its command line makes it."""
        return kind_of(self._command(pid))

    def is_pool(self, pid: int) -> bool:
        """Whether it starts workers for jobs of anybody."""
        return is_pool(self.by_pid[pid].command)

    def has_title_alone(self, pid: int) -> bool:
        """Whether nothing is left of its command line but the title."""
        process = self.by_pid[pid]
        return process.titled and len(process.command or ()) == 1

    def is_part_of_parent(self, pid: int) -> bool:
        """Whether its parent forked it without running another program, or by multiprocessing."""
        parent = self.parent(pid)
        if parent is None:
            return False
        command = self.by_pid[pid].command
        if is_spawned(command) or (command is not None and command == self.by_pid[parent].command):
            return True
        # A title tells no more how it came to be; what starts other programs seldom is a Python.
        return self.has_title_alone(pid) and self._is_python(parent)

    def whole(self, pid: int) -> int:
        """The topmost process that this one is a part of; itself where it is none."""
        seen = {pid}
        while self.is_part_of_parent(pid):
            parent = self.parent(pid)
            if parent is None or parent in seen or self.kind(parent) != "program":
                break
            seen.add(parent)
            pid = parent
        return pid

    def gpu_indices(self, pid: int) -> frozenset[int]:
        """The GPUs on which it computes."""
        return frozenset(gpu.index for gpu, _ in self.placements.get(pid, ()))

    def gpu_of(self, pid: int) -> Choice:
        """The GPU on which a rank does its work; it may hold a stray context on others.

        The driver may hide processes, or give pids of another namespace. Then CUDA reported it to the probe;
        without one, open files and variables tell.
        """
        process, identity = self.by_pid[pid], self.identities[pid]
        local_rank = identity.local_rank if identity else None
        placements = self.placements.get(pid, ())
        if placements:
            return Choice(self._main_placement(process, local_rank, placements), "driver")
        probe = self._probes.get(pid)
        reported = self._gpus_by_uuid.get(probe.device_uuid or "") if probe else None
        if reported is not None:
            return Choice(reported, "probe")
        return choose_gpu(process, local_rank, self._gpus)

    def _main_placement(
        self, process: ProcessReading, local_rank: int | None, placements: Sequence[Placement]
    ) -> GpuReading:
        if len(placements) == 1:
            return placements[0][0]
        hint = gpu_by_environment(process, local_rank, self._gpus).gpu

        def weight(placement: Placement) -> tuple[int, bool, int]:
            gpu, use = placement
            return use.memory_bytes or 0, gpu is hint, -gpu.index

        return max(placements, key=weight)[0]

    @cached_property
    def _rank_set(self) -> frozenset[int]:
        return frozenset(self.ranks)

    def _find_parent(self, process: ProcessReading) -> int | None:
        parent = self.by_pid.get(process.parent_pid or 0)
        if parent is None or parent.pid == process.pid:
            return None
        late = parent.start_time_seconds - process.start_time_seconds
        return parent.pid if late <= _LATE_SECONDS else None

    def _depth(self, pid: int) -> int:
        return sum(1 for _ in self.above(pid))

    def _find_identities(self) -> dict[int, Identity | None]:
        """Who each process is. What it was started with is less than what its probe says of it now.

        A child with the variables of its parent is what the parent is, also where that has changed its own since.
        """
        found: dict[int, Identity | None] = {}
        given = self._given
        for pid in self.order:
            process, above = self.by_pid[pid], self.parent(pid) or 0
            inherited = process.environment_inherited or "environment" in process.missing
            own = identity_of(process)
            given[pid] = given.get(above) if own is None and inherited else own
            told = self._told_identity(pid, given[pid])
            bequeathed = given[pid] is not None and given[pid] == given.get(above)
            found[pid] = told or (found.get(above) if bequeathed else given[pid])
        return found

    def _told_identity(self, pid: int, given: Identity | None) -> Identity | None:
        """As the process itself has it, where that is not what it was started with."""
        probe = self._probes.get(pid)
        if probe is None or probe.rank is None:
            return None
        known = given or Identity(None)
        size = known.world_size if probe.world_size is None else probe.world_size
        told = Identity(probe.rank, probe.local_rank, size, known.master)
        return None if same_rank(told, given) else told

    def _is_candidate(self, pid: int) -> bool:
        if self.kind(pid) != "program" or self._is_stray_worker(pid):
            return False
        if self._shows_itself(pid) or self._hides_its_name(pid):
            return True
        if self.by_pid[pid].attached and self.identities[pid] is None:
            return pid not in self._starting
        return self.identities[pid] is not None and pid not in self.wrapping

    def _shows_itself(self, pid: int) -> bool:
        """On a GPU, in a process group or training: no name is needed to see that it is a rank."""
        return pid in self.placements or self.by_pid[pid].in_process_group or self._trains(pid)

    def _is_no_aide(self, pid: int) -> bool:
        """Whether it does a rank's work: an aide may have a process group too, where a rank has more than one."""
        if pid in self.placements or not is_spawned(self.by_pid[pid].command):
            return self._shows_itself(pid)
        parent, process = self.parent(pid), self.by_pid[pid]
        return process.in_process_group and any(
            each.in_process_group and each.pid != pid and self.parent(each.pid) == parent
            for each in self.by_pid.values()
        )

    def _share_a_name(self, above: int, pid: int) -> bool:
        given = self._given[pid]
        return same_rank(self.identities[above], self.identities[pid]) or (
            given is not None and same_rank(self._given[above], given)
        )

    def _is_stray_worker(self, pid: int) -> bool:
        """One of a rank that is gone: it has the rank's name, and is none."""
        process = self.by_pid[pid]
        worker = process.name == _LOADER_WORKER or is_spawned(process.command)
        return worker and self.parent(pid) is None and not self._shows_itself(pid)

    def _command(self, pid: int) -> tuple[str, ...]:
        process = self.by_pid[pid]
        return untitled(process.command, titled=process.titled)

    def _is_python(self, pid: int) -> bool:
        return python_of(self._command(pid)) is not None

    def _hides_its_name(self, pid: int) -> bool:
        """A Python that a launcher started, whose variables are not shown: a rank of unknown number."""
        process, parent = self.by_pid[pid], self.parent(pid)
        return (
            "environment" in process.missing
            and self.identities[pid] is None
            and parent is not None
            and self.kind(parent) == "launcher"
            and not self.is_pool(parent)
            and self._is_python(pid)
            and not is_spawned(process.command)
        )

    def _trains(self, pid: int) -> bool:
        """Its probe has seen a step or a GPU; helpers that only carry a probe have seen neither."""
        probe = self._probes.get(pid)
        return probe is not None and (probe.step is not None or probe.device_uuid is not None)

    def _is_rank(self, pid: int, above: int | None) -> bool:
        if above is None:
            return True
        own, other = self.identities[pid], self.identities[above]
        if own is not None and not same_rank(own, other):
            return other is not None or self._is_no_helper(pid, above)
        on = self.gpu_indices(pid)
        return bool(on) and on.isdisjoint(self.gpu_indices(above))

    def _is_no_helper(self, pid: int, above: int) -> bool:
        """Of one with a name below a rank without: it may only bear what that has set for itself since."""
        if self._shows_itself(pid) or program_of(self._command(pid)) == program_of(
            self._command(above)
        ):
            return True
        parent, own = self.parent(pid), self.identities[pid]
        brothers = [name for each, name in self.identities.items() if self.parent(each) == parent]
        return any(name is not None and not same_rank(name, own) for name in brothers)

    def _nearest(self, pid: int, ranks: dict[int, None] | frozenset[int]) -> int | None:
        return next((above for above in self.above(pid) if above in ranks), None)


def _probes_of(
    by_pid: dict[int, ProcessReading], probes: Sequence[ProbeReading]
) -> dict[int, ProbeReading]:
    """Those of the processes that are there; an older process of the same pid is not."""
    return {
        probe.pid: probe
        for probe in probes
        if (process := by_pid.get(probe.pid)) is not None
        and process.start_time_seconds == probe.start_time_seconds
    }


def _placements(
    by_pid: dict[int, ProcessReading], gpus: Sequence[GpuReading], local_pids: dict[int, int]
) -> dict[int, list[Placement]]:
    placed: dict[int, list[Placement]] = {}
    for gpu in gpus:
        for use in gpu.processes or ():
            process = by_pid.get(local_pids.get(use.pid, use.pid))
            if process is None or use.kind == "graphics":
                continue
            if not (process.name or "").startswith(_MPS_SERVERS):
                placed.setdefault(process.pid, []).append((gpu, use))
    return placed


def _local_pids(by_pid: dict[int, ProcessReading], gpus: Sequence[GpuReading]) -> dict[int, int]:
    inner = _by_inner_pid(by_pid)
    drivers = {use.pid for gpu in gpus for use in gpu.processes or ()}
    return {pid: inner[pid] for pid in drivers if pid not in by_pid and pid in inner}


def _by_inner_pid(by_pid: dict[int, ProcessReading]) -> dict[int, int]:
    """Pid within a namespace → pid here, where only one process has it: a driver may give either."""
    found: dict[int, list[int]] = {}
    for process in by_pid.values():
        for inner in set(process.namespace_pids) - {process.pid}:
            found.setdefault(inner, []).append(process.pid)
    return {inner: pids[0] for inner, pids in found.items() if len(pids) == 1}
