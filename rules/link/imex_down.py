from __future__ import annotations

from collections.abc import Iterable

from ...probes.model.frame import Frame
from ...probes.model.link_readings import ImexReading
from ..finding import Evidence, Severity, Subject, Verdict
from ..price_reasons import NO_LOSS_YET
from ..rule import Rule, Scene, is_multi_node

_ALONE = 1
_OLD_SECONDS = 120.0
_RECOVER = "recover imex domain"


class ImexDown(Rule):
    """IMEX is down.

    Meaning:
        This node belongs to a domain of nodes that NVLink joins (its list of nodes names several), and the
        service that lets GPUs reach memory of other nodes, nvidia-imex, does not run here, or has no
        channel device for jobs.
    Impact:
        NCCL cannot use NVLink between nodes: jobs over several of them fail when they start, or take the
        network. A daemon that ends makes the driver end the jobs that use its memory.
    Diagnosis:
        systemctl status nvidia-imex, nvidia-imex-ctl -N for the state of the whole domain, its log
        /var/log/nvidia-imex.log. The list is /etc/nvidia-imex/nodes_config.cfg, the channels are
        /dev/nvidia-caps-imex-channels.
    Mitigation:
        Start nvidia-imex with the same list and version on all nodes of the domain. Channels are made by
        nvidia-modprobe -c 0, or by the driver with NVreg_CreateImexChannel0=1. Where the service is not
        wanted, empty the list.
    """

    id = "LNK518"
    name = "IMEX is down"
    severity = "warning"
    severities = ("info", "warning", "error")
    unpriced = NO_LOSS_YET
    hold_seconds = 45.0
    look_seconds = 5.0
    explains = ("HW217",)
    next_step = "Start nvidia-imex on all nodes of the domain: systemctl status nvidia-imex says why it ended."

    def judge(self, scene: Scene) -> Iterable[Verdict]:
        frame = scene.frame
        subject = Subject(kind="host", id=frame.node)
        imex = frame.imex
        if imex is None:  # a node without it has no list of nodes
            yield Verdict(subject=subject, holds=None, unknown_because="IMEX is not set up here")
        elif frame.monotonic_seconds - imex.monotonic_seconds > _OLD_SECONDS:
            yield Verdict(subject=subject, holds=None, unknown_because="last read long ago")
        elif imex.domain_nodes is None or imex.domain_nodes <= _ALONE:
            yield Verdict(subject=subject, holds=False)
        elif imex.daemon_runs is None:
            why = imex.missing.get("daemon_runs", "")
            yield Verdict(subject=subject, holds=None, unknown_because=why, unavailable=why)
        elif not imex.daemon_runs:
            yield _down(subject, imex, frame)
        else:
            yield (
                _no_channel(subject, imex)
                if not imex.channels
                else Verdict(subject=subject, holds=False)
            )


def _down(subject: Subject, imex: ImexReading, frame: Frame) -> Verdict:
    asked = [gpu.index for gpu in frame.gpus if gpu.recovery_action == _RECOVER]
    jobs = [job.name for job in frame.running if is_multi_node(job)]
    severity: Severity = "error" if asked else "warning"  # the driver is the second witness
    return Verdict(
        subject=subject,
        holds=True,
        severity=severity,
        evidence=(
            Evidence(signal="imex_daemon", label="nvidia-imex", value="does not run"),
            Evidence(
                signal="imex_nodes",
                label="nodes of the domain",
                value=float(imex.domain_nodes or 0),
                unit="count",
            ),
            *((Evidence(signal="recovery_action", value=_RECOVER),) if asked else ()),
            *(
                (Evidence(signal="jobs_on_several_nodes", value=", ".join(jobs[:3])),)
                if jobs
                else ()
            ),
        ),
    )


def _no_channel(subject: Subject, imex: ImexReading) -> Verdict:
    # Where a cluster gives each container its own, the node itself may have none.
    return Verdict(
        subject=subject,
        holds=True,
        severity="info",
        name="no IMEX channel",
        evidence=(
            Evidence(signal="imex_channels", label="channel devices", value=0.0, unit="count"),
            Evidence(
                signal="imex_nodes",
                label="nodes of the domain",
                value=float(imex.domain_nodes or 0),
                unit="count",
            ),
        ),
        next_step="Make one with nvidia-modprobe -c 0, unless containers get their own.",
    )
