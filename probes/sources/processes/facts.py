"""What rarely changes about a process: who, what, where. Read once, and again now and then."""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec

from ...jobs.command_line import CommandKind, is_python_file, kind_of, python_of, untitled
from ...jobs.titles import OVER_ENVIRONMENT, job_of_ray_log
from ...model.reading import Missing
from ..procfs.cgroup_paths import parse_memberships, single_path
from ..procfs.environment import parse_environment
from ..procfs.files import KeptFiles, read_file
from ..procfs.redaction import mask_command, mask_text
from ..procfs.text import Stat, parse_command, parse_cpu_list, parse_status
from ..procfs.users import UserNames
from .container import Container, container_of_groups, container_of_mounts
from .group_threads import in_process_group

_COMMAND_BYTES = 32768
_ENVIRONMENT_BYTES = 1 << 18
_COMMAND_CHARS = 4096
_STATUS_BYTES = 8192
_MOUNTS_BYTES = 1 << 18
_PATH_CHARS = 1024
_SHARED_SECONDS = 30.0
_CUT = "…"
_SLEEPING_HARD = (
    "it is in uninterruptible sleep, and reading this could hang: it is read once it wakes"
)
_ENDED = "the process has exited"
_DEFERRED = ("command", "environment", "working_directory")


class Facts(msgspec.Struct):
    """Values that stand for a while."""

    user_id: int | None = None
    user: str | None = None
    namespace_pids: tuple[int, ...] = ()
    command: tuple[str, ...] | None = None
    kind: CommandKind = "program"
    allowed_cpus: int | None = None
    cgroup: str | None = None
    container: Container = msgspec.field(default_factory=Container)
    working_directory: str | None = None
    environment: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    missing: Missing = msgspec.field(default_factory=dict[str, str])
    in_process_group: bool = False
    titled: bool = False
    ray_job: str | None = None

    @property
    def whole(self) -> bool:
        """Nothing was put off."""
        return _SLEEPING_HARD not in self.missing.values()


