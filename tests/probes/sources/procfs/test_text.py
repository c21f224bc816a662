"""The parsers of the kernel's texts take anything."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputop.probes.sources.procfs import text as kernel

STAT = b"42 (%s) S 1 42 42 0 -1 4194304 10 0 5 0 100 50 0 0 20 0 4 0 5000 1000000 256 18446744073709551615"


@pytest.mark.parametrize(
    "name",
    [b"python", b"a b", b"a) S 9 (b", b"((", b"))", b"two\nlines", b"\xff\xfe", b"", b") R 1 2 3"],
)
def test_any_name_in_stat(name: bytes) -> None:
    stat = kernel.parse_stat(STAT % name)
    assert stat is not None
    assert stat.name == name.decode("utf-8", "replace")
    assert (stat.state, stat.parent_pid, stat.start_ticks) == ("S", 1, 5000)
    assert (stat.cpu_ticks, stat.major_faults, stat.threads, stat.rss_pages) == (150, 5, 4, 256)


def test_own_stat_agrees_with_the_system() -> None:
    stat = kernel.parse_stat(Path("/proc/self/stat").read_bytes())
    assert stat is not None
    assert stat.parent_pid == os.getppid()
    assert not stat.kernel_thread


def test_kernel_thread() -> None:
    stat = kernel.parse_stat((STAT % b"kworker/0:1").replace(b"4194304", b"2129984"))
    assert stat is not None
    assert stat.kernel_thread


@pytest.mark.parametrize("data", [b"", b"42", b"42 (x", b"42 (x) S 1 2", STAT[:-60] % b"x"])
def test_half_a_stat_is_none(data: bytes) -> None:
    assert kernel.parse_stat(data) is None


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"0", 0),
        (b"17", 17),
        (b"-1", None),
        (b"1_0", None),
        (b" 1", None),
        (b"", None),
        (b"9223372036854775807", 2**63 - 1),
        (b"9223372036854775808", None),
        (b"9" * 400, None),
    ],
)
def test_number(data: bytes, value: int | None) -> None:
    assert kernel.number(data) == value


def test_status() -> None:
    data = (
        b"Name:\tUid:\\n\nUid:\t1000\t0\t0\t0\nNSpid:\t700\t12\nCpus_allowed_list:\t0-2,8\n"
        b"voluntary_ctxt_switches:\t11\nnonvoluntary_ctxt_switches:\t22\n"
    )
    status = kernel.parse_status(data)
    assert status == (1000, (700, 12), frozenset({0, 1, 2, 8}))
    assert kernel.parse_switches(data) == (11, 22)


def test_small_files() -> None:
    assert kernel.parse_io(b"rchar: 1\nread_bytes: 5\nwrite_bytes: 6\n") == (5, 6)
    assert kernel.parse_run_delay(b"1 2500000000 3\n") == 2.5
    assert kernel.parse_wait_channel(b"0") is None
    assert kernel.parse_wait_channel(b"futex_wait\n") == "futex_wait"
    assert kernel.parse_command(b"a\0b c\0\0") == ("a", "b c")
    assert kernel.parse_command(b"title set by the process") == ("title set by the process",)
    assert kernel.parse_command(b"") == ()
    assert kernel.parse_pids(b"12 13 x -4 ") == (12, 13)


@given(st.binary(max_size=300))
def test_no_bytes_make_a_parser_raise(data: bytes) -> None:
    results = (
        kernel.parse_stat(data),
        kernel.parse_stat(STAT % data),
        kernel.parse_status(b"Uid:" + data),
        kernel.parse_status(b"Cpus_allowed_list:" + data),
        kernel.parse_switches(data),
        kernel.parse_io(b"read_bytes:" + data),
        kernel.parse_run_delay(data),
        kernel.parse_wait_channel(data),
        kernel.parse_command(data),
        kernel.parse_pids(data),
    )
    msgspec.msgpack.encode([list(result) if isinstance(result, tuple) else 0 for result in results])
