"""What becomes of each text field of a sample when it is redacted. A field that is not here is dropped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from ..inprocess.layout import PHASES

How = Literal[
    "keep",
    "host",
    "user",
    "name",
    "part",
    "group",
    "program",
    "path",
    "file",
    "place",
    "phase",
    "thread",
    "sentence",
    "drop",
    "command",
    "environment",
    "reasons",
    "by phase",
]
"""``name``: replaced, the same for the same. ``part``: as a part of a path is, for it is one elsewhere. ``sentence``: of ours, in which anything may stand: left out."""

KNOWN_PARTS = frozenset({"", "dev", "shm", "proc", "sys", "tmp", ".", ".."})
"""Parts of paths that tell nothing of anybody, and that rules look for."""
KNOWN_THREADS = re.compile(
    r"(MainThread|Thread-\d+|python[\d.]*|pt_\w+|cuda[\w-]*|nccl\w*|NCCL\w*|ProcessGroup\w*)$"
)
KNOWN_GROUP_WORDS = frozenset(
    [
        "default",
        "mesh",
        "group",
        "parallel",
        "model",
        "data",
        "tensor",
        "pipeline",
        "pipe",
        "context",
        "expert",
        "sequence",
        "embedding",
        "world",
        "shard",
        "replicate",
        "fsdp",
        "ddp",
        "hsdp",
        "dp",
        "tp",
        "pp",
        "cp",
        "ep",
        "sp",
        "mp",
        "gloo",
        "nccl",
        "undefined",
        "pg",
    ]
)
"""Of process groups: what frameworks call them."""
KNOWN_PHASES = frozenset({*PHASES, ""})


def _rows(record: str, **fields: How) -> Iterator[tuple[tuple[str, str], How]]:
    for field, how in fields.items():
        yield (record, field), how


def _kept(record: str, names: str) -> Iterator[tuple[tuple[str, str], How]]:
    for name in names.split():
        yield (record, name), "keep"


_TABLE: tuple[Iterable[tuple[tuple[str, str], How]], ...] = (
    _rows("Sample", node="host", boot_id="name"),
    _kept("DriverReading", "driver_version nvml_version cuda_version"),
    _rows("GpuReading", serial="drop"),
    _kept("GpuReading", "uuid name pci_bus_id architecture compute_capability failed_calls"),
    _kept("GpuReading", "throttle_reasons fabric_state fabric_health recovery_action compute_mode"),
    _kept("NvlinkReading", "remote_pci_bus_id"),
    _kept("MigReading", "uuid name"),
    _rows("XidReading", text="drop"),
    _kept("XidReading", "gpu_uuid pci_bus_id"),
    _rows("ProcessReading", user="user", name="program", command="command", cgroup="path"),
    _rows("ProcessReading", container_id="name", pod_uid="name", working_directory="path"),
    _rows("ProcessReading", environment="environment", ray_job="name"),
    _kept("ProcessReading", "state wait_channel container_kind"),
    _rows("BlockedFile", path="path", mount_point="path", device="path"),
    _kept("BlockedFile", "call file_system"),
    _rows("CgroupReading", path="path"),
    _rows("PressureReading", path="path"),
    _kept("DiskReading", "name"),
    _kept("NetworkReading", "name"),
    _rows("CpuUser", name="program"),
    _rows("ProbeReading", phase="phase", phase_seconds="by phase", job_name="part"),
    _rows("ProbeReading", steps_off="sentence", error="sentence", socket="path"),
    _rows("ProbeReading", instruments="reasons"),
    _kept("ProbeReading", "device_uuid precision python_version torch_version cuda_version"),
    _kept("ProbeReading", "nccl_version"),
    _rows("StepReading", phases="by phase", gpu_phases="by phase"),
    _rows("SegmentReading", phase="phase"),
    _rows("ThreadPhaseReading", name="thread", phase="phase"),
    _rows("CollectiveReading", group="group"),
    _kept("CollectiveReading", "operation"),
    _rows("ThreadReading", name="thread"),
    _kept("ThreadReading", "state wait_channel"),
    _rows("StackFrameReading", file="file"),
    _kept("StackFrameReading", "name"),
    _rows("StackThreadReading", name="thread", place="place"),
    _rows("StackReading", refusal="sentence", failure="sentence", phase_samples="by phase"),
    _kept("StackReading", "state_after"),
    _rows("FileLoop", text="sentence", path="path"),
    _rows("BusyLoop", text="sentence"),
    _rows("MountReading", mount_point="path", device="path"),
    _kept("MountReading", "file_system"),
    _kept("FileLoop", "until"),
    _rows("ExitReading", killed_by="sentence"),
    _kept("PortReading", "device driver model board firmware pci_bus_id interface state"),
    _kept("PortReading", "physical_state speed counters"),
    _kept("PciPlace", "bus_id names path cpus"),
    _kept("NumaNode", "cpus"),
    _kept("TopologyReading", "acs_redirects"),
    _kept("GpuPathsReading", "paths peers"),
    _kept("PlacementReading", "cpus"),
    _kept("CommunicatorReading", "id"),
    _rows("CommunicatorRankReading", host="host"),
    _rows("KernelLogReading", text="drop", subject="name", command_name="program"),
    _rows("KernelLogReading", cgroup="path", limited_cgroup="path"),
    _kept("KernelLogReading", "pci_bus_id"),
    _rows("ThingReading", name="path"),
    _kept("ThingReading", "call"),
    _rows("HolderReading", name="program", command="drop"),
    _kept("HolderReading", "state wait_channel"),
    _rows("SourceStatus", reason="sentence"),
    _kept("SourceStatus", "name"),
)

FIELDS: Mapping[tuple[str, str], How] = {key: how for rows in _TABLE for key, how in rows}
"""By the record's name and the field's."""
