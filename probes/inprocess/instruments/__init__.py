"""What is put into torch: one file an instrument."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..instrument import Instrument
    from ..probe import Probe

ALL: tuple[type[Instrument], ...] = ()


def use_torch(probe: Probe) -> None:
    """Put all of them in, now that torch has been imported."""
    for instrument in ALL:
        probe.use(instrument(probe))
