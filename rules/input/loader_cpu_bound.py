from __future__ import annotations

from collections.abc import Iterable

from ..finding import Evidence, compared
from ..rule import Scene, Threshold
from ._input_rule import InputRule
from ._input_wait import SHARE, InputWait, mean_of_workers


class LoaderCpuBound(InputRule):
    """Loader bound by CPU.

    Meaning:
        The job waits for data while each of its loader workers keeps a core busy: decoding and
        transforming a batch takes longer than a step, and the storage is not to blame.
    Impact:
        Batches come at the pace of the CPU, whatever the GPU could do. More GPUs on this node would
        only share the same cores.
    Diagnosis:
        py-spy top --pid WORKER, or gputop stacks, shows in which transform the time goes. Compare the
        number of workers with the cores that the job may use: workers that share one are no faster.
    Mitigation:
        More workers while there are cores, cheaper transforms (smaller images, torchvision v2, DALI or
        kornia on the GPU), decode once and keep the result, set OMP_NUM_THREADS=1 in workers.
    """

    id = "INP703"
    name = "loader bound by CPU"
    short = "loader CPU"
    thresholds = {
        "data_wait_ratio": SHARE,
        "worker_cpu_cores": Threshold(0.80, "cores", "gpuprof 80 %; datapath-doctor 90 %"),
    }
    next_step = "Use more workers if there are cores to spare, else make the transforms cheaper."

    def reason(self, found: InputWait, scene: Scene) -> Iterable[Evidence] | None:
        cores = mean_of_workers(found, "cpu_cores", scene)
        limit = self.limit["worker_cpu_cores"]
        if cores is None or cores < limit:
            return None
        return (
            compared("worker_cpu_cores", cores, limit, "cores", mean_seconds=found.seconds),
            Evidence(signal="loader_workers", value=float(len(found.workers)), unit="processes"),
        )
