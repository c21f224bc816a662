"""Our records as public JSON. Every command that prints records prints them through here.

All fields are printed, also those that hold their default, so that a record always has the same shape.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, Protocol, cast

import msgspec

from ...probes.model.gpu_frames import GpuFrame
from ...probes.model.job_frames import JobFrame, RankFrame
from ...probes.model.link_frames import PortFrame
from ...probes.model.link_readings import WAIT_TICK_BYTES
from ...rules.finding import Account, Evidence, Judgement
from ..drawing.finding_words import label_of
from .json_names import EVERYWHERE, PROBE_STATUS, RECORDS, SIGNAL_RECORDS, Changed, Public

JSON_SCHEMA_VERSION = 2
"""Of the public names and what they mean. The samples' own is `WIRE_SCHEMA_VERSION`."""

_NO_RATE = "the rate of the port is not known"
_NOT_SEEN = "its phases were not seen for long enough yet"
_NOT_WATCHED = "it was not watched for long enough yet"
_ENDED = "it has exited"


class Dated(Protocol):
    """A sample, or a frame."""

    @property
    def time_seconds(self) -> float: ...
    @property
    def monotonic_seconds(self) -> float: ...
    @property
    def suspended_seconds(self) -> float: ...


class Clock(NamedTuple):
    """What makes Unix time of a node's other clocks."""

    monotonic_zero: float
    """Unix time at which the monotonic clock showed 0, had the node never been suspended since."""
    boot: float

    @classmethod
    def of(cls, dated: Dated) -> Clock:
        """The clock of the node from which that is."""
        zero = dated.time_seconds - dated.monotonic_seconds
        return cls(zero, zero - dated.suspended_seconds)

    @classmethod
    def here(cls) -> Clock:
        """This node's. By the kernel's clock: psutil's boot time is in whole seconds."""
        now = time.time()
        return cls(
            now - time.clock_gettime(time.CLOCK_MONOTONIC),
            now - time.clock_gettime(time.CLOCK_BOOTTIME),
        )


class Output:
    """Turns records into what is encoded.

    Args:
        clock: of the node from which the records are.
        accounts: of the ranks, GPUs and jobs among them.
    """

    def __init__(self, clock: Clock, accounts: Sequence[Account] = ()) -> None:
        self._clock = clock
        self._accounts: dict[tuple[str, str], list[Account]] = {}
        for account in accounts:
            self._accounts.setdefault(_whose(account), []).append(account)

    def encode(self, **fields: object) -> bytes:
        """One object, which begins with the version."""
        return self._encoded({name: self.value(each) for name, each in fields.items()})

    def encode_record(self, record: msgspec.Struct, **more: object) -> bytes:
        """The same of a record's own fields, and some beside them."""
        printed = self._record(record)
        return self._encoded({**printed, **{name: self.value(each) for name, each in more.items()}})

    def value(self, value: object) -> object:
        """What stands for it in JSON."""
        if isinstance(value, msgspec.Struct):
            return self._record(value)
        if isinstance(value, Mapping):
            pairs = cast("Mapping[object, object]", value)
            return {str(key): self.value(each) for key, each in pairs.items()}
        if isinstance(value, list | tuple):
            return [self.value(each) for each in cast("Sequence[object]", value)]
        return value

    def _encoded(self, printed: dict[str, Any]) -> bytes:
        return msgspec.json.encode({"schema_version": JSON_SCHEMA_VERSION, **printed}) + b"\n"

    def _record(self, record: msgspec.Struct) -> dict[str, Any]:
        names = public_names(type(record))
        printed: dict[str, Any] = {}
        for field, public in names.items():
            value: object = getattr(record, field)
            if isinstance(public, Changed):
                printed[public.name] = self._changed(public, value, record)
            elif public is not None:
                printed[public] = self.value(value)
        if "missing" in printed:
            printed["missing"] = _missing(printed["missing"], names)
        if isinstance(record, RankFrame):
            self._add_rank_ledger(record, printed)
        elif isinstance(record, GpuFrame):
            printed["ledger"] = self.ledger_of("gpu", str(record.index))
            if printed["ledger"] is None:
                printed["missing"] = {**printed["missing"], "ledger": _NOT_WATCHED}
        elif isinstance(record, JobFrame):
            printed["ledger"] = self.ledger_of("job", record.id)
        elif isinstance(record, PortFrame):
            _tell_unknown_wait(record, printed)
        elif isinstance(record, Evidence):
            printed["signal"] = public_signal(record.signal)
            printed["label"] = label_of(record)
        return printed

    def _changed(self, public: Changed, value: Any, record: msgspec.Struct) -> float | None:
        if value is None:
            return None
        if public.how == "moment":
            return float(self._clock.monotonic_zero + value)
        if public.how == "start":
            return float(self._clock.boot + value)
        if public.how == "boot":
            return self._clock.boot
        rate: float | None = getattr(record, "rate_bytes_per_second", None)
        return float(value * WAIT_TICK_BYTES / rate) if rate else None

    def _add_rank_ledger(self, rank: RankFrame, printed: dict[str, Any]) -> None:
        ended = rank.ended_age_seconds is not None
        printed["ledger"] = None if ended else self.ledger_of("rank", str(rank.pid))
        if printed["ledger"] is None:
            because = _ENDED if ended else rank.missing.get("phase") or _NOT_SEEN
            printed["missing"] = {**printed["missing"], "ledger": because}

    def ledger_of(self, kind: str, name: str) -> dict[str, Any] | None:
        """Its accounts by their windows; ``None``: nothing of it was seen yet."""
        found = self._accounts.get((kind, name))
        return None if found is None else {_window(each): self._ledger(each) for each in found}

    def _ledger(self, account: Account) -> dict[str, Any]:
        printed: dict[str, Any] = {
            "seen_duration_seconds": account.seconds,
            "entries": self.value(account.entries),
        }
        if account.window == "watch":
            printed["since_timestamp_seconds"] = account.since_seconds
            printed["unseen_duration_seconds"] = account.unseen_seconds
        return printed


