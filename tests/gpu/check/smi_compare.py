"""Every value of one frame of gputop beside nvidia-smi's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from .smi_values import ONLY_GPUTOP, VALUES, Value
from .smi_xml import MIB, leaves, told

AGREE, DIFFER, ONLY_HERE, ONLY_THERE, NEITHER = "agree", "differ", "only here", "only there", "N/A"
SHOWN = "not judged"
WRONG = frozenset({DIFFER, ONLY_THERE})
_FLICKER = frozenset({"gpu idle", "sw power cap"})
"""Reasons for clocks that come and go many times a second."""
_APART = ("supported_clocks/", "processes/", "mig_devices/", "clocks_")
"""Groups that are compared otherwise, or are lists of what could be."""
_PROCESS_SLACK = 64 * MIB


class Row(NamedTuple):
    """One value of one GPU, or of the driver."""

    subject: str
    field: str
    ours: Any
    theirs: Any
    verdict: str
    where: str = ""
    """In nvidia-smi's XML, or why gputop has none."""

    @property
    def wrong(self) -> bool:
        return self.verdict in WRONG


def compare(frame: Mapping[str, Any], xml: str) -> Iterator[Row]:
    """All rows.

    Args:
        frame: what ``gputop --once --format json`` printed.
        xml: what ``nvidia-smi -q -x`` printed.

    Raises:
        ParseError: that is no XML.
    """
    log = _parsed(xml)
    for field in ("driver_version", "cuda_version"):
        theirs = told(log, field)
        yield Row("driver", field, frame[field], theirs, judge(frame[field], theirs), field)
    unseen = {told(gpu, "uuid"): gpu for gpu in log.iter("gpu")}
    for ours in frame["gpus"]:
        subject = f"GPU {ours['index']}"
        gpu = unseen.pop(ours["uuid"], None)
        if gpu is None:
            yield Row(subject, "uuid", ours["uuid"], None, DIFFER, "no such GPU in nvidia-smi")
        else:
            yield from _of_gpu(subject, ours, gpu)
    for uuid in unseen:
        yield Row("GPU ?", "uuid", None, uuid, DIFFER, "no such GPU in gputop")


def unread(xml: str) -> list[str]:
    """What nvidia-smi tells of the first GPU and no row reads."""
    gpu = _parsed(xml).find("gpu")
    known = {place.split("/")[-1] for value in VALUES for place in value.path.places}
    told_of = leaves(gpu) if gpu is not None else ()
    return [
        f"{path} {text}"
        for path, text in told_of
        if path.split("/")[-1] not in known and not path.startswith(_APART)
    ]


def _parsed(xml: str) -> Element:
    """Warnings may stand before it."""
    return ElementTree.fromstring(xml[max(xml.find("<?xml"), 0) :])


def _of_gpu(subject: str, ours: Mapping[str, Any], gpu: Element) -> Iterator[Row]:
    for value in VALUES:
        here, there = ours.get(value.field), value.path.read(gpu)
        verdict = judge(here, there, value)
        where = value.path.places[0]
        if here is None:
            where += f"; gputop: {ours['missing'].get(value.field, 'no reason given')}"
        yield Row(subject, value.field, here, there, verdict, where)
    for field in sorted(ONLY_GPUTOP):
        here = ours.get(field)
        yield Row(subject, field, here, None, NEITHER if here is None else ONLY_HERE)
    yield from _processes(subject, ours, gpu)
    instances = len(gpu.findall("mig_devices/mig_device"))
    same = AGREE if len(ours["migs"]) == instances else DIFFER
    yield Row(subject, "migs", len(ours["migs"]), instances, same, "mig_devices/mig_device")


def _processes(subject: str, ours: Mapping[str, Any], gpu: Element) -> Iterator[Row]:
    """By their number, the memory of each; the two may be told other ones within a container."""
    here = {each["pid"]: each["memory_bytes"] for each in ours["processes"] or ()}
    there: dict[int, float | None] = {}
    for each in gpu.iter("process_info"):
        number, memory = told(each, "pid"), told(each, "used_memory")
        if number is not None:
            there[int(number)] = None if memory is None else float(memory.split()[0]) * MIB
    room = Value("memory", VALUES[0].path, _PROCESS_SLACK, 0.02)
    for pid in sorted(here.keys() | there.keys()):
        known = pid in here and pid in there
        verdict = judge(here.get(pid), there.get(pid), room) if known else DIFFER
        where = "processes/process_info" if known else "in one of the two only"
        yield Row(subject, f"process {pid}", here.get(pid), there.get(pid), verdict, where)


def judge(ours: Any, theirs: Any, value: Value | None = None) -> str:
    """One word for the two."""
    if ours is None and theirs is None:
        return NEITHER
    if value is not None and not value.judged:
        return SHOWN
    if ours is None or theirs is None:
        return ONLY_THERE if ours is None else ONLY_HERE
    if isinstance(ours, list):
        other = set(ours) ^ set(theirs)
        return AGREE if not other else SHOWN if other <= _FLICKER else DIFFER
    if isinstance(ours, str):
        return AGREE if ours.casefold() == theirs.casefold() else DIFFER
    slack, share = (value.slack, value.slack_share) if value is not None else (0.0, 0.0)
    room = max(slack, share * max(abs(ours), abs(theirs)), 1e-6 * abs(theirs))
    return AGREE if abs(ours - theirs) <= room else DIFFER
