"""What a case of the corpus is: a job, and what is true of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Launcher = Literal["none", "mpirun", "torchrun"]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A job that is started, and what a true verdict on it would say.

    Add one by an entry in ``faulty.py`` or ``healthy.py`` and, where it does something new, a function in
    ``jobs/``.
    """

    name: str
    job: str
    """``MODULE.FUNCTION`` in ``jobs/``."""
    faulty: bool
    ranks: int = 1
    culprits: tuple[int | None, ...] = ()
    """Ranks that may be blamed; ``None`` allows a finding about no rank alone."""
    causes: tuple[str, ...] = ()
    """Ids of rules, or regular expressions for a finding's name and text: one must fit the first finding."""
    waited_for: bool = False
    """Whether somebody waits for the culprit: then it is to be told in 5 s, else in 60 s."""
    announced: bool = False
    """The watch begins six seconds before the fault: where nobody waits, progress has to be seen first."""
    step_seconds: float = 0.1
    launcher: Launcher = "none"
    launcher_options: tuple[str, ...] = ()
    beside: str = ""
    """Another job started on the same node, of which nothing is asked."""
    probe_able: bool = True
    """Whether the probe can be in it."""
    needs_probe: bool = False
    """Only steps that were counted tell it from a server that nobody asks anything."""
    missing: str = ""
    """What this machine lacks for it; the case is then skipped, and told as such."""

    @property
    def due_seconds(self) -> float:
        """When the fault has to be told, from its beginning."""
        return 2.0 + 3.0 * self.step_seconds + (5.0 if self.waited_for else 60.0)
