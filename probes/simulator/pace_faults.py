"""Scenarios in which the program's own ways keep the GPUs from being busy."""

from __future__ import annotations

from .activity import TRAINING
from .rhythm import Pace, everyone
from .scenario import Scenario

_AFTER_WAITS = {
    **TRAINING,
    "backward": TRAINING["backward"]._replace(utilization=0.70, sm_active=0.62, power=470.0),
    "optimizer": TRAINING["optimizer"]._replace(utilization=0.41, sm_active=0.26, power=310.0),
    "other": TRAINING["other"]._replace(utilization=0.0),
}

SYNC_POINTS = Scenario(
    name="sync-points",
    summary="Each step waits for its loss to be fetched: the GPUs idle until the host has gone on.",
    finds=("RUN439",),
    onset_seconds=-90.0,
    stages=(everyone(-90.0, Pace(sync=0.55, other=0.14, work=_AFTER_WAITS)),),
)
