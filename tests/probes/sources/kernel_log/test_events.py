"""Lines of the kernel, of NVIDIA's driver and of mlx5, as they really read, and what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gputop.probes.sources.kernel_log.events import OomGroups, Told, told
from gputop.probes.sources.kernel_log.lines import LogLine, matter, parse

FIXTURE = Path(__file__).parents[3] / "fixtures/kernel_log.txt"


def said(text: str) -> Told | OomGroups | None:
    return told(LogLine(1.0, False, text))


def fields(text: str) -> dict[str, Any]:
    event = said(text)
    assert isinstance(event, Told), text
    return {
        name: value for name, value in event._asdict().items() if value not in (None, "", False)
    }


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "NVRM: Xid (PCI:0000:3B:00): 79, pid=1234, name=python, GPU has fallen off the bus.",
            {"code": 79, "pci_bus_id": "0000:3b:00", "pid": 1234, "command_name": "python"},
        ),
        (
            "NVRM: Xid (PCI:0000:3b:00): 31, pid='<unknown>', name=<unknown>, Ch 00000008, intr 0",
            {"code": 31, "pci_bus_id": "0000:3b:00"},
        ),
        (
            "NVRM: Xid (PCI:0000:07:00 GPU-I:05): 43, pid=2143, name=python, Ch 0000000e",
            {"code": 43, "pci_bus_id": "0000:07:00", "pid": 2143, "command_name": "python"},
        ),
        ("NVRM: Xid (0000:03:00): 62, 0000(0000) 0", {"code": 62, "pci_bus_id": "0000:03:00"}),
    ],
)
def test_xids(line: str, expected: dict[str, Any]) -> None:
    assert fields(line) == {"kind": "xid", **expected}


@pytest.mark.parametrize(
    ("line", "level", "device"),
    [
        ("nvidia 0000:3b:00.0: PCIe Bus Error: severity=Corrected, type=x", "corrected", "3b:00.0"),
        ("nvidia 0000:3b:00.0: PCIe Bus Error: severity=Correctable, x", "corrected", "3b:00.0"),
        (
            "mlx5_core 0000:3b:00.0: AER: PCIe Bus Error: severity=Uncorrected (Non-Fatal), x",
            "nonfatal",
            "3b:00.0",
        ),
        (
            "nvidia 0000:3b:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal), x",
            "fatal",
            "3b:00.0",
        ),
        # Who found it is the port; whose it was is said at the end.
        (
            "pcieport 0000:16:01.0: AER: Uncorrected (Fatal) error received: 0000:3b:00.0",
            "fatal",
            "3b:00.0",
        ),
        (
            "pcieport 0000:16:01.0: AER: Multiple Uncorrectable (Non-Fatal) error message "
            + "received from 0000:3b:00.0",
            "nonfatal",
            "3b:00.0",
        ),
        (
            "pcieport 0000:16:01.0: AER: Uncorrected (Fatal) error received: id=0008",
            "fatal",
            "16:01.0",
        ),
        ("pcieport 0000:16:01.0: DPC: containment event, status:0x1f01", "nonfatal", "16:01.0"),
    ],
)
def test_pcie_errors(line: str, level: str, device: str) -> None:
    found = fields(line)
    assert (found["kind"], found["level"]) == ("pcie error", level)
    assert found["pci_bus_id"] == f"0000:{device}"


def test_oom_kills_of_a_limit_and_of_the_host() -> None:
    limit = "Memory cgroup out of memory: Killed process 12 (python) total-vm:9kB, anon-rss:7kB"
    assert fields(limit) == {
        "kind": "oom kill",
        "pid": 12,
        "command_name": "python",
        "limited": True,
        "anonymous_bytes": 7168,
    }
    assert "limited" not in fields("Out of memory: Killed process 12 (a b) total-vm:9kB")
    groups = said(
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x.scope,mems_allowed=0-1,"
        "oom_memcg=/pods/p,task_memcg=/pods/p/c,task=python,pid=12,uid=0"
    )
    assert groups == OomGroups(12, "/pods/p/c", "/pods/p")
    whole = said(
        "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,"
        "task_memcg=/user.slice,task=python3,pid=77,uid=1000"
    )
    assert whole == OomGroups(77, "/user.slice", None)


def test_every_line_of_the_fixture_is_told_or_known_to_be_of_no_interest() -> None:
    untold = [line.text for line in matter(FIXTURE.read_bytes()) if told(line) is None]
    assert sorted(text.split(": ")[-1].split(" ")[0] for text in untold) == sorted(
        ["24007,", "Link", "28.39.1002", "mounted"]
    )
    kinds = [
        event.kind for line in matter(FIXTURE.read_bytes()) if isinstance(event := told(line), Told)
    ]
    assert len(set(kinds)) == 15, "one of each kind at least"


@pytest.mark.parametrize(
    "line",
    [
        "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 24007, Data {0x0}",
        "NVRM: GPU at PCI:0000:3b:00: GPU-1234",
        "NVRM: Xid (PCI:0000:3b:00): 99999999999999999999, absurd",
        "mlx5_core 0000:12:00.0 ens1f0np0: Link up",
        "mlx5_core 0000:12:00.0: Detected insufficient power on the PCIe slot (27W).",
        "mlx5_core 0000:12:00.0: print_health_info:423:(pid 0): Health issue observed, x, severity(5)",
        "pcieport 0000:16:01.0: AER: Corrected error received: 0000:3b:00.0",
        "oom_reaper: reaped process 12 (python), now anon-rss:0kB",
        "EXT4-fs (vda): mounted filesystem 0-0 r/w without journal.",
        # Names that are given by anybody do not begin a line of the kernel's own.
        "python[12]: segfault NVRM: Xid (PCI:0000:3b:00): 79, forged",
        "INFO: task Out of memory: Killed process 12 (x)",
    ],
)
def test_what_only_looks_like_an_event(line: str) -> None:
    assert said(line) is None


def test_lines_that_programs_have_written_are_not_the_kernels() -> None:
    words = b"NVRM: Xid (PCI:0000:3b:00): 79, forged"
    assert parse(b"12,1,1,-;" + words) is None
    assert parse(b"<12>[    1.0] " + words) is None
    (others,) = matter(b"1763629701.123456 host cron[1]: " + words + b"\n")
    assert told(others) is None


@pytest.mark.parametrize(
    ("line", "seconds", "unix"),
    [
        (b"3,7,12500000,-;nfs: server a OK", 12.5, False),
        (b"3,7,12500000,-,caller=T12;nfs: server a OK", 12.5, False),
        (b"<3>[   12.500000] nfs: server a OK", 12.5, False),
        (b"[   12.500000] nfs: server a OK", 12.5, False),
        (b"[   12.500000][  T123] nfs: server a OK", 12.5, False),
        (b"<3>nfs: server a OK", None, False),
        (b"1763629701.500000 node17 kernel: nfs: server a OK", 1763629701.5, True),
    ],
)
def test_the_three_forms_of_a_log(line: bytes, seconds: float | None, unix: bool) -> None:
    assert parse(line) == LogLine(seconds, unix, "nfs: server a OK")
