"""Credentials in addresses: the user and password before the host, and keys in the path."""

from __future__ import annotations

import re

from .secret_hints import MASK
from .secret_values import looks_drawn

_USERINFO = re.compile(r"(?<![\w+.-])([A-Za-z][A-Za-z0-9+.:-]{0,47}://)([^\s/?#\"'<>]*)@")
_WEB = re.compile(r"(?<![A-Za-z0-9+.-])(https?://)([^\s\"'<>?#]+)", re.IGNORECASE)
_HOOK = re.compile(r"(?i)hook|hc-ping\.|/with/key\b|/robot/")
"""Whoever knows the path of such an address may use it."""
_BOT = re.compile(r"(?<=/bot)([0-9]{4,16}:)[A-Za-z0-9_-]{16,}")
_LONGEST_NAME = 31
_UPPER_OR_DIGIT = re.compile(r"[A-Z0-9]")
_HEX = re.compile(r"[0-9a-fA-F-]+")


def mask_urls(text: str) -> str:
    """The text with the secret parts of its addresses masked."""
    if "://" not in text:
        return text
    text = _USERINFO.sub(_masked_userinfo, text)
    text = _BOT.sub(rf"\1{MASK}", text)
    return _WEB.sub(_masked_path, text)


def _masked_userinfo(found: re.Match[str]) -> str:
    user, colon, _ = found[2].partition(":")
    if colon:
        return f"{found[1]}{MASK}:{MASK}@"
    return found[0] if user == "git" else f"{found[1]}{MASK}@"


def _masked_path(found: re.Match[str]) -> str:
    host, *segments = found[2].split("/")
    hook = _HOOK.search(found[2])
    first = found[2].count("/", 0, hook.start()) if hook else len(segments)
    last = max((place for place, each in enumerate(segments) if each), default=-1)
    masked = [
        MASK if _is_key(segment, after_hook=place >= first, last=place == last) else segment
        for place, segment in enumerate(segments)
    ]
    return found[1] + "/".join((host, *masked))


def _is_key(segment: str, *, after_hook: bool, last: bool) -> bool:
    if after_hook:
        named = last and _UPPER_OR_DIGIT.search(segment) is not None
        return segment != MASK and (named or looks_drawn(segment))
    long = len(segment) > _LONGEST_NAME and "." not in segment and _HEX.fullmatch(segment) is None
    return long and looks_drawn(segment)
