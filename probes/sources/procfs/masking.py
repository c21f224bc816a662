"""Masking a text that may hold a credential: what a closer look finds. Loaded for the first such text.

`secret_names` knows names, `secret_programs` the habits of programs, `secret_values` the forms of keys,
`secret_urls` addresses.
"""

from __future__ import annotations

import re

from .secret_hints import MASK
from .secret_names import Holds, holds
from .secret_urls import mask_urls
from .secret_values import concealed, is_secret_value, mask_shapes
from .secret_words import CommandWords

_DEEPEST = 3
"""Commands within the text of a command."""
_CODE_FOLLOWS = re.compile(r"-[a-zA-Z]{0,4}c|--command|--wrap|eval")
_SHELL_WORD = re.compile(
    r"[;|&()\n`]|(?:[^\s;|&()`\"'\\]|\\.|\"(?:[^\"\\]|\\.)*+\"?|'[^']*+'?)++", re.DOTALL
)
_QUOTED = re.compile(r"([\"'])([^\"']*\s[^\"']*)\1")
_PLAIN = re.compile(r"[\w./+-]*")
_SPACE = re.compile(r"\s")
_HEADERS = re.compile(r"(?i)auth|bearer|basic|token|apikey|cookie")
_SCHEMES = re.compile(
    r"(?i)\b(Bearer|Basic|Token|ApiKey)(\s{1,8})(?=[A-Za-z+/=_.~-]{0,64}[0-9])([A-Za-z0-9+/=_.~-]{12,})"
)
_HEADER = re.compile(
    r"(?i)\b(authorization[\\\"']{0,2}\s{0,8}[=:]\s{0,8}[\\\"']{0,2}"
    r"(?:bearer|basic|token|oauth|apikey|negotiate|key)\s{1,8})[^\s\"'\\]+"
)
_WHOLE_HEADER = re.compile(
    r"(?i)((?:proxy-)?authorization\s{0,8}[=:]\s{0,8})([A-Za-z][\w-]{0,31}\s{1,8})?(\S.*)",
    re.DOTALL,
)
_COOKIES = re.compile(r"(?i)\b((?:set-)?cookie\s{0,8}:\s{0,8})[^\"'\n]+")
_SCHEME_WORDS = ("bearer", "basic", "token", "oauth", "apikey", "negotiate", "key")
_PRIVATE_KEY = re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----)[^-]*(?:-(?!----)[^-]*)*")
_WHOLE_ARGUMENT = re.compile(r"([-+~]{0,2}[A-Za-z_][\w.@/-]*)=(.+)", re.DOTALL)
_ASSIGNED = re.compile(
    r"(?<![\w.-])([-+]{0,2}[A-Za-z_][\w.-]*+)[\\\"'\])]{0,4}\s{0,8}[=:]=?(?!//)\s{0,8}"
)
_ASSIGNED_VALUE = re.compile(
    r"\"[^\"]*\"?|'[^']*'?|\\+[\"'][^\"'\\]*|(?:[^\s,;&\"'{}()]|(?<=\$)[{(][^\s{}()]*[})])+"
)
_SETTING_VALUE = re.compile(r"\"[^\"]*\"?|'[^']*'?|[^;\"']+")
_SETTINGS = re.compile(
    r"(?i)(?<![\w-])(?:server|data source|driver|host|hostname|endpoint|accountname|database"
    r"|initial catalog|user id|uid|username|provider|defaultendpointsprotocol)\s?=[^;\"'&]{0,256};"
)
_LISTED = re.compile(r"([\"'])([A-Za-z_][\w.-]{0,127})\1\s{0,8},\s{0,8}")
_LISTED_VALUE = re.compile(r"\"[^\"]*\"?|'[^']*'?")
_CALLED = re.compile(
    r"((?:login|Auth|\bauth\s{0,8}=\s{0,8})\(\s{0,8}(?:[\"'][^\"']{0,200}[\"']\s{0,8},\s{0,8})?+)"
    r"([\"'])(?!\*\*\*)[^\"']{1,512}([\"'])"
)
_PIPED = re.compile(
    r"(\b(?:echo|printf)\s{1,8}(?:-\w{1,4}\s{1,8})?(?:[\"']?%s(?:\\n)?[\"']?\s{1,8})?)"
    r"(\"[^\"|]{1,512}\"|'[^'|]{1,512}'|[^\s|\"'$-][^\s|]{0,512})"
    r"(?=\s{0,8}\|[^|;&]{0,256}?(?:stdin|with-token|passphrase-fd|chpasswd|sudo\s{1,8}-S|login))"
)
_HERE = re.compile(
    r"((?:stdin|with-token|passphrase-fd|chpasswd|sudo\s{1,8}-S|login)[^|;&<]{0,256}<<<\s{0,8})"
    r"(\"[^\"]{1,512}\"|'[^']{1,512}'|[^\s\"'$]\S{0,512})"
)