def _whose(account: Account) -> tuple[str, str]:
    subject = account.subject
    return (subject.kind, subject.id if subject.kind != "rank" else str(account.pid))


def frame_json(judgement: Judgement) -> bytes:
    """A frame with its findings."""
    frame = judgement.frame
    output = Output(Clock.of(frame), judgement.accounts)
    return output.encode_record(frame, **_beside(judgement, output))


def printed_frame(judgement: Judgement, output: Output) -> dict[str, Any]:
    """The same, before it is encoded."""
    printed = cast("dict[str, Any]", output.value(judgement.frame))
    beside = _beside(judgement, output)
    return {**printed, **{name: output.value(value) for name, value in beside.items()}}


def _beside(judgement: Judgement, output: Output) -> dict[str, object]:
    return {
        "ledger": output.ledger_of("node", judgement.frame.node),
        "findings": judgement.findings,
        "rules_not_evaluated": judgement.not_evaluated,
    }


def probe_status_json(status: Mapping[str, object]) -> bytes:
    """What a probe says of itself."""
    return Output(Clock.here()).encode(
        **{PROBE_STATUS.get(name, name): value for name, value in status.items()}
    )


@cache
def public_names(record: type) -> Mapping[str, Public]:
    """What each field of a record is called outside, in the order in which they are printed."""
    tables = [RECORDS[each] for each in record.__mro__ if each in RECORDS] + [EVERYWHERE]
    return {
        field.name: next((table[field.name] for table in tables if field.name in table), field.name)
        for field in msgspec.structs.fields(record)
    }


@cache
def public_signal(signal: str) -> str:
    """What evidence names is a field's public name, or one that its rule made like those."""
    for record in SIGNAL_RECORDS:
        public = public_names(record).get(signal)
        if public is not None:
            return public.name if isinstance(public, Changed) else public
    length = re.fullmatch(r"(.*?)(_duration|_age)?_seconds", signal)
    return f"{length[1]}{length[2] or '_duration'}_seconds" if length else signal


def _missing(missing: Mapping[str, str], names: Mapping[str, Public]) -> dict[str, str]:
    """Under the public names; without fields that are left out."""
    found: dict[str, str] = {}
    for field, why in missing.items():
        public = names.get(field, field)
        if public is not None:
            found[public.name if isinstance(public, Changed) else public] = why
    return found


def _tell_unknown_wait(port: PortFrame, printed: dict[str, Any]) -> None:
    if port.wait_ticks is not None and printed["wait_seconds_total"] is None:
        printed["missing"] = {**printed["missing"], "wait_seconds_total": _NO_RATE}


def _window(account: Account) -> str:
    return account.window.replace(" ", "_")
