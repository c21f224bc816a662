from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from ...probes.model.frame import Frame
from ...probes.model.job_frames import JobFrame
from ...probes.model.mount_frames import MountFrame
from ..finding import Evidence, Subject, Verdict, compared
from ..loader_workers import loader_workers
from ..price_reasons import NOT_KNOWN_HOW_MUCH
from ..rank_rule import NONE_PROBED, not_known
from ..rule import JobRule, Scene, Threshold
from ._input_wait import SECONDS, SHARE, InputWait, input_waits

_FRESH_SECONDS = 35.0
"""Read every ten seconds; with two that were late it is still of now."""
_QUEUE_RATIO = 0.5
"""Of a request's time that it was not sent yet: from there on, it is this node that holds it back."""


class NetworkFileSystemSlow(JobRule):
    """Network file system slow.

    Meaning:
        Requests to an NFS mount on which the job has its files open take long, or have to be sent again,
        while the job waits for its data; without a probe, while those who read its data are blocked.
    Impact:
        Each file costs several requests one after the other, so a loader gets its batches at the pace
        of the answers. Where the job has a probe, the share that is shown is what its GPUs wait.
    Diagnosis:
        nfsiostat 1 MOUNT shows the same numbers. Much of the time in the queue: this node has no
        connection or slot left to send it. Much in the round trip: the network or the server is slow,
        and other nodes that use it see the same. Sent again: packets or answers are lost.
    Mitigation:
        Copy the data to a local disk, or read few large files in sequence instead of many small ones.
        Queue: mount with nconnect=8 or more, larger rsize. Round trip: find who loads the server, move
        the data to a faster one. Sent again: look at the network's ports and at dropped packets.
    """

    id = "INP706"
    name = "slow network file system"
    short = "slow NFS"
    severity = "warning"
    unpriced = NOT_KNOWN_HOW_MUCH
    thresholds = {
        "await_seconds": Threshold(0.015, "seconds", "datapath-doctor: 15 ms"),
        "retransmission_ratio": Threshold(
            0.01, "ratio", "ours; over TCP one is sent again after seconds only"
        ),
        "requests_in_flight": Threshold(
            0.2, "count", "ours; mean: with less, nobody waits for it for long"
        ),
        "data_wait_ratio": SHARE,
        "blocked_ratio": Threshold(
            0.20, "ratio", "datapath-doctor: 20 % in io-wait; looked at without a probe"
        ),
    }
    hold_seconds = 20.0
    look_seconds = 3.0
    explains = ("HW210", "INP701", "INP704", "INP707", "RUN436")
    next_step = "Copy its data to a local disk, or find who loads that server: nfsiostat 1."

    def judge_job(self, job: JobFrame, subject: Subject, scene: Scene) -> Verdict:
        seen = mounts_of(job, scene.frame)
        if isinstance(seen, str):
            return Verdict(
                subject=subject, holds=None, unknown_because=seen, unavailable=f"NFS mounts: {seen}"
            )
        slow = [mount for mount in seen if self._is_slow(mount)]
        if not slow:
            return Verdict(subject=subject, holds=False)
        worst = max(slow, key=_in_flight)
        found = input_waits(scene)[job.id]
        if isinstance(found, str):
            if found != NONE_PROBED:
                return not_known(subject, found)
            return self._by_blocked(worst, job, subject, scene)
        if found.lost < self.limit["data_wait_ratio"]:
            return Verdict(subject=subject, holds=False)
        return self._verdict(worst, subject, found)

    def _is_slow(self, mount: MountFrame) -> bool:
        late = (mount.await_seconds or 0.0) >= self.limit["await_seconds"]
        again = (mount.retransmission_ratio or 0.0) >= self.limit["retransmission_ratio"]
        return (late or again) and _in_flight(mount) >= self.limit["requests_in_flight"]

    def _verdict(self, mount: MountFrame, subject: Subject, found: InputWait) -> Verdict:
        return Verdict(
            subject=subject,
            holds=True,
            evidence=(
                *self._evidence(mount),
                *found.evidence(self.limit["data_wait_ratio"]),
            ),
            next_step=_step(mount),
            lost_ratio=found.lost,
        )

    def _by_blocked(
        self, mount: MountFrame, job: JobFrame, subject: Subject, scene: Scene
    ) -> Verdict:
        """Nobody tells how long the job waits; but whoever reads its data stands in state D."""
        blocked = _blocked(job, scene)
        limit = self.limit["blocked_ratio"]
        if blocked is None or blocked < limit:
            return Verdict(subject=subject, holds=False)
        return Verdict(
            subject=subject,
            holds=True,
            confidence=0.7,
            evidence=(
                *self._evidence(mount),
                compared("blocked_ratio", blocked, limit, "ratio", mean_seconds=SECONDS),
            ),
            next_step=_step(mount),
        )

    def _evidence(self, mount: MountFrame) -> tuple[Evidence, ...]:
        over = mount.seconds
        return (
            Evidence(signal="mount", value=_words(mount)),
            compared(
                "await_seconds",
                mount.await_seconds,
                self.limit["await_seconds"],
                "seconds",
                mean_seconds=over,
            ),
            Evidence(
                signal="queue_await_seconds",
                value=mount.queue_await_seconds,
                unit="seconds",
                mean_seconds=over,
            ),
            Evidence(
                signal="operations_per_second",
                value=mount.operations_per_second,
                unit="per_second",
                mean_seconds=over,
            ),
            compared(
                "retransmission_ratio",
                mount.retransmission_ratio,
                self.limit["retransmission_ratio"],
                "ratio",
                mean_seconds=over,
            ),
        )


