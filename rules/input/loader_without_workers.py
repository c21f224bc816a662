from __future__ import annotations

from collections.abc import Iterable

from ..finding import Evidence
from ..rule import Scene
from ._input_rule import InputRule
from ._input_wait import InputWait


class LoaderWithoutWorkers(InputRule):
    """Loader without workers.

    Meaning:
        The job waits for data, and its DataLoader has num_workers=0: the main process reads, decodes
        and collates each batch itself, between two steps.
    Impact:
        Nothing of it overlaps with the GPU's work, so all of it is added to each step. It is the
        default of DataLoader, and does harm wherever a batch takes more than some milliseconds.
    Diagnosis:
        gputop stacks PID shows _SingleProcessDataLoaderIter with the data set's __getitem__ below it.
    Mitigation:
        Pass num_workers (begin with cores per GPU less one), persistent_workers=True and
        pin_memory=True. Data that is in memory already needs no workers, and does not wait.
    """

    id = "INP702"
    name = "loader without workers"
    short = "no workers"
    next_step = (
        "Pass num_workers to the DataLoader, so that batches are made while the GPU computes."
    )

    def reason(self, found: InputWait, scene: Scene) -> Iterable[Evidence] | None:
        if found.num_workers != 0:
            return None
        return (Evidence(signal="num_workers", value=0.0, unit="count"),)
