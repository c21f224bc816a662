"""Credentials that stand in words of their own: after an option, or where a program has them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from .secret_hints import MASK
from .secret_names import Holds, holds
from .secret_programs import AMBIGUOUS, HABITS, WRAPPERS, Habit
from .secret_values import concealed, is_secret_value, unquoted

_OPTION = re.compile(r"--?[A-Za-z][\w.-]*")
_BUNDLE = re.compile(r"-[A-Za-z]{2,8}")
_ASSIGNMENT = re.compile(r"[A-Za-z_][\w.-]*=.*", re.DOTALL)
_SEPARATORS = frozenset(";|&()\n`")
_SHORT = 2
"""Characters of an option with one letter."""


class CommandWords:
    """Follows the words of one command after the other, and masks what they say is a credential."""

    def __init__(self) -> None:
        self._expected = Holds.NOTHING
        self._separator = ""
        self._begin()

    def _begin(self) -> None:
        self._habits: tuple[Habit, ...] = ()
        self._said: set[str] = set()
        self._positional: Counter[int] = Counter()
        self._may_begin = True

    def masked(self, raw: str) -> str | None:
        """The next word without its credential; ``None`` where its place does not make it one."""
        if raw in _SEPARATORS:
            self._begin()
            self._expected, self._separator = Holds.NOTHING, ""
            return None
        word = unquoted(raw)
        expected, self._expected = self._expected, Holds.NOTHING
        separator, self._separator = self._separator, ""
        if word and not word.startswith("--"):
            if separator:
                return _masked_pair(raw, separator)
            if is_secret_value(expected, word):
                return concealed(raw)
        return self._of_option(word) if word.startswith(("-", "/p:")) else self._of_word(raw, word)

    def _of_option(self, word: str) -> str | None:
        if not self._habits:  # nearly always
            self._expected = holds(word) if _OPTION.fullmatch(word) else Holds.NOTHING
            return None
        name, equals, value = word.partition("=")
        habits = list(self._active())
        for habit in habits:
            if equals and name in habit.pairs:
                return f"{name}={_masked_pair(value, habit.pairs[name])}"
            masked = _unglued(habit, word)
            if masked is not None:
                return masked
        self._said.add(word)
        if not equals:
            self._expect(word, habits)
        return None

    def _expect(self, option: str, habits: list[Habit]) -> None:
        if _OPTION.fullmatch(option):
            self._expected = holds(option)
        bundled = f"-{option[-1]}" if _BUNDLE.fullmatch(option) else option
        for habit in habits:
            if option in habit.values:
                self._expected = Holds.PASSWORD
            self._separator = self._separator or habit.pairs.get(
                option, habit.pairs.get(bundled, "")
            )

    def _of_word(self, raw: str, word: str) -> str | None:
        if self._begins_program(word):
            return None
        if not self._habits:
            return None
        masked: str | None = None
        for habit in self._active():
            place = self._place(habit, word)
            masked = masked or self._of_place(habit, place, raw, word)
            if habit.named:
                kind = holds(word)
                self._expected = kind if kind is not Holds.KEY else self._expected
        self._said.add(word)
        return masked

    def _place(self, habit: Habit, word: str) -> int:
        """Which of the words after the verb this is; below 0 the verb."""
        if word in habit.verbs:
            return -1
        self._positional[id(habit)] += 1
        return self._positional[id(habit)] - 1

    def _of_place(self, habit: Habit, place: int, raw: str, word: str) -> str | None:
        if habit.positional_from is None or place < habit.positional_from:
            return None
        plain = "://" in word or _ASSIGNMENT.fullmatch(word.rstrip("="))
        secret = not plain and is_secret_value(Holds.PASSWORD, word)
        return concealed(raw) if secret else None

    def _begins_program(self, word: str) -> bool:
        """Whether this is the name of a program with habits; it and what wraps it is no argument."""
        path = word.rpartition("=")[2]
        name = path.rpartition("/")[2]
        habits = HABITS.get(name)
        if habits is not None and (self._may_begin or name not in AMBIGUOUS):
            self._begin()
            self._habits, self._may_begin = habits, False
            return True
        if self._may_begin:
            wraps = name in WRAPPERS or word.isdigit() or _ASSIGNMENT.fullmatch(word) is not None
            self._may_begin = wraps
        return False

    def _active(self) -> Iterator[Habit]:
        for habit in self._habits:
            if not habit.verbs or not habit.verbs.isdisjoint(self._said):
                yield habit


def _unglued(habit: Habit, word: str) -> str | None:
    for option in habit.glued:
        if word.startswith(option) and len(word) > len(option):
            rest = word[len(option) :]
            return option + concealed(rest) if is_secret_value(Holds.PASSWORD, rest) else None
    for option, separator in habit.pairs.items():
        glued = len(option) == _SHORT and word.startswith(option)
        if glued and separator in word[_SHORT:]:
            return option + _masked_pair(word[_SHORT:], separator)
    return None


def _masked_pair(raw: str, separator: str) -> str:
    quote = raw[0] if raw[:1] in ('"', "'") else ""
    user, found, password = raw.partition(separator)
    if not found or not is_secret_value(Holds.PASSWORD, password.rstrip(quote or None)):
        return raw
    return f"{user}{separator}{MASK}{quote if raw.endswith(quote) else ''}"
