"""What a command over the control socket can end with."""

from __future__ import annotations


class CommandError(Exception):
    """The command was not done. The text is one sentence for people."""
