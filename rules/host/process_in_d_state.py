from __future__ import annotations

from ...probes.model.process_frames import ProcessFrame
from ..finding import Evidence, Verdict
from ..rule import ProcessRule, Scene, Threshold, process_subject
from ._blocked import file_evidence, mount_words
from ._wait_channels import Wait, wait_of

_NEXT_STEPS: dict[Wait, str] = {
    "network file system": "Check the file server and its mount: df -h hangs on a dead one, "
    "so look at /proc/self/mountstats instead.",
    "NVIDIA driver": "It waits inside the NVIDIA driver: read the kernel log for Xid or NVRM lines.",
    "disk": "Check the local disk: iostat -x 1 for its load, dmesg for errors.",
    "RDMA": "Check the RDMA links of this node: ibstat, and dmesg for mlx5 errors.",
    "memory": "The node is short of memory: find what uses it, and see swap and cgroup limits.",
}

_PAST_SECONDS = 600.0


class ProcessInDState(ProcessRule):
    """Process in D state.

    Meaning:
        A process of the job has been in uninterruptible sleep at every look for half a minute: it
        waits inside the kernel for a disk, a file system or a driver, and cannot even be killed.
        One that goes on between short waits, as loaders do on a slow disk, is not pending
        before many looks in a row have found it so. It becomes an error when it has been so for
        minutes without one switch of context.
    Impact:
        A rank in D stands still and stops its whole job at the next collective. A DataLoader
        worker in D delays its batches, and the rank behind it.
    Diagnosis:
        The wait channel names the kernel function: nfs, rpc or fuse mean a network file system, nv
        or uvm the NVIDIA driver, io_schedule or folio_wait a local disk. Switches of context above
        zero mean many short waits (slow but alive), zero means one long one (stuck).
    Mitigation:
        Repair what it waits for; then it goes on by itself. A process stuck in a dead mount ends
        only with umount -f or a restart of the host.
    """

    id = "HST107"
    name = "process in D state"
    short = "in D state"
    severity = "warning"
    unpriced = "what it costs is seen in what waits for it alone"
    severities = ("warning", "error")
    needs = ("state",)
    clear_seconds = 45.0
    """One look that meets a process between two waits does not end it: see ``short_waits_looks``."""
    thresholds = {
        "error_seconds": Threshold(300.0, "seconds", "GCM 300 s; gpud 5 checks of 60 s"),
        "least_switches_per_second": Threshold(0.1, "per_second", "ours; fewer: one long wait"),
        "short_waits_looks": Threshold(
            40.0,
            "count",
            "ours; one that waits two thirds of the time is met so once in ten million times",
        ),
    }
    explains = ("HW210", "HW211", "RUN407", "RUN436")
    job_wide = True
    next_step = "Read its kernel stack (cat /proc/PID/stack, as root) for what it waits for."

    def judge_process(self, process: ProcessFrame, scene: Scene) -> Verdict:
        subject = process_subject(process)
        if process.state != "D":
            return Verdict(subject=subject, holds=False)
        goes_on = self._goes_on(process)
        seen_seconds = self._seen_seconds(process, scene) if goes_on else 0.0
        if seen_seconds is None:
            return Verdict(subject=subject, holds=False)
        wait = wait_of(process.wait_channel)
        return Verdict(
            subject=subject,
            holds=True,
            since_monotonic_seconds=scene.frame.monotonic_seconds - seen_seconds,
            severity="error" if self._stuck(process, scene) else "warning",
            evidence=(
                Evidence(signal="state", value="D"),
                Evidence(signal="wait_channel", value=process.wait_channel),
                Evidence(signal="waits_for", value=wait, origin="inferred"),
                Evidence(
                    signal="voluntary_switches_per_second",
                    value=process.voluntary_switches_per_second,
                    unit="per_second",
                ),
                Evidence(
                    signal="read_bytes_per_second",
                    value=process.read_bytes_per_second,
                    unit="bytes_per_second",
                ),
                Evidence(signal="role", value=process.role),
                *file_evidence(process),
            ),
            next_step=self._step(process, wait),
        )

    def _step(self, process: ProcessFrame, wait: Wait) -> str | None:
        mount = mount_words(process)
        step = _NEXT_STEPS.get(wait)
        return f"It waits for {mount}. {step or self.next_step}" if mount else step

    def _goes_on(self, process: ProcessFrame) -> bool:
        """It wakes up between waits."""
        switches = process.voluntary_switches_per_second
        return switches is not None and switches >= self.limit["least_switches_per_second"]

    def _seen_seconds(self, process: ProcessFrame, scene: Scene) -> float | None:
        """For how long every look has met it in D; ``None`` where that is too short to say anything."""
        wanted = int(self.limit["short_waits_looks"])
        series = scene.history.process(process.pid, "blocked")
        looks = series.window(_PAST_SECONDS)
        if not looks:
            return 0.0  # no past of it is kept
        # Looks are counted, not seconds: fewer of them in the same time prove less.
        newest = looks[-wanted:]
        if len(newest) < wanted or min(newest) < 1.0:
            return None
        return series.covered(_PAST_SECONDS) * (wanted - 1) / (len(looks) - 1)

    def _stuck(self, process: ProcessFrame, scene: Scene) -> bool:
        """Two witnesses: D at every look for so long, and no switch of context now."""
        seconds = self.limit["error_seconds"]
        series = scene.history.process(process.pid, "blocked")
        return (
            process.voluntary_switches_per_second is not None
            and not self._goes_on(process)
            and series.covered(seconds) >= 0.9 * seconds
            and min(series.window(seconds)) >= 1.0
        )
