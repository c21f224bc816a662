"""What the help says of the facts about the host, group by group."""

from __future__ import annotations

from collections.abc import Mapping

from ..drawing.explanations import Term

HOST_FACT_TERMS: Mapping[str, tuple[Term, ...]] = {
    "Software": (
        Term("driver", "NVIDIA's kernel driver. NVML."),
        Term("NVML", "The library by which it is asked."),
        Term("CUDA of the driver", "The newest CUDA that it can run."),
    ),
    "CPU": (
        Term("busy", "Share of all CPUs that were busy since the last sample. /proc/stat."),
        Term(
            "waits for IO",
            "Share in which a CPU had nothing to run while a task of its own waited for a disk. /proc/stat.",
        ),
        Term("load", "Threads that run, wait for a core or are in state D. /proc/loadavg."),
        Term(
            "full CPUs",
            "How many were busy for 95 % of the last 5 s and more, and the busiest by their numbers: the mean of "
            "all hides one that is full. /proc/stat.",
        ),
        Term(
            "interrupts",
            "The CPU that spends the largest share of the last 5 s in interrupts (irq and softirq): from 50 % "
            "on, whoever runs there hardly gets it. /proc/stat.",
        ),
        Term("pid ...", "Who uses most cores; looked for only while none is to spare. /proc."),
    ),
    "Memory": (
        Term("available", "What could be had without swapping, of all. /proc/meminfo."),
        Term("swap in use", "Of all swap. /proc/meminfo."),
        Term("swapped", "Read back and written out, since the last sample. /proc/vmstat."),
        Term("/dev/shm free", "Shared memory as this monitor sees it; a container has its own."),
    ),
    "Pressure": (
        Term("CPU", "Share of the time in which some task waited for a core. /proc/pressure."),
        Term("memory", "The same for memory: it was reclaimed or read back."),
        Term("IO", "The same for storage; and in which all tasks waited at once."),
    ),
    "Disks": (
        Term(
            "... (Disks)",
            "Busy: share of the time with a request in flight. Bytes a second read and written; how long a "
            "request took (iostat's await), and how many were in flight (its aqu-sz). Since the last sample. "
            "/proc/diskstats.",
        ),
    ),
    "Networks": (
        Term(
            "... (Networks)",
            "State, received, sent, of what it carries; packets dropped since gputop came. /proc/net/dev.",
        ),
    ),
    "TCP": (
        Term("segments", "Sent for the first time, of the whole host. /proc/net/snmp."),
        Term("retransmitted", "TCP segments, and their share: loss on its networks."),
    ),
    "Network file systems": (
        Term(
            "... (NFS)",
            "Requests of reading and how long each takes, bytes read, the share retransmitted, time-outs since "
            "it was mounted. /proc/PID/mountstats.",
        ),
    ),
    "RDMA ports": (
        Term(
            "... (RDMA)",
            "State, rate, packets a second, the card with its firmware. /sys/class/infiniband.",
        ),
    ),
    "IMEX": (
        Term("nodes", "In the list of the domain that NVLink joins, this one included."),
        Term("daemon", "Whether nvidia-imex runs here. /proc."),
        Term("channels", "Devices by which jobs reach memory of other nodes."),
    ),
    "Control groups": (
        Term(
            "... (groups)",
            "Of watched processes: CPU quota and how much it held them back, memory of its limit, OOM "
            "kills, share of the time in which all of them waited for storage.",
        ),
    ),
    "Missing": (Term("... (Missing)", "Each value that is not known, and why."),),
}
