"""That a collector was not run: what it did not see in that time is nobody's fault."""

import msgspec


class Starvation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Time since the sample before in which the collector could not look."""

    seconds: float = 0.0
    """Threads of it that were waited for were runnable, and did not run."""
    stopped_seconds: float = 0.0
    """It was stopped, or the machine was: it woke so much later than it meant to."""
    load: float | None = None
    """Mean number of runnable and blocked threads on the node over the last minute."""
    cores: int | None = None
    """That this monitor may use."""
