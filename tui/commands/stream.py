"""``gputop stream``: what is seen as JSON lines, for programs that go on with it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec

from ...probes.feeds.protocol import FeedError
from ...rules.finding import Judgement
from ...rules.suggestion import suggestion
from ..console.errors import UsageError
from ..console.exits import COULD_NOT_LOOK, OK, complain
from ..console.output import say
from ..reports.json_output import JSON_SCHEMA_VERSION, Clock, Output, printed_frame
from ..session.watch import Watch

Line = dict[str, Any]
KINDS = ("frames", "ranks", "gpus", "findings")


def stream(watch: Watch, options: Namespace) -> int:
    """Until it is interrupted, or there were so many looks; returns the exit code."""
    fields = _fields(options.fields, options.what)
    looks = 0
    try:
        for judgement in watch.judgements():
            for line in lines(judgement, options.what):
                say(msgspec.json.encode(_chosen(line, fields)).decode())
            looks += 1
            if options.count is not None and looks >= options.count:
                break
    except FeedError as error:
        return complain(str(error), COULD_NOT_LOOK)
    finally:
        watch.close()
    return OK


def lines(judgement: Judgement, what: str) -> Iterator[Line]:
    """One for each thing of that kind; each tells when and where it is of."""
    frame = judgement.frame
    output = Output(Clock.of(frame), judgement.accounts)
    when: Line = {
        "schema_version": JSON_SCHEMA_VERSION,
        "timestamp_seconds": frame.time_seconds,
        "node": frame.node,
    }
    for record in _RECORDS[what](judgement, output):
        yield {**when, **record}


def _of(records: Sequence[msgspec.Struct], output: Output) -> Iterator[Line]:
    for record in records:
        yield cast("Line", output.value(record))


def _ranks(judgement: Judgement, output: Output) -> Iterator[Line]:
    for job in judgement.frame.jobs:
        for record in _of(job.ranks, output):
            yield {"job_id": job.id, "job_name": job.name, **record}


_RECORDS: Mapping[str, Callable[[Judgement, Output], Iterator[Line]]] = {
    "frames": lambda judgement, output: iter([printed_frame(judgement, output)]),
    "ranks": _ranks,
    "gpus": lambda judgement, output: _of(judgement.frame.gpus, output),
    "findings": lambda judgement, output: _of(judgement.active, output),
}


def _fields(words: str | None, what: str) -> tuple[str, ...]:
    """The fields that were asked for.

    Raises:
        UsageError: where lines of that kind have no such field, whether or not one is ever printed.
    """
    chosen = tuple(filter(None, (words or "").split(",")))
    if chosen:
        from ..reports.json_types import line_type

        known = [field.encode_name for field in msgspec.structs.fields(line_type(what))]
        for field in chosen:
            if field not in known:
                raise UsageError(f"{what} have no field {field!r}{suggestion(field, known)}")
    return chosen


def _chosen(line: Line, fields: Sequence[str]) -> Line:
    """Those fields alone, and when and where they are of; all without any."""
    if not fields:
        return line
    return {name: line[name] for name in ("timestamp_seconds", "node", *fields)}