def masked_command(argv: tuple[str, ...], *, shaped: bool) -> tuple[str, ...]:
    """An argument vector after one look at it.

    Args:
        argv: what a process was started with.
        shaped: a key that is known by its form may be in it.
    """
    words = CommandWords()
    masked: list[str] = []
    before = ""
    for argument in argv:
        text = words.masked(argument)
        if text is None:
            text = argument
        code = _CODE_FOLLOWS.fullmatch(before) is not None
        text = masked_text(text, code=code)
        masked.append(mask_shapes(text) if shaped else text)
        before = argument
    return tuple(masked)


def masked_text(text: str, *, code: bool) -> str:
    """Masked by its names and places.

    Args:
        text: an argument.
        code: it is a command line itself.
    """
    if _PLAIN.fullmatch(text):
        return text
    if not code or not any(map(str.isspace, text)):
        whole = _masked_whole(text)
        if whole is not None:
            return whole
    if "PRIVATE KEY" in text:
        text = _PRIVATE_KEY.sub(rf"\1{MASK}", text)
    text = mask_urls(text)
    if _SPACE.search(text):
        text = _masked_sentence(text)
    if "=" in text or ":" in text:
        settings = ";" in text and _SETTINGS.search(text)
        text = _mask_values(text, _ASSIGNED, _SETTING_VALUE if settings else _ASSIGNED_VALUE, 1)
    if "(" in text:
        text = _mask_values(text, _LISTED, _LISTED_VALUE, 2)
        text = _CALLED.sub(rf"\1\2{MASK}\3", text)
    return text


def _masked_sentence(text: str) -> str:
    text = _masked_words(text, 0)
    if _HEADERS.search(text):
        text = _HEADER.sub(rf"\1{MASK}", text)
        text = _SCHEMES.sub(rf"\1\2{MASK}", text)
        text = _COOKIES.sub(rf"\1{MASK}", text)
    if "<<<" in text:
        text = _HERE.sub(_masked_echo, text)
    return _PIPED.sub(_masked_echo, text) if "|" in text else text


def _masked_whole(text: str) -> str | None:
    """An argument that is one name and one value, to its end."""
    header = _WHOLE_HEADER.fullmatch(text)
    if header:
        return f"{header[1]}{header[2] or ''}{MASK}"
    whole = _WHOLE_ARGUMENT.fullmatch(text)
    if whole and is_secret_value(holds(whole[1]), whole[2]):
        return f"{whole[1]}={concealed(whole[2])}"
    return None


def _masked_words(text: str, depth: int) -> str:
    """What is a credential by its place in a command within a text, and in commands within that."""
    words = CommandWords()

    def replaced(found: re.Match[str]) -> str:
        word = words.masked(found[0])
        if word is not None:
            return word
        if depth < _DEEPEST and len(found[0]) < len(text):
            return _QUOTED.sub(
                lambda inner: f"{inner[1]}{_masked_words(inner[2], depth + 1)}{inner[1]}", found[0]
            )
        return found[0]

    return _SHELL_WORD.sub(replaced, text)


def _masked_echo(found: re.Match[str]) -> str:
    return found[1] + (
        concealed(found[2]) if is_secret_value(Holds.PASSWORD, found[2].strip("\"'")) else found[2]
    )


def _mask_values(text: str, names: re.Pattern[str], values: re.Pattern[str], group: int) -> str:
    """Mask what follows each secret name. The value of any other name is searched for names itself."""
    pieces: list[str] = []
    kept = at = 0
    while found := names.search(text, at):
        at = found.end()
        kind = holds(found[group])
        value = values.match(text, at) if kind is not Holds.NOTHING else None
        if value is None or _is_scheme(value[0].strip("\"'")):
            continue
        if not is_secret_value(kind, value[0].strip("\"'\\")):
            continue
        pieces += text[kept:at], concealed(value[0])
        kept = at = value.end()
    return "".join(pieces) + text[kept:]


def _is_scheme(value: str) -> bool:
    """Whether this is a way to authorize, with what follows it masked already."""
    first, *more = value.lower().split(" ")
    return first in _SCHEME_WORDS and more in ([], [MASK])
