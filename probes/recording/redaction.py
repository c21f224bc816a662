"""Samples without hosts, users, command lines and paths, to be handed to somebody outside.

What is replaced is replaced alike everywhere, so that what belonged together still does, and the rules find
in it what they found before. A text field that `redacted_fields` does not name is dropped: a new one never
leaves by mistake.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, TypeVar, cast, get_args, get_origin

import msgspec

from ..jobs.command_line import is_boundary, is_python_file, is_spawned, kind_of, python_of
from ..model import missing_reasons
from ..model.rank_readings import StackFrameReading
from ..model.stack_places import PROBE_FOLDER, is_own, is_probe
from .redacted_fields import (
    FIELDS,
    KNOWN_GROUP_WORDS,
    KNOWN_PARTS,
    KNOWN_PHASES,
    KNOWN_THREADS,
    How,
)

Record = TypeVar("Record", bound=msgspec.Struct)

LEFT_OUT = "left out by --redact"
_NUMBERS = re.compile(r"[\d,\- ]{1,200}")
_OBJECT = re.compile(r"(pipe|socket|anon_inode):\[?\w+\]?")
_PLACE = re.compile(r"(?P<name>.*) \((?P<file>.*?)(?P<line>:\d+)?\)", re.DOTALL)
_RANK_OPTION = re.compile(r"--(?:local[_-]rank|rank|world[_-]?size)(?:=\d{1,5})?")
_LIBRARY = re.compile(r".*/(?:site|dist)-packages/|.*/lib/python[\d.]*/")
_SUFFIX = re.compile(
    r"\.(py|pyx|so|c|cc|cpp|cu|sh|tar|gz|pt|pth|bin|json|yaml|parquet|safetensors|log|lock)$"
)
_FIELD = re.compile(r"[a-z][a-z0-9_]{0,63}")
_BY_GROUP = frozenset({"pg_config", "pg_status"})
_RECORDER_WORDS = frozenset(
    {"name", "profiling_name", "state", "version", "nccl_version", "input_dtypes", "output_dtypes"}
)
"""Of a dump of the flight recorder: names of functions and collectives."""
_VERBS = frozenset({"launch", "run"})
_PLAIN_REASONS = frozenset(
    {"on", *(each for each in vars(missing_reasons).values() if isinstance(each, str))}
)
"""Reasons that are the same on every node."""
_SPAWNED = "from multiprocessing.spawn import spawn_main"


class Redactor:
    """Remembers what it has put in the place of what."""

    def __init__(self) -> None:
        self._commands: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._known: dict[str, dict[str, str]] = {}
        self._ways: dict[How, Callable[[str], str]] = {
            "keep": str,
            "host": lambda text: self.name("host", text),
            "user": lambda text: self.name("user", text),
            "name": lambda text: self.name("name", text),
            "part": self._part,
            "group": self.group,
            "program": self.program,
            "path": self.path,
            "file": self.file,
            "place": self._place,
            "phase": lambda text: text if text in KNOWN_PHASES else self.name("phase", text),
            "thread": lambda text: text if KNOWN_THREADS.match(text) else self.name("thread", text),
            "sentence": self.sentence,
            "drop": lambda _: "",
        }

    def name(self, kind: str, text: str) -> str:
        """``host-1`` for the first host, and so on; nothing stays nothing."""
        if not text:
            return text
        known = self._known.setdefault(kind, {})
        return known.setdefault(text, f"{kind}-{len(known) + 1}")

    def sentence(self, text: str) -> str:
        """Of ours, in which anything may stand that comes from somewhere else."""
        return LEFT_OUT if text else ""

    def path(self, text: str) -> str:
        """Part by part, so that a folder is still the folder of what lies in it."""
        if not text or _OBJECT.fullmatch(text):
            return text
        parts = text.split("/")
        return "/".join(part if part in KNOWN_PARTS else self._part(part) for part in parts)

    def file(self, text: str) -> str:
        """Of a stack: a library's stays, from its own name on; the user's goes."""
        found = _LIBRARY.match(text)
        if found:
            return f"site-packages/{text[found.end() :]}"
        if is_probe(text):
            return text[text.rindex(PROBE_FOLDER) :]
        if text.startswith("<") and text.endswith(">"):
            return text if re.fullmatch(r"<[\w .]+>", text) else "<code>"
        return self.path(text) if is_own(StackFrameReading(name="", file=text)) else text

    def program(self, text: str) -> str:
        """The name of a process: those that start or run jobs of anybody stay."""
        known = is_python_file(text) or is_boundary(text) or kind_of((text,)) != "program"
        return (
            text if not text or known or KNOWN_THREADS.match(text) else self.name("program", text)
        )

    def command(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """What it runs, as far as that makes it a rank, a launcher or a worker; no other argument."""
        if not argv:
            return argv
        own = argv[0].rpartition("/")[2]
        kept = _rank_options(argv[1:])
        python = python_of(argv)
        if python is None:
            if argv[1:2] and argv[1] in _VERBS and kind_of((own, argv[1])) == "launcher":
                return (own, argv[1], *kept)
            return (self.program(own), *kept)
        if is_spawned(argv):
            return (own, "-c", _SPAWNED, "--multiprocessing-fork")
        if python.kind == "module":
            launches = kind_of(("python", "-m", python.name)) == "launcher"
            return (own, "-m", python.name if launches else self._part(python.name), *kept)
        if python.kind == "script":
            base = python.name.rpartition("/")[2]
            verb = tuple(word for word in python.arguments[:1] if word in _VERBS)
            launches = kind_of(("python", base, *verb)) != "program"
            return (own, base if launches else self._part(base), *verb, *kept)
        return (own, "-c", LEFT_OUT) if python.kind == "code" else (own,)

    def environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Numbers stay: ranks and sizes. Everything else is a name, the same for the same."""
        return {
            name: value
            if _NUMBERS.fullmatch(value) or value in ("", "true", "false")
            else self.name("value", value)
            for name, value in variables.items()
        }

    def record(self, record: Record) -> Record:
        """A record, and all records in it."""
        kind = type(record)
        changes: dict[str, Any] = {}
        for field, how in _plan(kind):
            value = getattr(record, field)
            if value is None or value == ():
                continue
            changed = self._value(value, how)
            if changed is not value:
                changes[field] = changed
        return msgspec.structs.replace(record, **changes) if changes else record

    def group(self, text: str) -> str:
        """Of a process group: the words that say what it is for stay, which rules look for."""
        words = re.findall(r"[A-Za-z]+|\d+", text)
        known = [each for each in words if each.lower() in KNOWN_GROUP_WORDS or each.isdecimal()]
        return text if known == words else "_".join([self.name("group", text), *known])

    def flight_recorder(self, dump: object, key: str = "") -> object:
        """A dump of torch's flight recorder: its numbers, and the texts that are torch's own words."""
        if isinstance(dump, dict):
            pairs = cast("dict[str, object]", dump)
            return {
                self._field(name, key): self.flight_recorder(each, name)
                for name, each in pairs.items()
            }
        if isinstance(dump, list):
            return [self.flight_recorder(each, key) for each in cast("list[object]", dump)]
        if not isinstance(dump, str) or key in _RECORDER_WORDS or _NUMBERS.fullmatch(dump):
            return dump
        if key == "process_group":
            return self.group(dump)
        return self.file(dump) if key == "filename" else self.name("value", dump)

    def _field(self, name: str, of: str) -> str:
        """Names of fields are torch's; of the list of process groups, the groups' own."""
        return (
            name
            if name.isdecimal() or (_FIELD.fullmatch(name) and of not in _BY_GROUP)
            else self.group(name)
        )

    def _value(self, value: object, how: How) -> object:
        if isinstance(value, msgspec.Struct):
            return self.record(value)
        if isinstance(value, str):
            return self._text(value, how)
        if isinstance(value, tuple):
            items = cast("tuple[object, ...]", value)
            if how == "command":
                return self._command_known(cast("tuple[str, ...]", items))
            changed = tuple(self._value(each, how) for each in items)
            same = all(new is old for new, old in zip(changed, items, strict=True))
            return items if same else changed
        if isinstance(value, dict):
            return self._mapping(cast("dict[str, Any]", value), how)
        return value

    def _command_known(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """The same one comes in every sample."""
        known = self._commands.get(argv)
        if known is None:
            known = self._commands[argv] = self.command(argv)
        return known

    def _mapping(self, value: dict[str, Any], how: How) -> dict[str, Any]:
        if how == "environment":
            return self.environment(value)
        if how == "reasons":
            return {key: why if why in _PLAIN_REASONS else LEFT_OUT for key, why in value.items()}
        if how == "by phase":
            return {self._text(key, "phase"): each for key, each in value.items()}
        return value if how == "keep" else {}

    def _text(self, value: str, how: How) -> str:
        return self._ways.get(how, self._ways["drop"])(value)

    def _part(self, part: str) -> str:
        if not part:
            return part
        suffix = _SUFFIX.search(part)
        return self.name("path", part) + (suffix[0] if suffix else "")

    def _place(self, text: str) -> str:
        found = _PLACE.fullmatch(text)
        return f"{found['name']} ({self.file(found['file'])}{found['line'] or ''})" if found else ""


def _rank_options(words: Sequence[str]) -> tuple[str, ...]:
    """``--local-rank=3``, or in two words."""
    kept: list[str] = []
    for place, word in enumerate(words):
        if _RANK_OPTION.fullmatch(word):
            value = words[place + 1 : place + 2]
            kept += [word, *(each for each in value if "=" not in word and each.isdecimal())]
    return tuple(kept)


@cache
def _plan(kind: type) -> tuple[tuple[str, How], ...]:
    """The fields of a record in which there may be a text, or another record."""
    return tuple(
        (field.name, _how(kind, field.name))
        for field in msgspec.structs.fields(kind)
        if not _is_plain(field.type)
    )


def _is_plain(kind: Any) -> bool:
    """Whether it is of numbers and fixed words alone."""
    if get_origin(kind) is Literal:
        return True
    parts = get_args(kind)
    if parts:
        return all(part is Ellipsis or _is_plain(part) for part in parts)
    return kind in (int, float, bool, type(None))


def _how(kind: type, field: str) -> How:
    """What happens to a field; of one that no table names, its text is dropped."""
    if field == "missing":
        return "reasons"
    for base in kind.__mro__:
        found = FIELDS.get((base.__name__, field))
        if found is not None:
            return found
    return "drop"
