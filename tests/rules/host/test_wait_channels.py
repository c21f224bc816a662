"""What a wait channel of the kernel says that a process waits for."""

from __future__ import annotations

import pytest

from gputop.rules.host._wait_channels import wait_of


@pytest.mark.parametrize(
    ("wait_channel", "wait"),
    [
        ("nfs4_wait_clnt_recover", "network file system"),
        ("__fuse_request_send", "network file system"),
        ("nvidia_ioctl", "NVIDIA driver"),
        ("uvm_va_block_wait", "NVIDIA driver"),
        ("folio_wait_bit_common", "disk"),
        ("mlx5_cmd_exec", "RDMA"),
        ("ep_poll", "unknown"),
        (None, "unknown"),
    ],
)
def test_what_a_wait_channel_says(wait_channel: str | None, wait: str) -> None:
    assert wait_of(wait_channel) == wait
