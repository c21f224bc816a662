from __future__ import annotations

from ..rule import Threshold
from ._phase_share import SEEN_SECONDS, PhaseShareRule


class CheckpointCost(PhaseShareRule):
    """Checkpoints take much time.

    Meaning:
        Over the last ten minutes the ranks spent a large share of their time saving: the main loop
        stood still meanwhile. Saving in a background thread is not counted.
    Impact:
        All GPUs of the job wait for that long. What is shown is lost for as long as it saves so often.
    Diagnosis:
        See on the job screen whether one rank writes all of it while the others wait, and on the
        processes screen at which rate it writes.
    Mitigation:
        Save less often, asynchronously (torch.distributed.checkpoint.async_save), sharded over all
        ranks, to a local disk first, or without the optimizer's state.
    """

    id = "RUN431"
    name = "checkpoints take much time"
    short = "saving"
    severities = ("info", "warning")
    thresholds = {
        "info_ratio": Threshold(0.05, "ratio", "ours: a save of 30 s each ten minutes"),
        "warning_ratio": Threshold(0.25, "ratio", "ours; intended and rare it is no fault"),
        "seen_seconds": SEEN_SECONDS,
    }
    next_step = "Save less often, asynchronously, or sharded over all ranks."
    phase = "checkpoint"
    signal = "checkpoint_ratio"
