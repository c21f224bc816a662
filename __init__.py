"""gputop: a live terminal monitor for GPU training jobs.

Importing this package has no effect and loads nothing beyond the standard library. Inside a training
job it offers three functions, on Python 3.9 or later: ``attach()`` starts the probe, ``phase("eval")``
names what a ``with`` block does, and ``step(samples=…, tokens=…, loss=…)`` tells what a step did.
"""

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:  # spelled so because importing typing costs more than the rest
    from .probes.inprocess.api import attach as attach
    from .probes.inprocess.api import phase as phase
    from .probes.inprocess.api import step as step


def __getattr__(name: str) -> object:
    """Load the probe when one of its functions is first used."""
    if name not in ("attach", "phase", "step"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .probes.inprocess import api

    value: object = getattr(api, name)
    globals()[name] = value
    return value
