"""Reads the corpora of command lines, and counts what masking does to them."""

from __future__ import annotations

import random
import re
import shlex
import string
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gputop.probes.sources.procfs.redaction import MASK, mask_command

FIXTURES = Path(__file__).parents[1] / "fixtures"
_DRAWN = re.compile(r"\{([xbABud])(\d+)\}")
_ALPHABETS = {
    "x": "0123456789abcdef",
    "d": string.digits,
    "b": string.ascii_letters + string.digits,
    "A": string.ascii_uppercase + string.digits,
    "u": string.ascii_letters + string.digits + "-_",
    "B": string.ascii_letters + string.digits + "+/",
}
_SECRET = re.compile("«([^»]*)»")
_NOT_HARMLESS = re.compile("«[^»]*»|‹[^›]*›|" + re.escape(MASK))
_WORD = re.compile(r"[^\s=:;,&?\"'(){}\[\]@]+")


class Line(NamedTuple):
    """A command line, and what of it may leave."""

    text: str
    argv: tuple[str, ...]
    secrets: tuple[str, ...]
    harmless: Counter[str]


class Score(NamedTuple):
    """How well a corpus was masked."""

    secrets: int
    leaked: tuple[str, ...]
    words: int
    lost: tuple[str, ...]

    @property
    def recall(self) -> float:
        """Of the credentials, the part that is masked."""
        return 1 - len(self.leaked) / self.secrets

    @property
    def lost_ratio(self) -> float:
        """Of the harmless words, the part that is masked."""
        return len(self.lost) / self.words

    @property
    def precision(self) -> float:
        """Of what is masked, the part that is a credential."""
        hidden = self.secrets - len(self.leaked)
        return hidden / (hidden + len(self.lost))


def lines_of(corpus: str, seed: int = 0) -> Iterator[Line]:
    """The command lines of a corpus, with keys drawn by lot where it asks for them."""
    lot = random.Random(seed)
    for text in (FIXTURES / corpus).read_text(encoding="utf-8").splitlines():
        if text and not text.startswith("#"):
            marked = shlex.split(_DRAWN.sub(lambda found: _drawn(lot, found), text))
            yield Line(
                text,
                tuple(re.sub("[«»‹›]", "", word) for word in marked),
                tuple(secret for word in marked for secret in _SECRET.findall(word)),
                Counter(word for each in marked for word in words_of(each)),
            )


def words_of(text: str) -> list[str]:
    """The words that are neither a credential nor a mask."""
    return _WORD.findall(_NOT_HARMLESS.sub(" ", text))


def _drawn(lot: random.Random, asked: re.Match[str]) -> str:
    return "".join(lot.choices(_ALPHABETS[asked[1]], k=int(asked[2])))


def scored(corpus: str, seed: int = 0) -> Score:
    """What masking does to a corpus. Half of a credential is a leak as well."""
    secrets = words = 0
    leaked: list[str] = []
    lost: list[str] = []
    for line in lines_of(corpus, seed):
        masked = mask_command(line.argv)
        told = "\n".join(masked)
        secrets += len(line.secrets)
        leaked += (
            f"{each} in {line.text}" for each in line.secrets if each[len(each) // 2 :] in told
        )
        words += line.harmless.total()
        left = Counter(word for each in masked for word in words_of(each))
        lost += (f"{word} in {line.text}" for word in (line.harmless - left).elements())
    return Score(secrets, tuple(leaked), words, tuple(lost))