class FactsReader:
    """Reads facts, whoever the process belongs to."""

    def __init__(self, root: Path) -> None:
        self._users = UserNames(root)
        self._root = root
        self._effective_user = os.geteuid()
        self._online: frozenset[int] | None = None
        self._due = 0.0
        self._containers: dict[str, Container] = {}
        """By the namespace of mounts."""

    def refresh(self) -> None:
        """Look again at what all processes share, if it is time."""
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + _SHARED_SECONDS
        self._containers.clear()  # a number may come back for another namespace
        try:
            self._online = parse_cpu_list(read_file(self._root / "sys/devices/system/cpu/online"))
        except OSError:
            self._online = None

    def read(self, files: KeptFiles, stat: Stat, before: Facts | None) -> Facts:
        """The facts of one process. What a zombie has no more is taken from ``before``.

        Raises:
            OSError: when the process is gone.
        """
        status = parse_status(files.read_once("status", _STATUS_BYTES))
        facts = Facts(user_id=status.user_id, namespace_pids=status.namespace_pids)
        if status.user_id is None:
            facts.missing["user"] = "not reported by the kernel"
        else:
            facts.user = self._users.name(status.user_id)
        self._add_cpus(facts, status.allowed_cpus)
        self._add_cgroup(facts, files)
        if stat.state == "D":
            self._put_off(facts, before)
        elif stat.state in "ZX" and before is not None:
            _take_over(facts, before)
        else:
            self._add_command(facts, files, stat)
            self._add_environment(facts, files, stat)
            self._add_directory(facts, files, stat)
            known = before is not None and before.in_process_group
            python = facts.titled or python_of(facts.command or ()) is not None
            may_train = python and facts.kind == "program"
            facts.in_process_group = may_train and (known or in_process_group(files.folder))
        return facts

    def may_inspect(self, facts: Facts) -> bool:
        """Whether the kernel shows this user what it hides of others' processes."""
        return self._effective_user in (0, facts.user_id)

    def denied(self, facts: Facts) -> str:
        """Why something of the process may not be read, and what would help."""
        if facts.user_id == self._effective_user:
            return "it does not let itself be inspected: run gputop as root"
        owner = facts.user if facts.user is not None else "another"
        return f"belongs to user {owner}: run gputop as that user or root"

    def _put_off(self, facts: Facts, before: Facts | None) -> None:
        """These texts lie in the process's memory, whose lock a task stuck in the kernel may hold."""
        if before is None:
            facts.missing.update(dict.fromkeys(_DEFERRED, _SLEEPING_HARD))
        else:
            _take_over(facts, before)

    def _add_cpus(self, facts: Facts, allowed: frozenset[int] | None) -> None:
        if allowed is None:
            facts.missing["allowed_cpus"] = "not reported by the kernel"
        else:
            # The mask also has the cores that could be plugged in some day.
            facts.allowed_cpus = len(allowed if self._online is None else allowed & self._online)

    def _add_cgroup(self, facts: Facts, files: KeptFiles) -> None:
        try:
            memberships = parse_memberships(files.read_once("cgroup"))
        except FileNotFoundError:
            memberships = {}
        facts.cgroup = single_path(memberships)
        if facts.cgroup is None:
            facts.missing["cgroup"] = "this kernel has no control groups"
        facts.container = container_of_groups(memberships).over(self._mounted(files))
        if facts.container.id is None:
            facts.missing["container_id"] = (
                "neither its control group nor its mounts name a container"
            )

    def _mounted(self, files: KeptFiles) -> Container:
        """What the mounts tell, read once for all processes that see the same ones."""
        try:
            namespace = files.link("ns/mnt")
            if namespace not in self._containers:
                mounts = files.read_once("mountinfo", _MOUNTS_BYTES)
                self._containers[namespace] = container_of_mounts(mounts)
        except (PermissionError, FileNotFoundError):
            return Container()
        return self._containers[namespace]

    def _add_command(self, facts: Facts, files: KeptFiles, stat: Stat) -> None:
        try:
            command = parse_command(files.read_once("cmdline", _COMMAND_BYTES))
        except PermissionError:
            facts.missing["command"] = self.denied(facts)
            return
        if command and any(command):
            self._add_title(facts, files, command)
            facts.kind = kind_of(untitled(command, titled=facts.titled))
            facts.command = _shortened(mask_command(command))
        elif stat.kernel_thread:
            facts.missing["command"] = "it is a thread of the kernel"
        else:
            facts.missing["command"] = (
                _ENDED if stat.state in "ZX" else "it has cleared its command line"
            )

    def _add_title(self, facts: Facts, files: KeptFiles, command: tuple[str, ...]) -> None:
        if python_of(command) is not None:
            return
        try:
            facts.titled = is_python_file(files.link("exe"))
            facts.ray_job = job_of_ray_log(files.link("fd/1")) if facts.titled else None
        except OSError:
            return  # of somebody else, or without files: then nothing tells

    def _add_environment(self, facts: Facts, files: KeptFiles, stat: Stat) -> None:
        if stat.state in "ZX":  # it cannot even be opened
            facts.missing["environment"] = _ENDED
            return
        try:
            data = files.read_once("environ", _ENVIRONMENT_BYTES)
        except PermissionError:
            facts.missing["environment"] = self.denied(facts)
            return
        facts.environment = parse_environment(data)
        if data and b"=" not in data:
            facts.missing["environment"] = OVER_ENVIRONMENT

    def _add_directory(self, facts: Facts, files: KeptFiles, stat: Stat) -> None:
        try:
            facts.working_directory = mask_text(files.link("cwd")[:_PATH_CHARS])
        except PermissionError:
            facts.missing["working_directory"] = self.denied(facts)
        except FileNotFoundError:
            kernel = stat.kernel_thread
            facts.missing["working_directory"] = "it has none" if kernel else _ENDED


def _take_over(facts: Facts, before: Facts) -> None:
    """What was known of it when it could still be asked."""
    facts.command, facts.environment = before.command, before.environment
    facts.kind, facts.working_directory = before.kind, before.working_directory
    facts.in_process_group = before.in_process_group
    facts.titled, facts.ray_job = before.titled, before.ray_job
    facts.missing.update(_reasons(before, _DEFERRED))


def _reasons(facts: Facts, names: tuple[str, ...]) -> Missing:
    return {name: facts.missing[name] for name in names if name in facts.missing}


def _shortened(command: tuple[str, ...]) -> tuple[str, ...]:
    kept: list[str] = []
    room = _COMMAND_CHARS
    for argument in command:
        if len(argument) > room:
            return (*kept, argument[:room] + _CUT)
        kept.append(argument)
        room -= len(argument)
    return command
