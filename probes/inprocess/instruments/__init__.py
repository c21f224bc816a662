"""What is put into torch: one file an instrument."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .backward import Backward
from .checkpoint import Checkpoint
from .comm import Comm
from .compilation import Compilation
from .ddp import Ddp
from .device import Device
from .forward import Forward
from .frameworks import Frameworks
from .gpu_time import GpuTime
from .loader import Loader
from .optimizer import Optimizer

if TYPE_CHECKING:
    from ..interface import ProbeLike


def use_torch(probe: ProbeLike) -> None:
    """Put all of them in, now that torch has been imported."""
    optimizer = Optimizer(probe, lambda found, frame: forward.met(found, frame))
    loader = Loader(
        probe,
        optimizer.unwind,
        lambda: forward.evaluates(),
        lambda frame: forward.search(frame),
    )
    device, ddp = Device(probe), Ddp(probe)
    forward = Forward(probe, loader.fed, (device.settled, ddp.settled))
    for instrument in (
        loader,
        forward,
        Backward(probe, forward.backward_begins, forward.backward_done),
        optimizer,
        Comm(probe),
        ddp,
        Checkpoint(probe),
        Compilation(probe),
        device,
        GpuTime(probe),
        Frameworks(probe, forward),
    ):
        probe.use(instrument)
