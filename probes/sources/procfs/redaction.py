"""Values that look like credentials, masked before a command line leaves this process.

The shape stays: the same number of arguments, names and hosts as they were. Where it is not clear
whether a value is a credential, it is masked; only names that training scripts use for something else
(``--max-tokens``, ``--num-key-value-heads``) are let through.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

MASK = "***"

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ALWAYS = frozenset(
    {"password", "passwd", "pwd", "passphrase", "secret", "secrets", "credential", "credentials"}
    | {"apikey", "authorization", "bearer", "cookie", "signature", "sig", "authtoken", "accesskey"}
    | {
        "pass",
        "passcode",
        "pat",
        "otp",
        "netrc",
        "privatekey",
        "secretkey",
        "sshpass",
        "pgpassword",
    }
)
_KEY_BEFORE = frozenset(
    {"api", "access", "secret", "private", "auth", "account", "license", "licence", "encryption"}
    | {"signing", "ssh", "wandb", "openai", "service", "shared", "storage", "master", "deploy"}
    | {"comet", "neptune", "anthropic", "ngc", "hf", "subscription", "client", "app"}
)
_TOKENS_BEFORE = frozenset({"api", "access", "auth", "secret", "refresh", "bearer"})
_TOKEN_BEFORE = frozenset(
    # What comes before "token" where text is cut into tokens.
    {
        "pad",
        "padding",
        "eos",
        "bos",
        "unk",
        "mask",
        "sep",
        "cls",
        "special",
        "max",
        "min",
        "num",
        "n",
    }
    | {"new", "per", "image", "video", "audio", "start", "end", "stop", "first", "last", "next"}
    | {"prev", "batch", "add", "begin", "think", "chat", "system", "assistant", "bot", "eot", "eod"}
    | {"register", "class", "vision", "patch", "multi", "single", "sub", "drop", "use", "bad", "by"}
)
_TOKEN_AFTER = frozenset(
    {"id", "ids", "type", "types", "count", "len", "length", "limit", "budget", "size", "level"}
    | {"dim", "classification", "dropout", "rate", "mask", "index", "num", "parallel", "weight"}
    | {"loss", "dispatcher", "drop", "merging", "pooling", "shuffle", "mixing", "embedding"}
)
_SHAPES = re.compile(
    r"(?<![A-Za-z0-9])(?:hf_[A-Za-z0-9]{12,}|(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{16,}"
    r"|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{12,}|xox[abeprs]-[A-Za-z0-9-]{10,}"
    r"|nvapi-[A-Za-z0-9_-]{16,}|dckr_pat_[A-Za-z0-9_-]{16,}|pypi-[A-Za-z0-9_-]{24,}"
    r"|A[KS]IA[A-Z0-9]{12,}|AIza[A-Za-z0-9_-]{20,}|ya29\.[A-Za-z0-9_-]{16,}|wandb_v1_[A-Za-z0-9_]{16,}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?)"
)
_SCHEMES = re.compile(r"(?i)\b(Bearer|Basic|Token)(\s+)([A-Za-z0-9+/=_.~-]{12,})")
_HEADER = re.compile(
    r"(?i)\b(authorization[\"']?\s{0,8}[=:]\s{0,8}[\"']?(?:bearer|basic|token)\s{1,8})[^\s\"']+"
)
_SCHEME_WORDS = ("bearer", "basic", "token")
_PRIVATE_KEY = re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----)[^-]*(?:-(?!----)[^-]*)*")
_USERINFO = re.compile(r"(?<![\w+.-])([A-Za-z][A-Za-z0-9+.-]{0,31}://)([^\s/?#\"'<>]*)@")
_WHOLE_ARGUMENT = re.compile(r"([-+~]{0,2}[A-Za-z_][\w.@/-]*)=(.+)", re.DOTALL)
_ASSIGNED = re.compile(r"(?<![\w.-])([-+]{0,2}[A-Za-z_][\w.-]*+)[\"']?\s{0,8}[=:](?!//)\s{0,8}")
_ASSIGNED_VALUE = re.compile(r"\"[^\"]*\"?|'[^']*'?|[^\s,;&\"'{}()]+")
_OPTED = re.compile(r"(?<!\S)(--?[A-Za-z][\w.-]*+)\s{1,8}")
_OPTED_VALUE = re.compile(r"\"[^\"]*\"?|'[^']*'?|(?!--)[^\s\"']\S*")
_OPTION = re.compile(r"--?[A-Za-z][\w.-]*")


def mask_command(argv: Sequence[str]) -> tuple[str, ...]:
    """The argument vector with every value that looks like a credential replaced by `MASK`."""
    masked: list[str] = []
    secret_follows = False
    for argument in argv:
        is_option = _OPTION.fullmatch(argument) is not None
        if secret_follows and argument and not (is_option and argument.startswith("--")):
            masked.append(MASK)
            secret_follows = False
            continue
        secret_follows = is_option and is_secret_name(argument)
        masked.append(mask_text(argument))
    return tuple(masked)


def mask_text(text: str) -> str:
    """One argument or value, masked."""
    whole = _WHOLE_ARGUMENT.fullmatch(text)
    if whole and is_secret_name(whole[1]):
        return f"{whole[1]}={MASK}"
    # Userinfo before assignments, which would otherwise take the colon in "user:password" for theirs.
    text = _PRIVATE_KEY.sub(rf"\1{MASK}", text)
    text = _USERINFO.sub(_masked_userinfo, text)
    text = _HEADER.sub(rf"\1{MASK}", text)
    text = _SCHEMES.sub(rf"\1\2{MASK}", text)
    text = _mask_values(text, _ASSIGNED, _ASSIGNED_VALUE)
    text = _mask_values(text, _OPTED, _OPTED_VALUE)
    return _SHAPES.sub(MASK, text)


def is_secret_name(name: str) -> bool:
    """Whether an option, variable or parameter of this name holds a credential."""
    words = [word.lower() for word in _WORD.findall(name)]
    return any(_is_secret_word(words, place) for place in range(len(words)))


def _is_secret_word(words: list[str], place: int) -> bool:
    word = words[place]
    before = words[place - 1] if place else ""
    after = words[place + 1] if place + 1 < len(words) else ""
    match word:
        case "token":
            return before not in _TOKEN_BEFORE and after not in _TOKEN_AFTER
        case "tokens":
            return before in _TOKENS_BEFORE
        case "key" | "keys":
            return before in _KEY_BEFORE
        case "auth":
            return not after or after in ("header", "basic", "data", "info")
        case _:
            return word in _ALWAYS


def _masked_userinfo(found: re.Match[str]) -> str:
    user, colon, _ = found[2].partition(":")
    if colon:
        return f"{found[1]}{MASK}:{MASK}@"
    return found[0] if user == "git" else f"{found[1]}{MASK}@"


def _mask_values(text: str, names: re.Pattern[str], values: re.Pattern[str]) -> str:
    """Mask what follows each secret name. The value of any other name is searched for names itself."""
    pieces: list[str] = []
    kept = at = 0
    while found := names.search(text, at):
        at = found.end()
        value = values.match(text, at) if is_secret_name(found[1]) else None
        if value is None or value[0].lower() in _SCHEME_WORDS:
            continue
        quote = value[0][0] if value[0][0] in "\"'" else ""
        pieces += text[kept:at], quote, MASK, quote
        kept = at = value.end()
    return "".join(pieces) + text[kept:]
