from __future__ import annotations

from ...probes.model.host_frames import HostFrame
from ..finding import Evidence, Subject, Verdict, compared
from ..price_reasons import NOT_KNOWN_HOW_MUCH
from ..rule import NETWORK, HostRule, Scene, Threshold


class TcpRetransmissions(HostRule):
    """TCP retransmissions.

    Meaning:
        Of the TCP segments that this host sends, more than a stray few are lost on the way and sent
        again. The counters are those of the network namespace that this monitor runs in.
    Impact:
        TCP takes each loss for congestion and slows down: with one segment in a hundred lost, a
        connection carries some hundred megabytes a second at best, and a loss at the end of a
        message costs 200 ms of silence. Collectives over sockets, reads of data over the network
        and checkpoints wait for it.
    Diagnosis:
        See ss -ti for the connections that retransmit, and ip -s link and ethtool -S for drops and
        errors of the interfaces. One peer alone: its link or its host. All of them: this host's
        link, or the switch above it. Losses only while many hosts send to one: incast.
    Mitigation:
        Replace a bad cable or transceiver, set the same MTU on the whole path, enlarge the rings
        (ethtool -G) where the interface drops, and spread or slow what sends to one receiver at
        the same time. Collectives belong on RDMA where there is any.
    """

    id = "LNK513"
    name = "TCP retransmissions"
    short = "TCP resends"
    severity = "warning"
    unpriced = NOT_KNOWN_HOW_MUCH
    needs = ("tcp_sent_segments", "tcp_retransmitted_segments")
    thresholds = {
        "retransmitted_ratio": Threshold(
            0.01,
            "ratio",
            "Mathis 1997: rate of a connection ≤ 1.22 segment / (round trip √loss), which is 178 MB/s "
            "with 1460 bytes and 100 µs",
        ),
        "segments_per_second": Threshold(
            100.0, "per_second", "Performance Co-Pilot, pmieconf network.tcp_retransmit"
        ),
        "window_seconds": Threshold(30.0, "seconds", "ours"),
    }
    hold_seconds = 10.0
    explains = ("HST125", "HW210", "HW211", "RUN430", "RUN436")
    explains_waits_in = frozenset({NETWORK})
    next_step = "See ss -ti for the connections that retransmit, and ethtool -S for drops."

    def judge_host(self, host: HostFrame, subject: Subject, scene: Scene) -> Verdict:
        window = self.limit["window_seconds"]
        series = scene.history.host("tcp_sent_segments")
        sent, seconds = series.grown(window), series.covered(window)
        again = scene.history.host("tcp_retransmitted_segments").grown(window)
        if sent is None or again is None or min(sent, again) < 0:
            why = "TCP counters: need a second reading" if sent is None else "TCP counters: reset"
            return Verdict(subject=subject, holds=None, unknown_because=why)
        rate, share = sent / seconds, again / (sent + again) if again else 0.0
        fewest, limit = self.limit["segments_per_second"], self.limit["retransmitted_ratio"]
        return Verdict(
            subject=subject,
            holds=rate >= fewest and share >= limit,
            evidence=(
                compared("retransmitted_ratio", share, limit, "ratio"),
                compared("segments_per_second", rate, fewest, "per_second"),
                Evidence(signal="busiest_interface", value=_busiest(host)),
            ),
        )


def _busiest(host: HostFrame) -> str | None:
    traffic = {
        network.name: (network.rx_bytes_per_second or 0.0) + (network.tx_bytes_per_second or 0.0)
        for network in host.networks or ()
    }
    return max(traffic, key=traffic.__getitem__) if traffic else None
