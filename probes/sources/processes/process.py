"""One process that is read at every tick."""

from __future__ import annotations

import os
import time
from pathlib import Path

from ...model.process_readings import ProcessReading
from ...model.rank_readings import BlockedFile
from ...model.reading import Missing
from ...model.wait_kinds import wait_kind
from ..procfs.files import Descriptors, Gone, KeptFiles
from ..procfs.text import (
    TICKS_PER_SECOND,
    Stat,
    parse_io,
    parse_pids,
    parse_run_delay,
    parse_stat,
    parse_switches,
    parse_wait_channel,
    times,
)
from .blocked_file import blocked_file
from .facts import Facts, FactsReader

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_STAT_BYTES = 1024
_YOUNG_SECONDS = 3.0
"""A process of this age may still be about to run another program in the place of this one."""
_RUNNING = "it does not sleep"
_WAITS_FOR_FILES = ("pipe", "disk", "file lock", "socket", "unix socket", "terminal")
_UNSEEN = "the kernel does not show it"


class Entry:
    """A process, by pid and start time."""

    def __init__(self, pid: int, root: Path, descriptors: Descriptors, reader: FactsReader) -> None:
        self.pid = pid
        self.facts: Facts | None = None
        self.reading: ProcessReading | None = None
        self._folder = f"{str(root).rstrip('/')}/proc/{pid}"
        self._files = KeptFiles(self._folder, descriptors)
        self._reader = reader
        self._missing: dict[tuple[str | None, ...], Missing] = {}
        self._denied: dict[str, str] = {}
        self._due = 0.0
        self._still = False
        """Its main thread has slept without a pause since the reading before."""
        self._sleep: tuple[str, int | None, int | None] | None = None
        """State and context switches at the last reading."""
        self._channel: str | None = None
        self._children: tuple[int, ...] | None = None
        self._wait: tuple[str, str | None, int | None] | None = None
        """In which it was at the last look, if in one for a file."""
        self._blocked: BlockedFile | None = None
        self._blocked_known = False
        try:
            self.stat = self._read_stat()
        except Gone:
            self.close()
            raise

    def close(self) -> None:
        """Give its descriptors back."""
        self._files.close()

    def look(self) -> None:
        """Read what alone says whether it lives, and who its parent is.

        Raises:
            Gone: when it is not that process any more.
        """
        stat = self._read_stat()
        if stat.start_ticks != self.stat.start_ticks:
            raise Gone
        self.stat = stat

    def read(self, parent: Entry | None, *, detailed: bool, patience: float) -> ProcessReading:
        """Everything, out of the `stat` of the last look.

        Args:
            parent: whose environment is not repeated, for a process below a rank.
            detailed: context switches too.
            patience: seconds for which the facts stand.

        Raises:
            Gone: when it ended meanwhile.
        """
        now = time.monotonic()
        try:
            facts = self._fresh_facts(now, patience)
            reading = self._reading(facts, parent, now, detailed)
        except OSError as error:
            raise Gone from error
        self.reading = reading
        return reading

    def children(self) -> tuple[int, ...] | None:
        """Those that its main thread started; ``None`` where the kernel does not list them.

        One that has not run since it was asked last has started no more, though some may have ended.
        """
        if self._children is None or not self._still:
            try:
                self._children = parse_pids(self._files.read(f"task/{self.pid}/children"))
            except OSError:
                return None
        return self._children

    def _read_stat(self) -> Stat:
        try:
            stat = parse_stat(self._files.read("stat", _STAT_BYTES))
        except OSError as error:
            raise Gone from error
        if stat is None:
            raise Gone
        return stat

    def _fresh_facts(self, now: float, patience: float) -> Facts:
        if self.facts is not None and now < self._due and self.facts.whole:
            return self.facts
        first = self.facts is None
        self.facts = self._reader.read(self._files, self.stat, self.facts)
        self._missing.clear()
        self._denied.clear()
        # Spread over time by pid, so that not all come due in the same tick.
        later = patience * (1.0 + self.pid % 16 / 16)
        age = now - self.stat.start_time_seconds
        self._due = now + (_YOUNG_SECONDS if first and age < _YOUNG_SECONDS else later)
        return self.facts

    def _reading(
        self, facts: Facts, parent: Entry | None, now: float, detailed: bool
    ) -> ProcessReading:
        stat = self.stat
        io = self._try("io", facts)
        schedstat = self._try("schedstat", facts)
        status = self._try("status", facts) if detailed else None
        voluntary, involuntary = (None, None) if status is None else parse_switches(status)
        asleep = stat.state != "R"
        sleep = (stat.state, voluntary, involuntary) if asleep and voluntary is not None else None
        self._still = sleep is not None and sleep == self._sleep
        self._sleep = sleep
        if not self._still:
            self._channel = parse_wait_channel(self._try("wchan", facts) or b"") if asleep else None
        channel = self._channel
        read_bytes, write_bytes = (None, None) if io is None else parse_io(io)
        blocked = self._blocked_on(stat, channel, voluntary)
        exit_signal, exit_code = self._exit(facts)
        inherited = self._inherits(facts, parent)
        return ProcessReading(
            monotonic_seconds=now,
            missing=self._reasons(
                facts,
                None if io is not None else self._denied.get("io", _UNSEEN),
                None if schedstat is not None else self._denied.get("schedstat", _UNSEEN),
                None if status is not None else "not read for so many processes",
                None if channel is not None else self._no_channel(facts, asleep),
            ),
            pid=self.pid,
            start_time_seconds=stat.start_time_seconds,
            parent_pid=stat.parent_pid,
            namespace_pids=facts.namespace_pids,
            user=facts.user,
            name=stat.name,
            command=facts.command,
            state=stat.state,
            wait_channel=channel,
            threads=stat.threads,
            cpu_seconds=None if stat.cpu_ticks is None else stat.cpu_ticks / TICKS_PER_SECOND,
            run_delay_seconds=None if schedstat is None else parse_run_delay(schedstat),
            rss_bytes=times(stat.rss_pages, _PAGE_BYTES),
            read_bytes=read_bytes,
            write_bytes=write_bytes,
            voluntary_switches=voluntary,
            involuntary_switches=involuntary,
            major_faults=stat.major_faults,
            allowed_cpus=facts.allowed_cpus,
            cgroup=facts.cgroup,
            container_id=facts.container.id,
            environment={} if inherited else facts.environment,
            working_directory=None if inherited else facts.working_directory,
            container_kind=facts.container.kind,
            blocked_on=blocked,
            pod_uid=facts.container.pod,
            environment_inherited=inherited,
            in_process_group=facts.in_process_group,
            exit_signal=exit_signal,
            exit_code=exit_code,
            titled=facts.titled,
            ray_job=facts.ray_job,
        )

    def _exit(self, facts: Facts) -> tuple[int | None, int | None]:
        """Of a zombie: the signal that ended it, or its code."""
        status = self.stat.exit_status
        if status is None or (not status and not self._reader.may_inspect(facts)):
            return None, None
        ended_by = status & 0x7F or None
        return ended_by, None if ended_by else status >> 8

    def _blocked_on(
        self, stat: Stat, channel: str | None, switches: int | None
    ) -> BlockedFile | None:
        """Looked up once, when it has stood in the same wait since the last look."""
        if stat.state != "D" and wait_kind(channel) not in _WAITS_FOR_FILES:
            self._wait = None
            return None
        wait = (stat.state, channel, switches)  # of the main thread; others may run meanwhile
        if wait != self._wait:
            self._wait, self._blocked, self._blocked_known = wait, None, False
        elif not self._blocked_known:
            self._blocked = blocked_file(self._folder, interruptible=stat.state != "D")
            self._blocked_known = True
        return self._blocked

    def _try(self, name: str, facts: Facts) -> bytes | None:
        """The text of a file; ``None`` where it is denied or absent, remembered while facts stand."""
        if name in self._denied:
            return None
        try:
            return self._files.read(name)
        except PermissionError:
            self._denied[name] = self._reader.denied(facts)
        except FileNotFoundError:
            self._denied[name] = _UNSEEN
        return None

    def _no_channel(self, facts: Facts, asleep: bool) -> str:
        if not asleep:
            return _RUNNING
        return self._reader.denied(facts) if "io" in self._denied else _UNSEEN

    def _inherits(self, facts: Facts, parent: Entry | None) -> bool:
        if parent is None or parent.facts is None or not facts.environment:
            return False
        # A shell's or launcher's child may be a rank, and a rank always shows its own.
        if parent.facts.kind != "program" or facts.environment != parent.facts.environment:
            return False
        facts.environment = parent.facts.environment  # held once, however many inherit it
        return True

    def _reasons(self, facts: Facts, *reasons: str | None) -> Missing:
        """Built once for each set of reasons: they hardly ever change."""
        if reasons not in self._missing:
            io, schedstat, status, channel = reasons
            named = {
                "read_bytes": io,
                "write_bytes": io,
                "run_delay_seconds": schedstat,
                "voluntary_switches": status,
                "involuntary_switches": status,
                "wait_channel": channel,
            }
            known = {name: reason for name, reason in named.items() if reason is not None}
            self._missing[reasons] = facts.missing | known
        return self._missing[reasons]
