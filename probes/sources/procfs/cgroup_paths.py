"""Where a process's control groups are: out of ``/proc/PID/cgroup`` and the table of mounts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

import msgspec

from .text import unescape

UNIFIED = ""
"""Stands for version 2 where a controller of version 1 would be named."""

_DELETED = " (deleted)"
_SINGLE_PATH_ORDER = ("memory", "cpu", UNIFIED, "cpuacct", "name=systemd")
_CONTAINER = re.compile(
    r"(?:(?:docker|cri-containerd|crio|libpod|nerdctl|containerd|garden)-)?([0-9a-f]{64})(?:\.scope)?"
    r"|.*:(?:cri-containerd|crio|containerd|docker):([0-9a-f]{64})"
    r"|([0-9a-f]{32}-[0-9]{6,12})"
)


class CgroupMount(NamedTuple):
    """A hierarchy as it is mounted here."""

    folder: str
    root: str
    """The group that is seen at ``folder``: in a container often not the root of the hierarchy."""


class CgroupMounts(msgspec.Struct, frozen=True):
    """The hierarchies that are mounted."""

    by_controller: Mapping[str, CgroupMount] = msgspec.field(default_factory=dict[str, CgroupMount])

    def folder_of(self, memberships: Mapping[str, str], controller: str) -> tuple[str, str] | None:
        """Mount folder and the path below it of a process's group for one controller.

        ``None`` where that hierarchy is not mounted, or the group lies outside of what is seen here.
        """
        mount, path = self.by_controller.get(controller), memberships.get(controller)
        if mount is None or path is None:
            return None
        below = _below(mount.root, path)
        return None if below is None else (mount.folder, below)


def parse_memberships(data: bytes) -> dict[str, str]:
    """Controller → path, of ``/proc/PID/cgroup``; version 2 is `UNIFIED`."""
    found: dict[str, str] = {}
    for line in data.decode("utf-8", "replace").split("\n"):
        hierarchy, colon, rest = line.partition(":")
        controllers, second_colon, path = rest.partition(":")
        if not colon or not second_colon or not path.startswith("/"):
            continue
        path = path.removesuffix(_DELETED)
        if hierarchy == "0" and not controllers:
            found[UNIFIED] = path
        else:
            found.update(dict.fromkeys(filter(None, controllers.split(",")), path))
    return found


def single_path(memberships: Mapping[str, str]) -> str | None:
    """The one path that stands for a process: in mixed setups most hierarchies say only ``/``."""
    paths = [memberships[name] for name in _SINGLE_PATH_ORDER if name in memberships]
    return next((path for path in paths if path != "/"), paths[0] if paths else None)


def container_id(memberships: Mapping[str, str]) -> str | None:
    """The full id of the container, as Docker, Podman, containerd, CRI-O and Kubernetes name groups.

    Inside of the container, where the path is often just ``/``, nothing tells; Apptainer makes no
    group of its own.
    """
    for path in dict.fromkeys(memberships.values()):
        for part in reversed(PurePosixPath(path).parts):
            found = _CONTAINER.fullmatch(part)
            if found:
                return found[1] or found[2] or found[3]
    return None


def parse_mounts(mountinfo: bytes) -> CgroupMounts:
    """The mounts of control groups in ``/proc/self/mountinfo``; of several the first."""
    found: dict[str, CgroupMount] = {}
    for line in mountinfo.decode("utf-8", "replace").split("\n"):
        before, dash, after = line.partition(" - ")
        mount, system = before.split(" "), after.split(" ")
        if not dash or len(mount) < 6 or len(system) < 3:
            continue
        place = CgroupMount(folder=unescape(mount[4]), root=unescape(mount[3]))
        if system[0] == "cgroup2":
            found.setdefault(UNIFIED, place)
        elif system[0] == "cgroup":
            for controller in system[2].split(","):
                found.setdefault(controller, place)
    return CgroupMounts(found)


def _below(root: str, path: str) -> str | None:
    """``path`` as seen from a mount that shows ``root``."""
    parts = PurePosixPath(path).parts
    if ".." in parts:
        return None  # outside of this container's namespace of control groups
    # Inside of one, the kernel may write the root of the mount as "/..", for it is outside too.
    shown = () if ".." in PurePosixPath(root).parts else PurePosixPath(root).parts[1:]
    if parts[1 : 1 + len(shown)] != shown:
        return None
    return "/".join(parts[1 + len(shown) :])
