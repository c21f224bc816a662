from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ..finding import Evidence, compared
from ..host._wait_channels import wait_of
from ..rule import Scene, Threshold
from ._input_rule import InputRule
from ._input_wait import SHARE, InputWait, mean_of_workers

_NETWORK = "network file system"


class LoaderIoBound(InputRule):
    """Loader waits for storage.

    Meaning:
        The job waits for data while its loader workers wait for a disk or a file system (state D) for
        much of the time and use little CPU: reading is what is slow.
    Impact:
        Batches come at the pace of the storage. On a network file system other nodes that read the
        same server make it slower still, and the whole job has the pace of its slowest rank.
    Diagnosis:
        The kernel function that workers sleep in tells a network file system from a disk. nfsiostat or
        iostat -x 1 shows the time that a request takes; many small files cost a round trip each.
    Mitigation:
        Copy the data to a local disk, read large files in sequence instead of many small ones, raise
        prefetch_factor and num_workers to have more requests in flight, mount with nconnect.
    """

    id = "INP704"
    name = "loader waits for storage"
    short = "slow storage"
    thresholds = {
        "data_wait_ratio": SHARE,
        "worker_blocked_ratio": Threshold(0.20, "ratio", "datapath-doctor: 20 % in io-wait"),
    }
    next_step = "Look at the storage that its data is read from: nfsiostat or iostat -x 1."

    def reason(self, found: InputWait, scene: Scene) -> Iterable[Evidence] | None:
        blocked = mean_of_workers(found, "blocked", scene)
        limit = self.limit["worker_blocked_ratio"]
        if blocked is None or blocked < limit:
            return None
        return (
            compared("worker_blocked_ratio", blocked, limit, "ratio", mean_seconds=found.seconds),
            *(
                Evidence(signal=signal, value=value, origin="inferred")
                for signal, value in (
                    ("waits_for", self._waits_for(found)),
                    ("mount", self._mount(found)),
                )
                if value
            ),
        )

    def step_for(self, found: InputWait, scene: Scene) -> str | None:
        mount = self._mount(found)
        if mount:
            return (
                f"Its workers wait for {mount}: copy the data to a local disk, or mend that mount."
            )
        if self._waits_for(found) == _NETWORK:
            return (
                "Its workers wait for a network file system: nfsiostat 1 shows which mount is slow."
            )
        return None

    def _waits_for(self, found: InputWait) -> str:
        """What most of those that wait now wait for."""
        kinds = Counter(wait_of(each.wait_channel) for each in found.workers if each.state == "D")
        del kinds["unknown"]
        return kinds.most_common(1)[0][0] if kinds else ""

    def _mount(self, found: InputWait) -> str:
        mounts = Counter(
            f"{on.mount_point} ({', '.join(filter(None, (on.file_system, on.device)))})"
            for each in found.workers
            if (on := each.blocked_on) is not None and on.mount_point
        )
        return mounts.most_common(1)[0][0] if mounts else ""
