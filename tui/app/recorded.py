"""What keys do in a recording, each with the sentence that says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..drawing import format

if TYPE_CHECKING:
    from ...probes.feeds.replay import ReplayFeed

ACTIONS = frozenset({"seek_finding", "speed"})


def seek(replay: ReplayFeed, seconds: float) -> str:
    """Go so far back or on."""
    return f"at {format.clock(replay.seek(seconds))}"


def seek_finding(replay: ReplayFeed | None) -> str:
    """Go to where the next finding began."""
    found = "" if replay is None else replay.seek_finding()
    return found or "no finding begins after this"


def speed(replay: ReplayFeed | None, factor: float) -> str:
    """Play it so many times as fast."""
    return "" if replay is None else f"{replay.set_speed(factor):g} times as fast"


def pause(replay: ReplayFeed) -> str:
    """Stand still, or go on."""
    return "paused: the recording stands still" if replay.pause() else "going on"