def mounts_of(job: JobFrame, frame: Frame) -> list[MountFrame] | str:
    """The NFS mounts that the job's data lies on, as far as is seen; a text: why that is not known."""
    ranks = {rank.pid for rank in job.ranks}
    blocked = {
        on.mount_point
        for process in frame.processes
        if process.job_id == job.id and (on := process.blocked_on) is not None
    }
    fresh = [
        each
        for each in frame.mounts
        if frame.monotonic_seconds - each.monotonic_seconds <= _FRESH_SECONDS
    ]
    used = [
        each
        for each in fresh
        if ranks.intersection(each.users or ()) or each.mount_point in blocked
    ]
    if used:
        return used
    source = frame.source("mounts")
    if source is not None and source.status in ("denied", "failed", "stale"):
        return source.reason or source.status
    hidden = [each for each in fresh if each.users is None and each.pid in ranks]
    return hidden[0].missing.get("users", "not read") if hidden else []


def _in_flight(mount: MountFrame) -> float:
    """How many requests were on their way at a time, by Little's law."""
    return (mount.operations_per_second or 0.0) * (mount.await_seconds or 0.0)


def _blocked(job: JobFrame, scene: Scene) -> float | None:
    """Share of the time in state D of its loader workers, or of ranks that have none."""
    readers: list[int] = []
    for rank in job.ranks:
        workers = loader_workers(rank, scene.frame)
        readers += [worker.pid for worker in workers] or [rank.pid]
    return _median([scene.history.process(pid, "blocked").mean(SECONDS) for pid in readers])


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _words(mount: MountFrame) -> str:
    return f"{mount.mount_point} ({mount.file_system}, {mount.device})"


def _step(mount: MountFrame) -> str:
    """By where its requests spend their time."""
    queue, whole = mount.queue_await_seconds or 0.0, mount.await_seconds or 0.0
    if whole and queue >= _QUEUE_RATIO * whole:
        return (
            f"Requests to {mount.mount_point} wait on this node to be sent: mount it with nconnect, "
            "or copy the data to a local disk."
        )
    return (
        f"Copy the data from {mount.mount_point} to a local disk, or find who loads that server: "
        f"nfsiostat 1 {mount.mount_point}."
    )
