"""Xid errors: each one once, with its GPU and time, kept for a while."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from nvml.simulated import SimulatedNvml
from support.nvml_watch import Outcome, Watch

UUID_3 = "GPU-03b7a1c2-5d3e-4f60-8a91-b2c3d4e5f603"


@pytest.fixture
def node(tmp_path: Path) -> SimulatedNvml:
    return SimulatedNvml("h100x8", directory=tmp_path)


def events(watch: Watch, advance: float = 1.0) -> Outcome:
    return watch.tick(advance).outcomes["nvml events"]


def test_xids_arrive_with_their_gpu_and_stay(node: SimulatedNvml) -> None:
    with Watch(node.env()) as watch:
        assert events(watch).xids == ()
        begin = time.time()
        node.xid(3, 79)
        assert len(events(watch).xids) == 1
        node.xid(5, 31)
        node.xid(3, 79)
        events(watch)
        xids = events(watch).xids
    assert [(xid.gpu_index, xid.code) for xid in xids] == [(3, 79), (5, 31), (3, 79)] or [
        (xid.gpu_index, xid.code) for xid in xids
    ] == [(3, 79), (3, 79), (5, 31)]
    assert (xids[0].gpu_uuid, xids[0].pid, xids[0].origin) == (UUID_3, None, "nvml event")
    assert begin <= xids[0].time_seconds <= time.time()


def test_xid_of_a_lost_gpu_still_names_it(node: SimulatedNvml) -> None:
    with Watch(node.env()) as watch:
        watch.tick()
        node.xid(3, 79)
        node.lose(3)
        (xid,) = events(watch).xids
    assert (xid.gpu_index, xid.gpu_uuid, xid.code) == (3, UUID_3, 79)


def test_only_the_last_fifty_are_kept(node: SimulatedNvml) -> None:
    with Watch(node.env()) as watch:
        watch.tick()
        for code in range(1, 53):
            node.xid(0, code)
            xids = watch.tick(only="nvml events").outcomes["nvml events"].xids
    assert [xid.code for xid in xids] == list(range(3, 53))


def test_gpu_lost_at_start_is_registered_when_it_returns(node: SimulatedNvml) -> None:
    node.set({"gpu.3.lost_at_start": True})
    with Watch(node.env()) as watch:
        assert events(watch).status == "ok"
        node.unset("gpu.3.lost_at_start")
        watch.tick(advance=11)
        node.xid(3, 48)
        (xid,) = events(watch).xids
    assert (xid.gpu_index, xid.code) == (3, 48)


@pytest.mark.parametrize(
    ("function", "where", "error", "status", "reason"),
    [
        ("nvmlEventSetCreate", "system", "NO_PERMISSION", "denied", "no permission to wait"),
        ("nvmlDeviceRegisterEvents", "*", "NOT_SUPPORTED", "unsupported", "no GPU here reports"),
        ("nvmlEventSetWait", "system", "UNKNOWN", "failed", "driver says: Unknown Error"),
        ("nvmlEventSetWait", "system", "GPU_IS_LOST", "failed", "GPU is lost"),
    ],
)
def test_what_cannot_be_waited_for_says_why_and_is_tried_again(
    node: SimulatedNvml, function: str, where: str, error: str, status: str, reason: str
) -> None:
    node.fault(function, where, error)
    with Watch(node.env()) as watch:
        outcome = events(watch)
        assert (outcome.status, outcome.reason.startswith(reason)) == (status, True)
        tries = sum(count for (name, _), count in node.calls().items() if function in name)
        assert events(watch).status == status
        assert tries == sum(count for (name, _), count in node.calls().items() if function in name)
        node.fault(function, where, "none")
        assert events(watch, advance=11).status == "ok"
        node.xid(1, 63)
        assert [xid.code for xid in events(watch).xids] == [63]


def test_xids_survive_a_reload(node: SimulatedNvml) -> None:
    with Watch(node.env()) as watch:
        watch.tick()
        node.xid(3, 79)
        watch.tick()
        node.fault("*", "*", "DRIVER_NOT_LOADED")
        watch.ticks(2)
        node.fault("*", "*", "none")
        watch.tick(advance=31)
        node.xid(2, 31)
        codes = [xid.code for xid in events(watch).xids]
    assert codes == [79, 31]
