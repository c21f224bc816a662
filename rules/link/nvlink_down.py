from __future__ import annotations

from statistics import median_high

from ...probes.model.gpu_frames import GpuFrame, NvlinkFrame
from ..finding import Evidence, Subject, Verdict, against_peers
from ..price_reasons import NOT_KNOWN_HOW_MUCH
from ..rule import Scene, peers_of
from ._nvlink_rule import NvlinkRule


class NvlinkDown(NvlinkRule):
    """NVLink down.

    Meaning:
        An NVLink of this GPU that was up is down, or the GPU has fewer links up than the others
        of its model in this node. A warning too: links that are up, and may carry nothing.
    Impact:
        Its collectives have less to go by in proportion, and every rank of the job waits for the
        slowest. With all links of a pair down, their traffic takes PCIe, a tenth as fast.
    Diagnosis:
        See nvidia-smi nvlink -s -i GPU for the states, and the kernel log for Xid 74 or 144 to
        150, which name the link. Where the links of many GPUs to one switch are down, look at that
        switch and at the fabric manager's log.
    Mitigation:
        Drain the node, then reset the GPU together with its peers (and its switch, where it has
        one). If the link stays down, the board or the switch has to be replaced.
    """

    id = "LNK503"
    name = "NVLink down"
    severity = "error"
    unpriced = NOT_KNOWN_HOW_MUCH
    severities = ("warning", "error")
    explains = ("HW210", "RUN430", "RUN436")
    next_step = "Look for Xid 74 or 144-150 in the kernel log, then drain and reset the GPU."

    def judge_links(
        self, gpu: GpuFrame, links: tuple[NvlinkFrame, ...], subject: Subject, scene: Scene
    ) -> Verdict:
        dropped = [link for link in links if link.was_active and link.active is False]
        up = sum(link.active is not False for link in links)
        usual = None if up == 0 and _in_pairs(gpu, scene) else _usual(gpu, scene)
        if not dropped and (usual is None or up >= usual):
            return _without_traffic(links, subject)
        return Verdict(
            subject=subject,
            holds=True,
            severity="error" if dropped else "warning",
            evidence=(
                against_peers("nvlinks_up", float(up), usual, "links", label="NVLinks up"),
                Evidence(signal="links_down", value=_named(links)),
            ),
        )


def _without_traffic(links: tuple[NvlinkFrame, ...], subject: Subject) -> Verdict:
    """All are up as far as they should be; whether nothing may go over some of them."""
    closed = [str(link.link) for link in links if link.traffic_disabled]
    return Verdict(
        subject=subject,
        holds=bool(closed),
        name="NVLink without traffic",
        severity="warning",
        evidence=(
            Evidence(
                signal="closed_links", label="links that carry nothing", value=", ".join(closed)
            ),
        ),
        next_step="Read the fabric manager's log for why these links are closed, then reset the GPU.",
    )


def _usual(gpu: GpuFrame, scene: Scene) -> float | None:
    counts = [
        sum(link.active is not False for link in peer.nvlinks)
        for peer in peers_of(gpu, scene.frame)
        if peer.nvlinks
    ]
    return float(median_high(counts)) if len(counts) >= 2 else None


def _in_pairs(gpu: GpuFrame, scene: Scene) -> bool:
    """Whether bridges join its peers two by two: then one without a bridge is built so."""
    ends = [
        {
            link.remote_pci_bus_id
            for link in peer.nvlinks or ()
            if link.active and link.remote == "gpu"
        }
        for peer in peers_of(gpu, scene.frame)
        if any(link.active for link in peer.nvlinks or ())
    ]
    return bool(ends) and all(len(each) == 1 and None not in each for each in ends)


def _named(links: tuple[NvlinkFrame, ...]) -> str:
    """Which, and where they lead to, if that is one place."""
    down = [link for link in links if link.active is False]
    numbers = ", ".join(str(link.link) for link in down)
    ends = {link.remote_pci_bus_id for link in down}
    end = ends.pop() if len(ends) == 1 else None
    return f"{numbers} to {end}" if end else numbers
