"""Only allowed variables are read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputop.probes.sources.procfs.environment import (
    MAX_VALUE_CHARS,
    MAX_VARIABLES,
    is_allowed,
    parse_environment,
)


@pytest.mark.parametrize(
    "name",
    [
        "RANK",
        "LOCAL_RANK",
        "WORLD_SIZE",
        "NCCL_DEBUG",
        "CUDA_VISIBLE_DEVICES",
        "OMP_NUM_THREADS",
        "PYTORCH_CUDA_ALLOC_CONF",
        "TORCHELASTIC_RUN_ID",
        "SLURM_JOB_ID",
        "OMPI_COMM_WORLD_RANK",
        "PMI_RANK",
        "PMIX_RANK",
        "MASTER_ADDR",
        "NVIDIA_VISIBLE_DEVICES",
        "MKL_NUM_THREADS",
    ],
)
def test_allowed(name: str) -> None:
    assert is_allowed(name)


@pytest.mark.parametrize(
    "name",
    [
        "HOME",
        "PATH",
        "HF_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "SLURM_JWT_TOKEN",
        "TORCH_API_KEY",
        "",
        "RANKING",
        "MASTER_PASSWORD",
        "NCCL_SECRET",
        "PMIX_SECURITY",
        "SLURM_PASSWORD",
    ],
)
def test_not_allowed(name: str) -> None:
    assert not is_allowed(name)


def test_parse() -> None:
    data = b"RANK=0\0HOME=/x\0RANK=1\0broken\0=x\0NCCL_DEBUG=a=b\0NCCL_X=\xff\0"
    data += b"TORCH_URL=https://u:pw@h/\0"
    assert parse_environment(data) == {
        "RANK": "0",
        "NCCL_DEBUG": "a=b",
        "NCCL_X": "\ufffd",
        "TORCH_URL": "https://***:***@h/",
    }


def test_a_huge_environment_is_bounded() -> None:
    data = b"\0".join(b"NCCL_%d=%s" % (number, b"x" * 9999) for number in range(999))
    found = parse_environment(data)
    assert len(found) == MAX_VARIABLES
    assert all(len(value) <= MAX_VALUE_CHARS for value in found.values())


@given(st.binary(max_size=300))
def test_no_bytes_raise(data: bytes) -> None:
    assert all(map(is_allowed, parse_environment(data)))
    assert all(
        map(is_allowed, parse_environment(data.replace(b"a", b"NCCL_A=").replace(b" ", b"\0")))
    )
