"""Thresholds of the rules, as changed in a TOML file.

    [HW201]
    temperature_celsius = 85

A table is a rule, a key one of its thresholds; units are as in the catalogue (`gputop rules ID`).
"""

from __future__ import annotations

import math
import os
import re
import stat
import tomllib
from pathlib import Path
from typing import Any, cast

from .catalogue import RULES
from .rule import Rule, Threshold
from .suggestion import suggestion

MOST_BYTES = 1 << 20
"""A file with every threshold of every rule has a hundredth of that."""

_LONGEST_QUOTE = 80


class SettingsError(Exception):
    """The file cannot be used. The text is one sentence for people."""


def load(path: Path) -> dict[str, dict[str, float]]:
    """The thresholds that the file changes: rule id → threshold name → value.

    Raises:
        SettingsError: the file cannot be read, or a table, key or value of it means nothing.
    """
    try:
        text = _bytes(path).decode()
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path} is not UTF-8 text") from error
    try:
        tables: dict[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError, OverflowError) as error:
        # A number of thousands of digits is no TOMLDecodeError, and neither are thousands of brackets.
        raise SettingsError(f"{path} is not valid TOML: {_shorten(str(error))}") from error
    rules = {rule.id: rule for rule in RULES}
    return {name: _table(path, name, table, rules) for name, table in tables.items()}


def _shorten(text: str) -> str:
    """For a message: neither long, nor of more than one line."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_QUOTE else f"{line[:_LONGEST_QUOTE]}…"


def _bytes(path: Path) -> bytes:
    """The whole file, unless it has no end or would be waited for.

    Raises:
        SettingsError: it is no regular file, or too large to be one with settings.
        OSError: it cannot be read.
    """
    with open(path, "rb", opener=_open) as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise SettingsError(f"{path} is larger than 1 MiB: it cannot be a file of thresholds")
    return data


def _open(path: str, flags: int) -> int:
    # Without blocking, for a pipe that nobody writes to is waited for when it is opened.
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise SettingsError(f"{path} is not a regular file")
    return descriptor


def _table(path: Path, name: str, table: object, rules: dict[str, type[Rule]]) -> dict[str, float]:
    rule = rules.get(name)
    if rule is None:
        raise SettingsError(f"{path}: [{_shorten(name)}] is no rule{_meant(name, rules)}")
    if not isinstance(table, dict):
        raise SettingsError(f"{path}: {name} must be a table, written as [{name}]")
    keys = cast(dict[str, object], table)
    return {
        key: _value(f"{path}: {name}.{_shorten(key)}", key, value, rule)
        for key, value in keys.items()
    }


def _meant(name: str, rules: dict[str, type[Rule]]) -> str:
    """The rule with such an id or name, or how to find it."""
    ids = {rule.name.lower(): rule.id for rule in rules.values()}
    if exact := ids.get(re.sub(r"[_-]", " ", name).lower()):
        return f"; did you mean {exact}?"
    return suggestion(name, rules) or "; gputop rules lists them"


def _value(place: str, key: str, value: object, rule: type[Rule]) -> float:
    threshold = rule.thresholds.get(key)
    if threshold is None:
        near = (
            suggestion(key, rule.thresholds) or f"; it has {', '.join(rule.thresholds) or 'none'}"
        )
        raise SettingsError(f"{place} is no threshold of {rule.name}{near}")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SettingsError(f"{place} must be a number, not {_shorten(repr(value))}")
    try:
        return _in_range(place, float(value), threshold)
    except OverflowError as error:
        raise SettingsError(f"{place} is too large a number") from error


def _in_range(place: str, value: float, threshold: Threshold) -> float:
    highest = 1.0 if threshold.unit == "ratio" else math.inf
    if not 0 <= value <= highest or math.isinf(value):
        allowed = "from 0 to 1" if threshold.unit == "ratio" else "of 0 or more"
        raise SettingsError(f"{place} must be a number {allowed}, not {value:g}")
    return value
