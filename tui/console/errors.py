"""What ends a command with a sentence."""

from __future__ import annotations


class UsageError(Exception):
    """The command line is wrong. The text is one sentence for people."""
