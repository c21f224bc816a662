from __future__ import annotations

from collections.abc import Iterable

from ...probes.model.frame import Frame
from ...probes.model.kernel_log import KernelLogFrame
from ...probes.model.process_frames import ProcessFrame
from ..finding import Evidence, Finding, Subject, Verdict
from ..log_lines import TOLD, LogRule, is_told, line_evidence, since
from ._blocked import mount_words
from ._wait_channels import wait_of

_NETWORK = "network file system"


class FileServerSilent(LogRule):
    """file server not responding.

    Meaning:
        The kernel log says that a server of a network file system (NFS, SMB) does not respond, and
        has not said since that it does.
    Impact:
        Whoever reads or writes there stands still inside the kernel and cannot be killed. It is
        information until a process of a job is found waiting for that server.
    Diagnosis:
        Ask the server itself and the network on the way to it; /proc/self/mountstats tells how many
        requests are open. df and ls on that mount hang too.
    Mitigation:
        Once the server answers, all go on by themselves. Where it never will, umount -f the mount,
        or restart the node.
    """

    id = "HST129"
    name = "file server not responding"
    short = "server silent"
    severity = "warning"
    severities = ("info", "warning")
    thresholds = {"told_seconds": TOLD}
    unpriced = "what it costs is seen in what it explains alone"
    hold_seconds = 0.0
    explains = ("HST107", "HST125", "INP701", "INP704")
    next_step = "Look after this file server and the network to it: what waits for it goes on then."

    def judge_log(self, frame: Frame) -> Iterable[Verdict]:
        last: dict[str, KernelLogFrame] = {}
        for event in frame.kernel_log:
            if event.kind in ("server not responding", "server responds") and event.subject:
                last[event.subject] = event
        for server, event in last.items():
            waiting = _waiting(server, frame)
            told = is_told(event, frame, self.limit["told_seconds"])
            if event.kind == "server not responding" and (told or waiting):
                yield self._verdict(server, event, waiting, frame)

    def _verdict(
        self, server: str, event: KernelLogFrame, waiting: list[ProcessFrame], frame: Frame
    ) -> Verdict:
        return Verdict(
            subject=Subject(kind="host", id=f"{frame.node} {server}"),
            holds=True,
            severity="warning" if waiting else "info",
            since_monotonic_seconds=since(event, frame),
            evidence=(
                Evidence(signal="server", value=server),
                *(Evidence(signal="mount", value=each) for each in _mounts(waiting)),
                *_count(waiting),
                *line_evidence((event,), frame),
            ),
        )

    def can_explain(self, symptom: Finding, frame: Frame) -> bool:
        return any(
            symptom.subject.id.startswith(f"{process.pid}@")
            or (symptom.subject.rank is not None and symptom.subject.rank == process.rank)
            for event in frame.kernel_log
            if event.kind == "server not responding" and event.subject
            for process in _waiting(event.subject, frame)
        )


def _waiting(server: str, frame: Frame) -> list[ProcessFrame]:
    """Processes of jobs that wait for it; where the file is not known, for any network file system."""
    return [process for process in frame.processes if process.job_id and _waits(process, server)]


def _waits(process: ProcessFrame, server: str) -> bool:
    blocked = process.blocked_on
    if blocked is not None and blocked.device is not None:
        return _host_of(blocked.device) == server
    return process.state == "D" and wait_of(process.wait_channel) == _NETWORK


def _host_of(device: str) -> str:
    """``server:/export``, ``[fe80::1]:/export`` or ``//server/share``."""
    if device.startswith("//"):
        return device[2:].partition("/")[0]
    return device.rpartition(":/")[0].strip("[]")


def _mounts(waiting: Iterable[ProcessFrame]) -> list[str]:
    return [words for words in dict.fromkeys(map(mount_words, waiting)) if words][:3]


def _count(waiting: list[ProcessFrame]) -> Iterable[Evidence]:
    if waiting:
        yield Evidence(
            signal="waiting_processes",
            label="waiting for it",
            value=float(len(waiting)),
            unit="processes",
        )
