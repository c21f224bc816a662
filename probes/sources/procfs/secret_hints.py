"""Whether a text is worth a closer look for credentials: most command lines are not."""

from __future__ import annotations

import re

from .secret_programs import HABITS

_NAMES = ("pass", "pwd", "secret", "token", "key", "auth", "cred", "cookie", "bearer", "signature")
_MORE = (
    "jwt",
    "netrc",
    "psk",
    "basic",
    "login",
    "extraheader",
    "://",
    "private key",
    "sudo -s",
    "stdin",
)
_HINTS = (*_NAMES, *_MORE)
_SHORT_NAMES = re.compile(r"(?i:pat|sas|sig|otp|pw)(?![a-z])")
_BETWEEN = dict.fromkeys(map(ord, "\0/;|&()=\"'`"), " ")
_PROGRAMS = frozenset(HABITS)


def may_hold_secret(text: str) -> bool:
    """Whether a name or a program in the text could make it hold a credential; ``False`` is certain."""
    lowered = text.lower()
    return (
        any(hint in lowered for hint in _HINTS)
        or not _PROGRAMS.isdisjoint(text.translate(_BETWEEN).split())
        or _SHORT_NAMES.search(text) is not None
    )
