"""What the help says of the facts about one rank, group by group."""

from __future__ import annotations

from collections.abc import Mapping

from ...probes.derive.step_statistics import RECENT
from ..drawing.explanations import Term

RANK_FACT_TERMS: Mapping[str, tuple[Term, ...]] = {
    "Now": (
        Term("state", "What is out of the ordinary about it."),
        Term(
            "phase",
            "What its main loop does, for how long, and how that is known: measured (by the probe), "
            "sampled (from "
            "stacks) or inferred (from threads).",
        ),
        Term("step", "Number of the step in progress, and how long ago it began."),
        Term("loss", "The newest that the job has reported to the probe."),
    ),
    f"Phases of the last {RECENT} steps": (
        Term(
            "... %",
            "A phase: share of the host time of a step, then seconds of the host and of the GPU in "
            "each step (CUDA events). Means of these steps. Probe page.",
        ),
    ),
    "Throughput": (
        Term(
            "step time",
            "Median and 99th percentile of the steps that are kept, in seconds; ±: spread, see "
            "below. Probe page.",
        ),
        Term(
            "host and GPU",
            "Mean time of a step on the host, and of that the time in which the GPU worked, in "
            "seconds, over the steps that are kept. Probe page.",
        ),
        Term(
            "run-ahead",
            "How long ago the host gave the GPU the work that it is at, as a step ends; mean over "
            "the steps that are kept. Near 0, the GPU waits for the host. Probe page.",
        ),
        Term(
            "tokens",
            "A second, over the last steps; ±: half the distance between the 10th and 90th "
            "percentile, in % of the median. As the job reports them to the probe.",
        ),
        Term(
            "samples",
            "A second, over the last steps; ±: half the distance between the 10th and 90th "
            "percentile, in % of the median. As the job reports them to the probe.",
        ),
        Term("steps not read", "Steps that came faster than they are read."),
        Term(
            "skipped steps",
            "Optimizer steps that the gradient scaler left out, as after an overflow.",
        ),
        Term(
            "garbage collection",
            "Full collections of Python since the start, and the time they took.",
        ),
        Term("recompiles", "Of torch.compile since the start: each stops the step for seconds."),
    ),
    "Collectives": (
        Term(
            "group ...",
            "A process group: its last collective, its members, and how long it is under way.",
        ),
        Term("launched fewer", "Ranks of this node that have not launched that collective yet."),
        Term(
            "DDP's backward",
            "What DDP measured itself: computing, its all-reduce, and what of that computing did not hide.",
        ),
    ),
    "Memory of torch": (
        Term(
            "allocated",
            "Bytes that tensors have, of what torch's allocator holds reserved, now. Probe page.",
        ),
        Term(
            "inactive split",
            "Bytes reserved in pieces that are too small to be used, now: fragmentation. Probe "
            "page.",
        ),
        Term(
            "allocation retries",
            "How often since the start memory had to be freed first, and how often there was "
            "none. Probe page.",
        ),
    ),
    "DataLoader": (
        Term(
            "workers",
            "Processes that load batches, and how many batches each keeps ready; now. Probe page.",
        ),
        Term(
            "batches ready",
            "Waiting to be taken now, of how many there may be; 0: the loader is behind. Probe "
            "page.",
        ),
        Term(
            "settings",
            "Pinned memory makes copies to the GPU faster; persistent workers outlive an epoch.",
        ),
        Term("batch size", "Of the loader."),
    ),
    "Other threads": (Term("... for", "A thread with phases of its own, and what it does."),),
    "Probe": (
        Term("switched itself off", "The probe found an error in itself and stopped."),
        Term(
            "cost",
            "The probe's own CPU time since it came, as a share of the step time. Probe page.",
        ),
        Term("page read", "How old these values are."),
        Term("instruments on", "What it measures with."),
        Term("off", "What it does not measure with, and why."),
        Term("socket", "Where profiles and dumps are asked for."),
    ),
    "Versions": (
        Term("libraries", "In the process."),
        Term("precision", "Number formats that it computes in."),
    ),
    "Process": (
        Term("pid", "Process id, GPU, and DataLoader workers. /proc, NVML."),
        Term(
            "state",
            "Whether its main thread runs, or in which kernel function it waits; cores that it uses. "
            "/proc.",
        ),
        Term(
            "threads",
            "Of the process; how often its main thread has waited, and how often the kernel took its core "
            "away for another. /proc.",
        ),
        Term("command", "Command line, secrets masked."),
        Term("runs in", "Working directory."),
        Term("belongs to", "User, Slurm job, pod or container."),
    ),
    "Missing": (Term("... (Missing)", "Each value that is not known, and why."),),
}
