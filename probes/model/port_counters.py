"""The counters of RDMA ports that tell of trouble: what each driver calls them, and how wide they are.

Names and widths of ``counters`` are those of ``drivers/infiniband/core/sysfs.c``, where they come from
the PortCounters attribute of the InfiniBand specification: they stop at their highest value. Those of
``hw_counters`` are from mlx5's ``counters.c``, bnxt_re's ``hw_counters.c``, efa's ``efa_verbs.c`` and
rxe's ``rxe_hw_counters.c``; mlx5 keeps its queue counters in 32 bits, which go round.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

CounterKind = Literal["signal", "discard", "retransmission", "congestion", "operation"]
"""Bad cable or transceiver; packet thrown away; packet sent again or asked for again; full link;
work that the card or its peer refused."""


class Counter(NamedTuple):
    """One counter."""

    kind: CounterKind
    bits: int = 64


def _all(kind: CounterKind, bits: int, names: str) -> dict[str, Counter]:
    return dict.fromkeys(names.split(), Counter(kind, bits))


PORT_COUNTERS: Mapping[str, Counter] = {
    **_all("signal", 16, "symbol_error port_rcv_errors port_rcv_remote_physical_errors"),
    **_all("signal", 8, "link_error_recovery link_downed"),
    **_all("signal", 4, "local_link_integrity_errors excessive_buffer_overrun_errors"),
    **_all("discard", 16, "port_xmit_discards port_rcv_switch_relay_errors VL15_dropped"),
    **_all("discard", 8, "port_xmit_constraint_errors port_rcv_constraint_errors"),
}
"""In ``counters``. They stop at their highest value until somebody resets them."""

HARDWARE_COUNTERS: Mapping[str, Counter] = {
    # mlx5
    **_all("discard", 32, "out_of_buffer"),
    **_all(
        "retransmission",
        32,
        "out_of_sequence duplicate_request rnr_nak_retry_err packet_seq_err implied_nak_seq_err "
        "local_ack_timeout_err roce_adp_retrans roce_adp_retrans_to roce_slow_restart "
        "roce_slow_restart_trans req_transport_retries_exceeded req_rnr_retries_exceeded",
    ),
    **_all("congestion", 32, "roce_slow_restart_cnps"),
    **_all(
        "congestion", 64, "np_cnp_sent np_ecn_marked_roce_packets rp_cnp_handled rp_cnp_ignored"
    ),
    **_all(
        "operation",
        32,
        "resp_local_length_error resp_cqe_error req_cqe_error req_remote_invalid_request "
        "req_remote_access_errors resp_remote_access_errors",
    ),
    **_all("signal", 64, "rx_icrc_encapsulated"),
    # bnxt_re
    **_all(
        "retransmission",
        64,
        "to_retransmits seq_err_naks_rcvd max_retry_exceeded rnr_naks_rcvd missing_resp dup_req "
        "oos_drop_count",
    ),
    **_all("discard", 64, "rx_roce_discards rx_out_of_buffer"),
    **_all("signal", 64, "rx_roce_errors"),
    **_all("congestion", 64, "rx_ecn_marked_pkts rx_cnp_pkts tx_cnp_pkts"),
    **_all(
        "operation",
        64,
        "unrecoverable_err bad_resp_err local_qp_op_err local_protection_err mem_mgmt_op_err "
        "remote_invalid_req_err remote_access_err remote_op_err res_exceed_max",
    ),
    # efa
    **_all("discard", 64, "rx_drops"),
    **_all(
        "retransmission",
        64,
        "retrans_pkts retrans_timeout_events unresponsive_remote_events "
        "impaired_remote_conn_events",
    ),
    **_all("operation", 64, "rdma_read_wr_err rdma_write_wr_err"),
    # rxe
    **_all(
        "retransmission",
        64,
        "out_of_seq_request rcvd_seq_err completer_retry_err retry_exceeded_err rcvd_rnr_err "
        "send_rnr_err retry_rnr_exceeded_err",
    ),
    **_all("operation", 64, "send_err"),
}
"""In ``hw_counters``. They go round, or are too wide to."""

COUNTERS: Mapping[str, Counter] = {**PORT_COUNTERS, **HARDWARE_COUNTERS}

NOT_PROOF = frozenset({"duplicate_request", "dup_req", "rnr_nak_retry_err", "rnr_naks_rcvd"})
"""Of the retransmissions those that a receiver in good health may cause, by being slow to post."""


def of_kind(counters: Mapping[str, int], *kinds: CounterKind) -> dict[str, int]:
    """Those of ``counters`` that tell of this kind of trouble, and are not 0."""
    return {
        name: count
        for name, count in counters.items()
        if count and name in COUNTERS and COUNTERS[name].kind in kinds
    }
