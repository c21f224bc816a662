from __future__ import annotations

from ...probes.model.host_frames import HostFrame
from ..finding import Evidence, Subject, Verdict, compared
from ..price_reasons import NOT_KNOWN_HOW_MUCH
from ..rule import HostRule, Scene, Threshold


class SwappingIn(HostRule):
    """Swapping in.

    Meaning:
        The node reads memory pages back from swap: more memory is in use than it has.
    Impact:
        Whatever touches such a page waits for the disk, a thousand times longer than for memory.
        Steps become slow and uneven, and the kernel may soon end a process for lack of memory.
    Diagnosis:
        See which processes hold the memory (RSS on the processes' screen): DataLoader workers
        times their prefetched batches, copies of the data set in each worker, pinned buffers,
        other jobs. Pages swapped out long ago do no harm as long as nobody reads them.
    Mitigation:
        Fewer workers or a smaller prefetch_factor, data in shared or memory-mapped arrays, other
        jobs off the node. On GPU nodes swap is best switched off (swapoff -a, once there is room
        for it).
    """

    id = "HST109"
    name = "swapping in"
    severity = "warning"
    unpriced = NOT_KNOWN_HOW_MUCH
    needs = ("swap_in_bytes_per_second",)
    thresholds = {
        "swap_in_bytes_per_second": Threshold(1e6, "bytes_per_second", "gpuprof"),
    }
    hold_seconds = 5.0
    explains = ("HST107", "HW210", "HW211", "INP701", "INP704", "RUN436", "RUN441", "RUN443")
    next_step = "Free host memory: see which processes hold it, and lower workers or prefetching."

    def judge_host(self, host: HostFrame, subject: Subject, scene: Scene) -> Verdict:
        rate = host.swap_in_bytes_per_second
        limit = self.limit["swap_in_bytes_per_second"]
        if rate is None or rate <= limit:
            return Verdict(subject=subject, holds=False)
        available = host.memory_available_bytes
        return Verdict(
            subject=subject,
            holds=True,
            evidence=(
                compared("swap_in_bytes_per_second", rate, limit, "bytes_per_second"),
                Evidence(
                    signal="memory_available_bytes",
                    value=None if available is None else float(available),
                    unit="bytes",
                ),
                Evidence(
                    signal="pressure_memory_ratio", value=host.pressure_memory_ratio, unit="ratio"
                ),
            ),
        )
