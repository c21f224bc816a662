"""The kernel log: which lines matter, whose they are, and that a long or mad one costs little."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputop.probes.model.gpu_readings import XidReading
from gputop.probes.model.kernel_readings import KernelEventReading
from gputop.probes.sources.kernel_log.lines import MOST_CHARS, normal_bus_id, read_line
from gputop.probes.sources.kernel_log.source import KernelLogSource
from gputop.probes.sources.protocol import SourceAbsent, SourceDenied

XID = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off the bus."
KILL = (
    "Memory cgroup out of memory: Killed process 4711 (python) total-vm:1kB, anon-rss:2kB, UID:1000"
)


def log(root: Path, *records: str | bytes) -> Path:
    """A file in place of the device: each read of it gives as many bytes as are asked for."""
    (root / "dev").mkdir(exist_ok=True)
    data = b"".join(
        each if isinstance(each, bytes) else f"4,{number},{number}000000,-;{each}\n".encode()
        for number, each in enumerate(records, 1)
    )
    (root / "dev/kmsg").write_bytes(data)
    return root


def test_an_xid_with_its_gpu_process_and_time(tmp_path: Path) -> None:
    (found,) = KernelLogSource(log(tmp_path, "usb 1-1: new device", XID)).read()
    assert isinstance(found, XidReading)
    assert (found.code, found.pci_bus_id, found.pid) == (79, "0000:3b:00.0", 1234)
    assert (found.origin, found.text) == ("kernel log", "GPU has fallen off the bus.")
    boot = time.time() - time.clock_gettime(time.CLOCK_MONOTONIC)
    assert found.time_seconds == pytest.approx(boot + 2.0, abs=0.5)


@pytest.mark.parametrize(
    ("line", "code", "pid"),
    [
        ("NVRM: Xid (PCI:0000:c1:00): 31, pid='<unknown>', name=<unknown>, Ch 00000008", 31, None),
        ("NVRM: Xid (PCI:0000:c1:00): 154, GPU recovery action changed from 0x0 to 0x1", 154, None),
        (
            "NVRM: Xid (PCI:0002:00:00): 119, pid=99, name=nvidia-smi, Timeout waiting for RPC",
            119,
            99,
        ),
    ],
)
def test_every_form_of_an_xid(line: str, code: int, pid: int | None) -> None:
    found = read_line(line, 5.0)
    assert found is not None and found.xid is not None
    assert (found.xid.code, found.xid.pid) == (code, pid)


@pytest.mark.parametrize(
    ("line", "kind", "grave", "bus"),
    [
        (KILL, "out of memory", True, None),
        (
            "pcieport 0000:3a:01.0: AER: Uncorrected (Fatal) error received: 0000:3b:00.0",
            "AER",
            True,
            "0000:3b:00.0",
        ),
        (
            "pcieport 0000:3a:01.0: AER: Corrected error message received from 0000:3b:00.0",
            "AER",
            False,
            "0000:3b:00.0",
        ),
        ("nfs: server filer not responding, still trying", "network file system", False, None),
        ("blk_update_request: I/O error, dev nvme0n1, sector 88", "storage", False, None),
        ("INFO: task python:812 blocked for more than 120 seconds.", "stuck task", False, None),
        (
            "mlx5_core 0000:5e:00.0: mlx5_health_check: Fatal error detected",
            "RDMA",
            True,
            "0000:5e:00.0",
        ),
    ],
)
def test_what_else_matters(line: str, kind: str, grave: bool, bus: str | None) -> None:
    found = read_line(line, 5.0)
    assert found is not None and found.event is not None
    event = found.event
    assert (event.kind, event.grave, event.pci_bus_id) == (kind, grave, bus)


@pytest.mark.parametrize(
    "line",
    [
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  570.1",
        "mlx5_core 0000:5e:00.0: Rate limit: 127 rates are supported",
        "EXT4-fs (sda1): mounted filesystem",
        "oom_reaper: reaped process 4711 (python)",
    ],
)
def test_what_does_not(line: str) -> None:
    assert read_line(line, 5.0) is None


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("00000000:3B:00.0", "0000:3b:00.0"),
        ("0000:3b:00", "0000:3b:00.0"),
        ("0002:c1:00.1", "0002:c1:00.1"),
    ],
)
def test_names_of_one_device(text: str, normal: str) -> None:
    assert normal_bus_id(text) == normal


def test_a_secret_in_a_line_is_masked_and_a_long_line_cut() -> None:
    found = read_line(f"nfs: server x not responding --password hunter2hunter2 {'y' * 999}", 1.0)
    assert found is not None and found.event is not None
    assert "hunter2hunter2" not in found.event.text
    assert len(found.event.text) == MOST_CHARS


def test_a_hundred_megabytes_cost_little_at_a_time(tmp_path: Path) -> None:
    noise = (
        b"6,1,1000000,-;usb 1-1: new high-speed USB device number 2 using xhci_hcd\n" * 1_400_000
    )
    source = KernelLogSource(log(tmp_path, XID, noise))
    began = time.thread_time()
    assert len(source.read()) == 1
    assert time.thread_time() - began < 5 * 0.3
    source.close()


@pytest.mark.parametrize("seed", range(20))
def test_garbage_is_nothing(tmp_path: Path, seed: int) -> None:
    numbers = random.Random(seed)
    parts = [XID, KILL, "AER: ", "4,1,99999999999999999999999,-;", "\0" * 50, "\n" * 9]
    records: list[str | bytes] = []
    for _ in range(200):
        part = numbers.choice(parts).encode()
        at = numbers.randrange(len(part) + 1)
        records.append(part[:at] + numbers.randbytes(numbers.randrange(40)) + part[at:])
    for found in KernelLogSource(log(tmp_path, *records)).read():
        assert isinstance(found, XidReading | KernelEventReading)


@given(st.text())
def test_any_text_is_read_or_left(text: str) -> None:
    for line in (text, f"NVRM: Xid ({text}): 79", f"AER: {text}", f"mlx5_core {text} fatal"):
        read_line(line, 0.0)


def test_only_so_many_are_kept_the_newest(tmp_path: Path) -> None:
    lines = [XID.replace("79", str(code)) for code in range(1, 300)]
    found = KernelLogSource(log(tmp_path, *lines)).read()
    assert [each.code for each in found if isinstance(each, XidReading)][-1] == 299
    assert len(found) == 64


def test_where_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(SourceAbsent):
        KernelLogSource(tmp_path).read()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to become another user")
def test_where_it_is_not_for_this_user_it_says_what_helps(tmp_path: Path) -> None:
    log(tmp_path, XID)
    (tmp_path / "dev/kmsg").chmod(0o600)
    for folder in (tmp_path, *tmp_path.parents):
        if folder != Path("/") and str(folder).startswith("/tmp"):
            folder.chmod(0o755)
    child = os.fork()
    if not child:
        os.setresuid(65534, 65534, 65534)
        try:
            KernelLogSource(tmp_path).read()
        except SourceDenied as error:
            os._exit(0 if "sudo sysctl kernel.dmesg_restrict=0" in error.reason else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(not os.access("/dev/kmsg", os.R_OK), reason="this user may not read it")
def test_the_real_one() -> None:
    source = KernelLogSource()
    for _ in range(2):
        source.read()
    source.close()
