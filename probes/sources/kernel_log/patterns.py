"""How the lines of interest read, as the kernel, the NVIDIA driver and mlx5 write them.

Taken from their sources: ``nv-kernel`` and ``nvswitch`` (open-gpu-kernel-modules), ``drivers/pci/pcie/aer.c``
and ``dpc.c``, ``mlx5/core`` (``health.c``, ``events.c``), ``mm/oom_kill.c``, ``kernel/hung_task.c``,
``net/sunrpc/clnt.c``, ``fs/ext4/super.c``, ``fs/xfs``, ``block/blk-core.c``, and ``arch/x86`` for heat.
They are compiled for the first line that may matter, not at the start.
"""

from __future__ import annotations

_PCI = r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?"
_OF_CARD = rf"[\w-]{{1,32}} (?P<bus>{_PCI}):"
_SERVER = r"(?P<server>[\w.:\[\]%\\/-]{1,255})"
_OF_MLX5 = (
    rf"mlx5_\w{{1,16}} (?P<bus>{_PCI})(?:: | (?P<name>[\w.-]{{1,32}}): )"
    r"(?:\w{1,48}:\d{1,6}:(?:\(pid \d{1,10}\):)? ?)?"
)
"""The function and line that some of its messages begin with included."""

XID = (
    rf"NVRM: Xid \((?:PCI:)?(?P<bus>{_PCI})[^)]{{0,32}}\): (?P<code>\d{{1,6}})(?!\d)"
    r"(?:, pid='?(?P<pid>\d{1,10}|<unknown>|unknown)'?)?(?:, name='?(?P<name>[^,']{1,32})'?(?=,))?"
)
SXID = (
    rf"(?P<name>nvidia-nvswitch\d{{1,3}}): SXid \(PCI:(?P<bus>{_PCI})\): (?P<code>\d{{1,6}})(?!\d), "
    r"(?:Always )?(?P<level>Non-?[Ff]atal|[Ff]atal)"
)
GPU_FAULT = (
    rf"NVRM: (?:The NVIDIA )?GPU (?:at )?(?:PCI:)?(?P<bus>{_PCI})[: ].{{0,200}}?"
    r"(?:fallen off the bus|RmInitAdapter failed)"
)
BUS = (
    rf"{_OF_CARD} (?:AER: )?(?:\[\w+\] )?PCIe Bus Error: severity="
    r"(?P<level>Correct(?:ed|able)|Uncorrect(?:ed|able) \((?:Non-)?Fatal\))"
)
UNCORRECTED = (
    rf"{_OF_CARD} AER: (?:Multiple )?"
    r"(?P<level>Uncorrect(?:ed|able) \((?:Non-)?Fatal\)) error (?:message )?received:? ?"
    rf"(?:from )?(?P<source>{_PCI})?"
)
CONTAINED = rf"{_OF_CARD} (?:AER: )?DPC: (?:error )?containment event"
NOT_RECOVERED = rf"{_OF_CARD} AER: device recovery failed"

ADAPTER_FATAL = (
    rf"{_OF_MLX5}(?:Fatal error \d|device's health compromised|Health issue observed, "
    r".{0,80}severity\([0-3]\)|synd 0x[1-9a-f]|.{0,40}health recovery failed"
    r"|.{0,16}enter_error_state|handling bad device|.{0,80}Will cause a leak of a command resource"
    r"|TX timeout detected)"
)
MODULE = (
    rf"{_OF_MLX5}(?:Port module event(?:\[error\])?: module \d{{1,4}}, Cable error"
    r"|High temperature)"
)
PORT_DOWN = rf"{_OF_MLX5}(?:Port: \d{{1,4}} )?Link (?:down|DOWN)"

OOM = (
    r"oom-kill:constraint=\w{1,32},.{0,1024}?(?:global_oom|oom_memcg=(?P<limited>.{1,1024}?)),"
    r"task_memcg=(?P<task>.{1,1024}?),task=.{0,32}?,pid=(?P<pid>\d{1,10}),uid=\d+$"
)
KILLED = (
    r"(?:Out of memory(?: \([^)]{1,64}\))?: |(?P<limited>Memory cgroup out of memory: ))?"
    r"Killed process (?P<pid>\d{1,10}) \((?P<name>.{1,32}?)\)(?:, UID \d+)?(?:,? total-vm:\d+kB)?"
    r"(?:, anon-rss:(?P<anon>\d{1,16})kB)?"
)
HUNG = (
    r"INFO: task (?P<name>.{1,32}?):(?P<pid>\d{1,10}) (?:\(.{1,64}\) )?blocked (?:in I/O wait )?"
    r"for more than \d+ seconds"
)
LOCKUP = (
    r"(?:(?:NMI )?watchdog: )?(?:CPU\d{1,5}: )?(?:BUG: soft lockup - CPU#\d{1,5} stuck for \d+s! "
    r"\[(?P<name>.{1,32}?):(?P<pid>\d{1,10})\]|Watchdog detected hard LOCKUP on cpu)"
)
NFS = rf"nfs: server {_SERVER} (?:not responding|(?P<ok>OK))"
CIFS = rf"CIFS: (?:VFS: )?{_SERVER} (?:has not responded in|(?P<ok>reconnected))"
FILE_SYSTEM = (
    r"(?:EXT4-fs|XFS|BTRFS)(?: error| critical| warning)? \((?:device )?(?P<name>[\w-]{1,64})\):? "
    r"(?i:.{0,200}?(?:I/O error|remounting filesystem read-only|shutting down|been shut down"
    r"|corruption|forced readonly|errs: ))"
)
EXT4_ERROR = r"EXT4-fs error \(device (?P<name>[\w-]{1,64})\)"
DISK = (
    r"(?:(?:blk_update_request: |print_req_error: )?(?:critical )?"
    r"(?:I/O|medium|target|nexus|space allocation) error, dev (?P<block>[\w-]{1,64}),"
    r"|Buffer I/O error on dev(?:ice)? (?P<buffer>[\w-]{1,64}),"
    r"|nvme (?P<nvme>nvme\d{1,4}): (?:I/O .{0,80}timeout|controller is down"
    r"|Removing after probe failure|Device not ready|Disabling device after reset failure)"
    r"|(?P<ata>ata\d{1,3}\.\d{2}): failed command)"
)
CPU_HEAT = r"(?:mce: )?(?P<cpu>CPU\d{1,5}): (?:Core|Package) temperature above threshold"
SUSPENDED = r"(?:PM: )?[Tt]imekeeping suspended for (\d{1,12}\.\d{1,3}) seconds"
