"""Which container and pod a process runs in: its control group tells, or else what is mounted there.

Within a container the path of the control group is often just ``/``, and Apptainer makes no group of its
own. But runtimes mount files of their own into each container, and those paths name it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from ..procfs.cgroup_paths import container_id

_POD = re.compile(r"pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})\b")
_MOUNTED_POD = re.compile(r"/pods/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32})/")
_MOUNTED_ID = re.compile(r"/(?:containers|overlay-containers|sandboxes)/([0-9a-f]{64})/")
_GROUPS = (
    ("podman", re.compile(r"/libpod[-_]")),
    ("CRI-O", re.compile(r"/crio-|:crio:")),
    ("containerd", re.compile(r"cri-containerd|/nerdctl-|/containerd-|:containerd:")),
    ("docker", re.compile(r"/docker[-/]|:docker:|/ecs/")),
    ("garden", re.compile(r"/garden[-/]")),
)
"""Runtime → what the path of its groups has in it, the more special first."""
_MOUNTS = (
    ("apptainer", re.compile(r"/(?:apptainer|singularity)/mnt/session|/\.singularity\.d(?:/| )")),
    ("enroot", re.compile(r"/enroot/")),
    ("docker", re.compile(r"/docker/(?:overlay2|containers|btrfs|zfs)/")),
    ("podman", re.compile(r"/containers/storage/overlay")),
    ("containerd", re.compile(r"/io\.containerd\.")),
)
"""Runtime → what the mounts within its containers have in them."""
_REMEMBERED = 256
_OWN_FILES = ("/", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/dev/termination-log")
_OWN_PREFIX = "/.singularity.d"


class Container(NamedTuple):
    """What is known of it; all ``None`` where a process runs in none, or nothing tells."""

    kind: str | None = None
    """Its runtime: ``docker``, ``podman``, ``containerd``, ``CRI-O``, ``apptainer``, ``enroot``."""
    id: str | None = None
    pod: str | None = None
    """Uid of its Kubernetes pod."""

    def over(self, other: Container) -> Container:
        """This, with what it lacks taken from the other."""
        return Container(self.kind or other.kind, self.id or other.id, self.pod or other.pod)


def container_of_groups(memberships: Mapping[str, str]) -> Container:
    """What the paths of the control groups tell."""
    return _of_paths(tuple(dict.fromkeys(memberships.values())))


def container_of_mounts(mountinfo: bytes) -> Container:
    """What the mounts of a process tell, out of ``/proc/PID/mountinfo``; takes any bytes."""
    own = "\n".join(
        line
        for line in mountinfo.decode("utf-8", "replace").split("\n")
        if len(fields := line.split(" ", 5)) > 5
        and (fields[4] in _OWN_FILES or fields[4].startswith(_OWN_PREFIX))
    )
    found, pod = _MOUNTED_ID.search(own), _MOUNTED_POD.search(own)
    return Container(
        _first_kind(_MOUNTS, own), found[1] if found else None, pod[1] if pod else None
    )


@lru_cache(maxsize=_REMEMBERED)
def _of_paths(paths: tuple[str, ...]) -> Container:
    """The processes of a job share a few groups."""
    joined = " ".join(paths)
    found = container_id(dict(zip(paths, paths, strict=True)))
    pod = _POD.search(joined)
    kind = _first_kind(_GROUPS, joined) if found else None
    return Container(kind, found, pod[1].replace("_", "-") if pod else None)


def _first_kind(kinds: tuple[tuple[str, re.Pattern[str]], ...], text: str) -> str | None:
    return next((kind for kind, pattern in kinds if pattern.search(text)), None)
