"""Names of options, variables and parameters, and what their values are then likely to be."""

from __future__ import annotations

import re
from enum import Enum

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ROOT = re.compile(
    r"(?i:pass|pwd|secret|token|key|auth|cred|cookie|bearer|signature|jwt|netrc|psk"
    r"|(?:pat|sas|sig|otp|pw)(?![a-z]))"
)
"""Without one of these no word below can occur in a name; most names are done with here."""
_ALWAYS = frozenset(
    {"password", "passwd", "pwd", "passphrase", "secret", "secrets", "credential", "credentials"}
    | {"authorization", "bearer", "cookie", "signature", "sig", "cred", "creds", "jwt", "psk"}
    | {
        "passcode",
        "pw",
        "pat",
        "otp",
        "netrc",
        "sshpass",
        "storepass",
        "keypass",
        "dbpass",
        "passin",
    }
    | {"passout", "extraheader"}
)
_ALWAYS_ENDS = ("password", "passwd", "passphrase", "secret", "pwd")
"""Also of words that are written together: pgpassword, clientsecret."""
_KEY_BEFORE = frozenset(
    {"api", "access", "secret", "private", "auth", "account", "license", "licence", "encryption"}
    | {"signing", "ssh", "wandb", "openai", "service", "shared", "storage", "master", "deploy"}
    | {"comet", "neptune", "anthropic", "ngc", "hf", "subscription", "client", "app", "admin"}
    | {"webhook", "gemini", "groq", "mistral", "cohere", "openrouter", "tavily", "serper", "user"}
    | {"together", "fireworks", "langsmith", "langchain", "clearml", "mlflow", "labelbox", "azure"}
    | {"host", "decryption", "hmac", "write", "ingestion", "instrumentation", "integration"}
)
_KEY_OPEN = frozenset(
    {"public", "pub", "sort", "cache", "primary", "partition", "idempotency", "foreign", "column"}
    | {"metric", "group", "join", "host"}
)
_TOKENS_BEFORE = frozenset({"api", "access", "auth", "secret", "refresh", "bearer"})
_TOKEN_TOGETHER = _TOKENS_BEFORE | {"hf", "hub", "bot", "github", "gitlab", "session", "csrf"}
_TOKEN_BEFORE = frozenset(
    # What comes before "token" where text is cut into tokens.
    {"pad", "padding", "eos", "bos", "unk", "mask", "sep", "cls", "special", "max", "min", "num"}
    | {"n", "new", "per", "image", "video", "audio", "start", "end", "stop", "first", "last"}
    | {"next", "prev", "batch", "add", "begin", "think", "chat", "system", "assistant", "eot"}
    | {"eod", "register", "class", "vision", "patch", "multi", "single", "sub", "drop", "use"}
    | {"bad", "by", "text", "skip", "ignore", "boi", "eoi", "fim", "prefix", "suffix", "middle"}
)
_TOKEN_AFTER = frozenset(
    {"id", "ids", "budget", "classification", "dropout", "mask", "parallel", "weight", "loss"}
    | {"dispatcher", "drop", "merging", "pooling", "shuffle", "mixing", "embedding", "refresh"}
    | {"embeddings", "per", "seen", "throughput", "ratio", "pruning", "shift", "window", "bucket"}
)
_PASS_BEFORE = frozenset(
    {"single", "two", "one", "first", "second", "multi", "num", "n", "per", "forward", "backward"}
    | {"by", "last", "must", "all", "skip"}
)
_PASS_AFTER = frozenset(
    {"rate", "through", "fail", "log", "k", "at", "id", "criteria", "threshold", "num", "ratio"}
    | {"manager", "on", "by", "if"}
)
_SAS_AFTER = frozenset({"", "token", "url", "uri", "key"})
_ABOUT = frozenset(
    # A name that ends so tells of a credential without holding one.
    {"length", "len", "file", "files", "path", "paths", "dir", "directory", "name", "names"}
    | {"rate", "count", "enabled", "disabled", "mode", "type", "types", "stdin", "prompt", "policy"}
    | {"version", "env", "var", "column", "col", "dim", "dims", "size", "expiry", "ttl", "timeout"}
    | {"provider", "method", "algorithm", "algo", "required", "format", "index", "num", "level"}
    | {
        "helper",
        "ref",
        "limit",
        "store",
        "folder",
        "filename",
        "fd",
        "duration",
        "age",
        "days",
        "seconds",
    }
)


class Holds(Enum):
    """What the value of a name is."""

    NOTHING = "nothing secret"
    KEY = "a key of some sort: secret where it looks drawn by lot"
    TOKEN = "a credential, or the path of a file that has it"
    PASSWORD = "a credential, whatever it looks like"


def is_secret_name(name: str) -> bool:
    """Whether an option, variable or parameter of this name holds a credential."""
    return holds(name) in (Holds.TOKEN, Holds.PASSWORD)


def holds(name: str) -> Holds:
    """What a value under this name is likely to be."""
    if _ROOT.search(name) is None:
        return Holds.NOTHING
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or words[-1] in _ABOUT:
        return Holds.NOTHING
    found = Holds.NOTHING
    for place, word in enumerate(words):
        before = words[place - 1] if place else ""
        after = words[place + 1] if place + 1 < len(words) else ""
        match _of_word(word, before, after):
            case Holds.PASSWORD:
                return Holds.PASSWORD
            case Holds.TOKEN:
                found = Holds.TOKEN
            case Holds.KEY if found is Holds.NOTHING:
                found = Holds.KEY
            case _:
                pass
    return found


def _of_word(word: str, before: str, after: str) -> Holds:
    if after in _ABOUT:
        return Holds.NOTHING
    if word == "pass":
        passes = before in _PASS_BEFORE or after in _PASS_AFTER
        return Holds.NOTHING if passes else Holds.PASSWORD
    if word != "pwd" and word.endswith(_ALWAYS_ENDS):
        return Holds.PASSWORD
    if word in ("key", "keys") and before not in _KEY_BEFORE:
        open_to_all = before in _KEY_OPEN or after or word == "keys"
        return Holds.NOTHING if open_to_all else Holds.KEY
    if word == "tokens" and not after and before not in _TOKENS_BEFORE | _TOKEN_BEFORE:
        return Holds.KEY
    return Holds.TOKEN if _is_token(word, before, after) else Holds.NOTHING


def _is_token(word: str, before: str, after: str) -> bool:
    match word:
        case "token":
            return before not in _TOKEN_BEFORE and after not in _TOKEN_AFTER
        case "tokens":
            return before in _TOKENS_BEFORE
        case "key" | "keys":
            return after not in ("value", "bias", "proj", "norm", "padding")
        case "auth" | "oauth":
            return not after or after in ("header", "basic", "data", "info")
        case "sas":
            return after in _SAS_AFTER
        case _:
            return (
                word in _ALWAYS
                or (word.endswith("key") and word[:-3] in _KEY_BEFORE)
                or (word.endswith("token") and word[:-5] in _TOKEN_TOGETHER)
            )
