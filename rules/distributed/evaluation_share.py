from __future__ import annotations

from ..rule import Threshold
from ._phase_share import SEEN_SECONDS, PhaseShareRule


class EvaluationShare(PhaseShareRule):
    """Evaluation takes much time.

    Meaning:
        Over the last ten minutes the ranks spent a large share of their time evaluating instead of
        training. That is often intended, so it is information.
    Impact:
        Training has that much less of the GPUs. Evaluation on one rank alone makes all others wait.
    Diagnosis:
        See on the job screen how often it evaluates, and whether all ranks do.
    Mitigation:
        Evaluate less often or on fewer samples, with all ranks, or as another job on the checkpoints.
    """

    id = "RUN432"
    name = "evaluation takes much time"
    short = "evaluating"
    thresholds = {
        "info_ratio": Threshold(0.20, "ratio", "ours: intended, so told and no more"),
        "seen_seconds": SEEN_SECONDS,
    }
    next_step = "Evaluate less often, on fewer samples, or in a job of its own."
    phase = "eval"
    signal = "evaluation_ratio"
