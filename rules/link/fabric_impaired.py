from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...probes.model.gpu_frames import GpuFrame
from ...probes.model.missing_reasons import NO_FABRIC, NOT_SUPPORTED
from ...probes.model.vocabulary import FABRIC_JOINED, FABRIC_WELL
from ..finding import Evidence, Subject, Verdict
from ..price_reasons import NOT_KNOWN_HOW_MUCH
from ..rule import Rule, Scene, gpu_subject, unavailable_field

_MOST_NAMED = 8
_LOOK_AT_LINKS = "Look for the NVLink or the switch that is down: nvidia-smi nvlink -s, and Xids 74 and 144 to 150."


class FabricImpaired(Rule):
    """NVLink fabric impaired.

    Meaning:
        The GPU belongs to an NVSwitch fabric that it has not joined, or that does not fare well. To join
        it the fabric manager of the node (with NVLink 5: the subnet manager too) must have set it up.
    Impact:
        Until a GPU has joined, CUDA does not start on it (error 802, system not yet initialized). In a
        fabric of degraded bandwidth or limited capacity each collective over NVLink takes longer.
    Diagnosis:
        systemctl status nvidia-fabricmanager and its log /var/log/fabricmanager.log; nvidia-smi -q shows
        state, status and health under Fabric. All GPUs of a node at once: the manager or a switch. One
        alone: its board.
    Mitigation:
        Start the fabric manager, in the version of the driver. Where it has failed for one GPU, drain the
        node and reset it; where the fabric is degraded, look for the NVLink or the switch that is down.
    """

    id = "LNK517"
    name = "NVLink fabric impaired"
    short = "fabric fault"
    severity = "warning"
    severities = ("warning", "error")
    unpriced = NOT_KNOWN_HOW_MUCH
    hold_seconds = 30.0
    look_seconds = 5.0
    explains = ("LNK514",)
    next_step = "Check the fabric manager of this node: systemctl status nvidia-fabricmanager."

    def judge(self, scene: Scene) -> Iterable[Verdict]:
        gpus = [gpu for gpu in scene.frame.gpus if gpu.status == "ok"]
        known = [gpu for gpu in gpus if gpu.fabric_state is not None]
        bad = [gpu for gpu in known if _is_out(gpu) or _is_unwell(gpu)]
        whole_node = len(bad) > 1 and len(bad) == len(known)
        node = Subject(kind="host", id=scene.frame.node)
        yield _impaired(node, bad) if whole_node else Verdict(subject=node, holds=False)
        for gpu in gpus:
            subject = gpu_subject(gpu)
            if gpu.fabric_state is None:
                yield _unknown(gpu, subject)
            elif whole_node or gpu not in bad:  # that of the whole node is reported once
                yield Verdict(subject=subject, holds=False)
            else:
                yield _impaired(subject, [gpu])


def _is_out(gpu: GpuFrame) -> bool:
    return gpu.fabric_state != FABRIC_JOINED


def _is_unwell(gpu: GpuFrame) -> bool:
    return gpu.fabric_health not in (None, FABRIC_WELL)


def _unknown(gpu: GpuFrame, subject: Subject) -> Verdict:
    reason = gpu.missing.get("fabric_state", "not read yet")
    if reason in (NO_FABRIC, NOT_SUPPORTED):  # then there is nothing to look at
        return Verdict(subject=subject, holds=None, unknown_because=reason)
    return unavailable_field(subject, gpu, "fabric_state")


def _impaired(subject: Subject, gpus: Sequence[GpuFrame]) -> Verdict:
    out = any(map(_is_out, gpus))
    states = sorted({gpu.fabric_state or "" for gpu in gpus})
    healths = sorted({gpu.fabric_health for gpu in gpus if gpu.fabric_health})
    failed = any(state.startswith("failed") for state in states)
    return Verdict(
        subject=subject,
        holds=True,
        severity="error" if failed else "warning",  # the driver's own word
        name="NVLink fabric not joined" if out else None,
        evidence=(
            Evidence(signal="fabric_state", value=", ".join(states)),
            *((Evidence(signal="fabric_health", value=", ".join(healths)),) if healths else ()),
            Evidence(signal="gpus", value=", ".join(str(gpu.index) for gpu in gpus[:_MOST_NAMED])),
        ),
        next_step=None if out else _LOOK_AT_LINKS,
    )
