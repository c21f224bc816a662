from __future__ import annotations

from collections.abc import Iterable

from ..finding import Evidence
from ..rule import Scene
from ._input_rule import InputRule
from ._input_wait import InputWait, mean_of_workers


class InputBound(InputRule):
    """Input-bound.

    Meaning:
        The main loop stands and waits for its next batch for a large share of each step, and the GPU
        runs no kernel meanwhile. Waiting that the GPU's work hides is not counted.
    Impact:
        The share of the time that is shown is lost on every GPU of the job: a faster GPU would wait
        longer. In a synchronous job all ranks wait for whoever gets its batch last.
    Diagnosis:
        gputop shows what the loader workers do (job screen, processes). Busy on a core: the transforms
        are too slow. In state D or without CPU: the storage is. num_workers 0: the main process loads.
        Iterate over the DataLoader alone, without the model, to see how many batches a second it gives.
    Mitigation:
        More workers (num_workers, persistent_workers, prefetch_factor), cheaper transforms or on the
        GPU, larger files read in sequence (WebDataset, MosaicML streaming), a local copy of the data.
    """

    id = "INP701"
    name = "input-bound"
    explains = ("HW210", "RUN436", "RUN441", "RUN443")
    next_step = (
        "See what its loader workers do on the processes screen: busy on a core, or waiting."
    )

    def reason(self, found: InputWait, scene: Scene) -> Iterable[Evidence]:
        workers = float(len(found.workers))
        yield Evidence(signal="loader_workers", value=workers, unit="processes")
        cores = mean_of_workers(found, "cpu_cores", scene)
        if cores is not None:
            yield Evidence(
                signal="worker_cpu_cores", value=cores, unit="cores", mean_seconds=found.seconds
            )
