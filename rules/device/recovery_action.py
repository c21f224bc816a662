from __future__ import annotations

from ...probes.model.gpu_frames import GpuFrame
from ..finding import Evidence, Severity, Verdict
from ..price_reasons import NO_LOSS_YET
from ..rule import GpuRule, Scene, gpu_subject
from ._before import before_evidence

_NONE = "none"
_STEPS: dict[str, tuple[Severity, str]] = {
    "gpu reset": (
        "error",
        "End all processes on GPU {gpu} and reset it (nvidia-smi -i {gpu} -r, as root).",
    ),
    "node reboot": ("error", "Drain this node and reboot it: only that brings GPU {gpu} back."),
    "drain p2p": (
        "warning",
        (
            "End the processes that use GPU {gpu} together with others (peer to peer), and start no "
            "new ones until it is quiet; then look again."
        ),
    ),
    "drain and reset": (
        "warning",
        (
            "Start no new job on GPU {gpu}, let the present one end, then reset it "
            "(nvidia-smi -i {gpu} -r, as root)."
        ),
    ),
    "recover imex domain": (
        "error",
        (
            "Recover the IMEX domain of this node (restart nvidia-imex on all of its nodes), then start "
            "the job again."
        ),
    ),
    "bus reset": (
        "error",
        (
            "End all processes on GPU {gpu} and reset it over its bus (nvidia-smi -i {gpu} -r, as root; "
            "else a restart of the host)."
        ),
    ),
    "system reboot": ("error", "Drain this node and reboot the whole system."),
}
_UNKNOWN: tuple[Severity, str] = (
    "warning",
    "The driver asks for an action that this program does not know: nvidia-smi -i {gpu} -q shows it.",
)


class RecoveryAction(GpuRule):
    """Recovery action requested.

    Meaning:
        The driver asks for something to be done about this GPU: a reset, a drain, a reboot. It asks
        after a fault that it cannot put right while the GPU is in use, and until it is done.
    Impact:
        By the action: with "drain and reset" what runs may finish, but the GPU has lost something
        (a link, a part of its memory); with a reset or a reboot it is not fit for work.
    Diagnosis:
        Look for the Xid that it follows (154 reports the change), for memory errors and for
        nvidia-smi -i GPU -q, which shows it as GPU recovery action.
    Mitigation:
        Do what is asked for: it is the next step of the finding. If it is asked for again after it
        was done, have the board replaced.
    """

    id = "HW217"
    name = "recovery action requested"
    short = "recovery asked"
    severity = "warning"
    unpriced = NO_LOSS_YET
    severities = ("warning", "error")
    hold_seconds = 0.0
    next_step = "Do what the driver asks for: nvidia-smi -q shows it as the GPU recovery action."

    def judge_gpu(self, gpu: GpuFrame, scene: Scene) -> Verdict:
        action = gpu.recovery_action
        if action is None or action == _NONE:
            return Verdict(subject=gpu_subject(gpu), holds=False)
        severity, step = _STEPS.get(action, _UNKNOWN)
        return Verdict(
            subject=gpu_subject(gpu),
            holds=True,
            severity=severity,
            evidence=(
                Evidence(signal="recovery_action", value=action),
                *before_evidence(gpu, "recovery_action"),
            ),
            next_step=step.format(gpu=gpu.index),
        )
