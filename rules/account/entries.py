"""The entries of an account: what each is called, what it means, and how it is drawn. Said here and nowhere else."""

from __future__ import annotations

from typing import Literal

import msgspec

ColorRole = Literal[
    "compute", "data", "h2d", "comm", "checkpoint", "compile", "sync", "hot", "dim", "other"
]
"""What a color stands for; the screens choose it."""

COMPUTE = "compute"
STALLED = "stalled"
STRAGGLER = "wait"
THROTTLED = "throttled"
LAUNCH = "launch"
IDLE = "idle"
COMM = "comm"
EVAL = "eval"
UNEXPLAINED = "unexplained"
BACKWARD = "backward"

COMPUTE_PHASES = frozenset({"forward", BACKWARD, "optimizer"})
"""The phases in which the model is computed are one entry."""


class EntryKind(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that time can go to."""

    name: str
    """In accounts and JSON; phases keep their own."""
    title: str
    """After ``lost to``."""
    about: str
    """For the help."""
    role: ColorRole
    letter: str
    """Where there are no colors."""


_KINDS = (
    EntryKind(
        name=COMPUTE,
        title="compute",
        about="useful: forward, backward and optimizer",
        role="compute",
        letter="",
    ),
    EntryKind(
        name="data",
        title="input wait",
        about="waits for input: the DataLoader",
        role="data",
        letter="d",
    ),
    EntryKind(
        name="h2d",
        title="H2D copies",
        about="copies to the GPU (host to device)",
        role="h2d",
        letter="h",
    ),
    EntryKind(
        name=LAUNCH,
        title="launch-bound",
        about="the GPU has nothing to run while Python prepares the next kernels",
        role="sync",
        letter="l",
    ),
    EntryKind(
        name=COMM,
        title="exposed communication",
        about="collectives that no computing hides, and waits in them",
        role="comm",
        letter="~",
    ),
    EntryKind(
        name=STRAGGLER,
        title="waiting for a late rank",
        about="waits in collectives for a rank that is slower than the others, or stuck",
        role="comm",
        letter="w",
    ),
    EntryKind(
        name=STALLED,
        title="stalls",
        about="no step ends although it waits for no rank; taken off the phase that it is stuck in",
        role="hot",
        letter="!",
    ),
    EntryKind(
        name="checkpoint",
        title="checkpoints",
        about="saves the model",
        role="checkpoint",
        letter="k",
    ),
    EntryKind(
        name=EVAL,
        title="evaluation",
        about="evaluates",
        role="checkpoint",
        letter="e",
    ),
    EntryKind(
        name="compile",
        title="compiling",
        about="compiles: torch.compile or Triton",
        role="compile",
        letter="c",
    ),
    EntryKind(
        name="startup",
        title="start-up",
        about="starts: imports, process groups, first batches",
        role="compile",
        letter="u",
    ),
    EntryKind(
        name="gc",
        title="garbage collection",
        about="Python collects garbage",
        role="sync",
        letter="g",
    ),
    EntryKind(
        name="sync",
        title="synchronization",
        about="waits for the GPU",
        role="sync",
        letter="s",
    ),
    EntryKind(
        name=THROTTLED,
        title="throttling",
        about="computes at lower clocks than its peers, as heat or power made the GPU slow down",
        role="hot",
        letter="t",
    ),
    EntryKind(
        name=IDLE,
        title="idle GPUs",
        about="nothing to do: a GPU without a job, or a notebook that waits for whoever types",
        role="other",
        letter="i",
    ),
    EntryKind(
        name="other",
        title="other host work",
        about="everything else",
        role="other",
        letter=".",
    ),
    EntryKind(
        name=UNEXPLAINED,
        title="unexplained",
        about="no counter, probe or stack says what it went to",
        role="other",
        letter="?",
    ),
)

ENTRIES: dict[str, EntryKind] = {kind.name: kind for kind in _KINDS}


def title_of(name: str) -> str:
    """After ``lost to``; of a phase that the user named, its name."""
    kind = ENTRIES.get(name)
    return kind.title if kind else name


def entry_of_phase(phase: str) -> str:
    """What time in a phase of the host counts as."""
    return COMPUTE if phase in COMPUTE_PHASES else phase
