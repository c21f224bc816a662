"""The part that compares gputop with nvidia-smi, both asked in the same second."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from .section import Section
from .setting import Setting, ask, gputop
from .smi_compare import AGREE, NEITHER, Row, compare, unread

_QUERY = ("nvidia-smi", "-q", "-x")
_LATEST_SECONDS = 1.0
"""Further apart the two say nothing of each other."""


class Pair(NamedTuple):
    """Both answers."""

    frame: dict[str, Any]
    xml: str
    apart_seconds: float


def run(setting: Setting, said: Section) -> None:
    """Compare once, on the machine as it is."""
    if shutil.which(_QUERY[0]) is None:
        said.skipped("there is no nvidia-smi here")
        return
    pair = take(setting.left_seconds)
    keep(pair, setting, "idle")
    tell(pair, said)
    others = unread(pair.xml)
    said.text(f"{len(others)} more that nvidia-smi tells of the first GPU: {'; '.join(others)}.")


def take(seconds: float) -> Pair:
    """Ask gputop, and nvidia-smi again and again meanwhile; its answer nearest to gputop's reading counts.

    Raises:
        RuntimeError: one of them has not answered.
    """
    answers: list[tuple[float, str]] = []
    ends = time.monotonic() + seconds
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        # Into files: a pipe that nobody empties meanwhile would hold it up.
        process = subprocess.Popen(
            gputop("--once", "--format", "json"),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
        )
        ended = False
        while not ended and time.monotonic() < ends:
            ended = process.poll() is not None
            answers.append(_query(ends - time.monotonic()))
        code = process.wait(max(ends - time.monotonic(), 1.0))
        output.seek(0)
        errors.seek(0)
        text = output.read()
        if not text:
            raise RuntimeError(f"gputop --once ended with {code}: {errors.read().strip()[:300]}")
    frame: dict[str, Any] = json.loads(text)
    read = [gpu["timestamp_seconds"] for gpu in frame["gpus"]] or [frame["timestamp_seconds"]]
    moment = sum(read) / len(read)
    apart, xml = min((abs(asked - moment), xml) for asked, xml in answers)
    return Pair(frame, xml, apart)


def _query(seconds: float) -> tuple[float, str]:
    began = time.time()
    done = ask(_QUERY, seconds)
    if "<nvidia_smi_log" not in done.stdout:
        raise RuntimeError(
            f"nvidia-smi ended with {done.returncode}: {(done.stderr or done.stdout).strip()[:300]}"
        )
    return (began + time.time()) / 2, done.stdout


def keep(pair: Pair, setting: Setting, name: str) -> None:
    """Both as they were: the first answers of a driver make good fixtures."""
    (setting.folder / f"frame-{name}.json").write_text(json.dumps(pair.frame), encoding="utf-8")
    (setting.folder / f"nvidia-smi-{name}.xml").write_text(pair.xml, encoding="utf-8")


def tell(pair: Pair, said: Section) -> None:
    """The table, and each value that is otherwise."""
    rows = list(compare(pair.frame, pair.xml))
    count = Counter(row.verdict for row in rows)
    summary = ", ".join(f"{number} {verdict}" for verdict, number in count.most_common())
    said.text(f"{pair.apart_seconds * 1e3:.0f} ms apart: {summary}.")
    if pair.apart_seconds > _LATEST_SECONDS:
        said.failure(f"the two were read {pair.apart_seconds:.1f} s apart: what moves may differ")
    for row in rows:
        if row.wrong:
            said.failure(
                f"{row.subject} {row.field} {row.verdict}: gputop {_shown(row.ours)}, "
                f"nvidia-smi {_shown(row.theirs)} ({row.where})"
            )
    said.table(("subject", "value", "gputop", "nvidia-smi", "verdict", "XML path"), _cells(rows))


def _cells(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """What is of interest first."""
    dull = (AGREE, NEITHER)
    ordered = sorted(rows, key=lambda row: (not row.wrong, row.verdict in dull))
    return [
        (row.subject, row.field, _shown(row.ours), _shown(row.theirs), row.verdict, row.where)
        for row in ordered
    ]


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return f"{value:.10g}" if isinstance(value, float) else str(value)
