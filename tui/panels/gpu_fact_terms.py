"""What the help says of the facts about one GPU, group by group."""

from __future__ import annotations

from collections.abc import Mapping

from ..drawing.explanations import Term

GPU_FACT_TERMS: Mapping[str, tuple[Term, ...]] = {
    "Identity": (
        Term("model", "Name of the board. NVML, as all of this column."),
        Term("architecture", "Of the chip, with its CUDA compute capability."),
        Term("UUID", "Names this chip on any host."),
        Term("serial", "Number on the board: for whoever swaps it."),
        Term("PCI", "Its address on the PCI bus, and the NUMA node that it hangs on."),
    ),
    "Xids": (
        Term(
            "...:...",
            "Error reports of the driver: when, which, and of which process. NVML events, kernel log.",
        ),
    ),
    "Kernel log": (
        Term(
            "...:... (Kernel log)",
            "The newest lines of the kernel log about this GPU or a bridge above it, Xids aside.",
        ),
    ),
    "Limits": (
        Term("power", "Limit in force, and the board's own."),
        Term("temperature", "From where on the chip slows its clocks, and where it stops."),
        Term("SM clock", "Highest of the chip, and what applications are locked to."),
        Term(
            "memory clock",
            "Of the memory now, and its highest; P0 is the state of full performance, P8 and up are idle.",
        ),
        Term("clocks held by", "Why the clocks are not higher now: NVML's clock event reasons."),
        Term("memory temp.", "Of the memory chips now, and their limit."),
        Term("memory", "All of it, and what the driver keeps for itself."),
        Term(
            "BAR1",
            "Window through which CPU and network cards reach the GPU's memory: in use of all.",
        ),
    ),
    "Other": (
        Term(
            "SM occupancy",
            "How many of the warps that fit on the multiprocessors were there, in the mean. GPM: Hopper and newer.",
        ),
        Term(
            "memory controller",
            "Share of the time in which it was busy, however little it carried. NVML, as utilization is.",
        ),
        Term(
            "video decoders",
            "Share of the time in which they were busy: what loaders that decode on the GPU wait for. The "
            "driver's own window, read every 4 s. NVML.",
        ),
        Term("video encoders", "The same of those that encode."),
        Term("fan set to", "What the slowest fan is set to, of its highest speed."),
        Term("fan turns at", "The same in rotations: what the driver intends."),
    ),
    "Links": (
        Term(
            "PCIe",
            "Generation and lanes as trained now, of what card and slot can both do; what that "
            "carries one way.",
        ),
        Term("PCIe replays", "Packets retransmitted since the driver was loaded."),
        Term(
            "NVLink fabric",
            "Whether it has joined the NVSwitch fabric (completed), and how that fares. Without it CUDA "
            "does not start.",
        ),
        Term("NVLink", "Links that are up, of all; what they carry each way."),
        Term(
            "NVLink errors",
            "Wrong checksums, replays and recoveries of all links, since the driver was loaded.",
        ),
    ),
    "Health": (
        Term("ECC", "Error correction of the memory, and its errors since the driver was loaded."),
        Term("ECC, lifetime", "Uncorrected errors in the life of the board."),
        Term(
            "remapped rows",
            "Rows of memory replaced after errors; pending ones need a reset of the GPU.",
        ),
        Term(
            "retired pages",
            "Pages of memory taken out of use for good after errors, on chips before Ampere; 64 at most.",
        ),
        Term(
            "recovery", "What the driver asks for: none, a reset of the GPU, a reboot of the node."
        ),
        Term(
            "persistence", "Whether the driver stays loaded without a process; who may use the GPU."
        ),
        Term("energy", "Drawn since the driver was loaded."),
    ),
    "MIG": (
        Term(
            "instance ...",
            "A part of the GPU with memory of its own: its profile, memory in use of all.",
        ),
    ),
    "Processes": (
        Term(
            "pid ...",
            "A process on this GPU: role, GPU memory, and the share of the time in which its kernels ran.",
        ),
    ),
    "Missing": (Term("... (Missing)", "Each value that is not known, and why."),),
}
