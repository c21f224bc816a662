from __future__ import annotations

from ...probes.model.host_frames import HostFrame
from ..finding import Evidence, Subject, Verdict
from ..rule import HostRule, Scene

_A_SERVER = 2


class PersistenceModeOff(HostRule):
    """Persistence mode is off.

    Meaning:
        The driver gives a GPU up when its last process ends, and sets it up anew for the next one.
    Impact:
        Each start of a job takes seconds longer, application clocks and ECC counters of the time before
        are lost. A running job is not slower.
    Diagnosis:
        nvidia-smi -q -d PERFORMANCE | grep Persistence, systemctl status nvidia-persistenced.
    Mitigation:
        Start nvidia-persistenced at boot, or run nvidia-smi -pm 1, which lasts until the next boot.
    """

    id = "ENV603"
    name = "persistence mode is off"
    short = "persistence"
    severity = "info"
    unpriced = "only the start of a job takes longer"
    hold_seconds = 10.0
    look_seconds = 10.0
    next_step = "Start nvidia-persistenced at boot, or run nvidia-smi -pm 1."

    def judge_host(self, host: HostFrame, subject: Subject, scene: Scene) -> Verdict:
        if len(scene.frame.gpus) < _A_SERVER:  # a desktop's display keeps the driver
            return Verdict(subject=subject, holds=False)
        off = [gpu.index for gpu in scene.frame.gpus if gpu.persistence_mode is False]
        return Verdict(
            subject=subject,
            holds=bool(off),
            evidence=(Evidence(signal="gpus", value=", ".join(map(str, off))),) if off else (),
        )
