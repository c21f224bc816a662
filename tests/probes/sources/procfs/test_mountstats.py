"""`mountstats` of kernels of several ages, with and without NFS."""

from __future__ import annotations

import pytest

from gputop.probes.sources.procfs.mountstats import Mount, mount_of, parse_mountstats

TEXT = r"""device proc mounted on /proc with fstype proc
device /dev/nvme0n1p2 mounted on / with fstype ext4
device filer:/export/my\040data mounted on /my\040data with fstype nfs4 statvers=1.1
	opts:	rw,vers=4.2,rsize=1048576,wsize=1048576,proto=tcp,nconnect=8
	age:	3542
	events:	1 2 3 4
	bytes:	100 200 0 0 4096 8192 1 2
	RPC iostats version: 1.1  p/v: 100003/4 (nfs)
	xprt:	tcp 0 0 1 0 24 53 53 0 53 0 2 0 0
	per-op statistics
	        NULL: 1 1 0 44 24 0 0 0 0
	        READ: 10 12 1 2592 11520 50 150 210 0
	       WRITE: 99 99 0 9 9 9000 9000 9000 0
	      LOOKUP: 5 5 0 9 9 1 49 51 0
	      COMMIT: 7 7 0 9 9 9 9000 9009 0

device none mounted on /cache with fstype tmpfs
device old:/vol mounted on /old with fstype nfs statvers=1.0
	bytes:	1 2
	        READ: 3 3 0 9 9 0 30 30
	        GETATTR: broken
"""


def test_requests_that_reading_takes_are_added_up() -> None:
    found = {mount.point: counted for mount, counted in parse_mountstats(TEXT)}
    assert list(found) == ["/proc", "/", "/my data", "/cache", "/old"]
    new, old = found["/my data"], found["/old"]
    assert new is not None and old is not None
    assert (new.operations, new.transmissions, new.timeouts, new.read_bytes) == (15, 17, 1, 4096)
    assert new.queue_seconds == pytest.approx(0.051)
    assert new.round_trip_seconds == pytest.approx(0.199)
    assert (old.operations, old.round_trip_seconds, old.read_bytes) == (3, 0.03, None)
    assert found["/"] is None and found["/cache"] is None


@pytest.mark.parametrize(
    "text", ["", "\n", "\t\n", "device\n", "no device mounted on / with fstype rootfs\n"]
)
def test_what_is_no_mount(text: str) -> None:
    assert parse_mountstats(text) == []


def test_the_innermost_mount_has_the_file() -> None:
    mounts = [
        Mount("/", "disk", "ext4"),
        Mount("/data", "filer:/a", "nfs4"),
        Mount("/data/local", "disk2", "xfs"),
        Mount("/data", "filer:/b", "nfs4"),
    ]
    assert mount_of("/data/x", mounts) == mounts[3]
    assert mount_of("/data/local/x", mounts) == mounts[2]
    assert mount_of("/database/x", mounts) == mounts[0]
    assert mount_of("pipe:[7]", mounts) is None
