"""Values that look like credentials by themselves, and those that cannot be one."""

from __future__ import annotations

import re
from functools import cache
from itertools import islice

from .secret_hints import MASK
from .secret_names import Holds

_REFERENCE = re.compile(r"\$\{?[A-Za-z_]\w*\}?|\$\([^()]*\)?|<[\w .-]*>|%[A-Z_]+%|\{\{.*\}\}")
_SWITCH = frozenset({"true", "false", "none", "null", "yes", "no", "on", "off", "auto", "0", "1"})
_PATH = re.compile(
    r"(?:~|\.{1,2})?(?:/[\w.@+=,-]*)+|[\w.-]+\.(?:pem|key|json|txt|ya?ml|toml|env|crt|pub)"
)
_DRAWN = re.compile(r"[A-Za-z0-9+/_=.~%-]{16,}")
_CHANGES = re.compile(r"[A-Za-z][0-9]|[0-9][A-Za-z]|[a-z][A-Z]")
_DRAWN_CHANGES = 3
_MIXED = re.compile(r"[A-Za-z0-9+_=.~!@#%-]{8,64}")
_MIXED_CHANGES = 2
_HEX = re.compile(r"[0-9a-fA-F-]{16,}")

_SHAPES = (
    r"(?<![A-Za-z0-9])(?:hf_(?=[A-Za-z]{0,40}[0-9])[A-Za-z0-9]{12,}|hf_[A-Za-z]{34}|api_org_[A-Za-z0-9]{16,}"
    r"|(?:sk|pk|rk|gsk|xai|pplx|tvly|csk)[-_](?=[A-Za-z_-]{0,40}[0-9])[A-Za-z0-9_-]{16,}"
    r"|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|gl(?:pat|dt|rt|ptt|cbt|soat)-[A-Za-z0-9_-]{12,}"
    r"|xox[abcdeprs]-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{10,}|nvapi-[A-Za-z0-9_-]{16,}"
    r"|dckr_(?:pat|oat)_[A-Za-z0-9_-]{16,}|pypi-Ag[A-Za-z0-9_-]{16,}|npm_[A-Za-z0-9]{30,}|rubygems_[a-f0-9]{32,}"
    r"|A(?:KI|SI|BI|CC)A[A-Z0-9]{12,}|AIza[A-Za-z0-9_-]{20,}|ya29\.[A-Za-z0-9_-]{16,}|GOCSPX-[A-Za-z0-9_-]{16,}"
    r"|1//0[A-Za-z0-9_-]{24,}|wandb_v1_[A-Za-z0-9_]{16,}|hv[sbr]\.[A-Za-z0-9_-]{16,}"
    r"|tskey-[a-z]{2,12}-[A-Za-z0-9-]{8,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|do[opr]_v1_[a-f0-9]{32,}"
    r"|lin_(?:api|oauth)_[A-Za-z0-9]{16,}|shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{24,}|dapi[a-f0-9]{32}(?:-[0-9])?"
    r"|r8_[A-Za-z0-9]{30,}|AGE-SECRET-KEY-1[A-Z0-9]{20,}|gl(?:c|sa)_[A-Za-z0-9_+/=]{24,}|whsec_[A-Za-z0-9+/=]{16,}"
    r"|sntrys_[A-Za-z0-9_+/=-]{24,}|AT[AC]TT3[A-Za-z0-9_=-]{20,}|PMAK-[a-f0-9]{20,}-[a-f0-9]{20,}|NRAK-[A-Z0-9]{20,}"
    r"|xkeysib-[a-f0-9]{32,}[A-Za-z0-9-]*|lsv2_(?:pt|sk)_[a-f0-9_]{24,}|nfp_[A-Za-z0-9]{30,}|sbp_[a-f0-9]{32,}"
    r"|pul-[a-f0-9]{40}|figd_[A-Za-z0-9_-]{24,}|dp\.(?:pt|st|ct|sa)\.[A-Za-z0-9._-]{24,}|key-[a-f0-9]{32}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?|eyJ[A-Za-z0-9_-]{48,}={0,2})"
)
"""The forms that their issuers gave to keys, as secret scanners know them. Compiled when one may be there."""
_SHORTEST_SHAPE = 14


def mask_shapes(text: str) -> str:
    """The text without keys that are known by their form."""
    return text if len(text) < _SHORTEST_SHAPE else _shapes().sub(MASK, text)


@cache
def _shapes() -> re.Pattern[str]:
    return re.compile(_SHAPES)


def is_secret_value(kind: Holds, value: str) -> bool:
    """Whether this value, under a name of that kind, is a credential."""
    if kind is Holds.NOTHING or not value or value == MASK:
        return False
    if _REFERENCE.fullmatch(value) or value.lower() in _SWITCH:
        return False
    if kind is Holds.PASSWORD:
        return True
    if _PATH.fullmatch(value) and not any(map(looks_drawn, value.split("/"))):
        return False
    return kind is Holds.TOKEN or looks_drawn(value) or _is_word_with_digits(value)


def _is_word_with_digits(value: str) -> bool:
    """Whether it mixes letters and digits as passwords do, and as names of metrics do not."""
    if _MIXED.fullmatch(value) is None or value.isdigit():
        return False
    changes = sum(1 for _ in _CHANGES.finditer(value))
    return changes >= _MIXED_CHANGES and any(character.isdigit() for character in value)


def looks_drawn(value: str) -> bool:
    """Whether nobody would think of it: letters and digits in turn, or hexadecimal digits."""
    if _DRAWN.fullmatch(value) is None:
        return False
    has_digit = any(character.isdigit() for character in value)
    if _HEX.fullmatch(value):
        return has_digit and not value.isdigit()
    changes = islice(_CHANGES.finditer(value), _DRAWN_CHANGES)
    return has_digit and sum(1 for _ in changes) == _DRAWN_CHANGES


def concealed(value: str) -> str:
    """A mask in the quotes that the value has."""
    quote = value[0] if value[:1] in ('"', "'") else ""
    closing = quote if len(value) > 1 and value.endswith(quote) else ""
    return f"{quote}{MASK}{closing}"


def unquoted(value: str) -> str:
    """The value without quotes around it."""
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value
