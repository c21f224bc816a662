"""The host's screen: what is read of the node and has no place on the line below each screen."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gputop.probes.model.host_frames import DiskFrame, NetworkFrame
from gputop.probes.model.link_readings import ImexReading
from gputop.probes.model.mount_frames import MountFrame
from gputop.tui.drawing.lines import spans_width, text_of
from gputop.tui.panels.host_fact_terms import HOST_FACT_TERMS
from gputop.tui.panels.host_facts import host_fact_lines
from gputop.tui.screens.host_screen import HostScreen

from support.tui_watch import app_of, changed, judgement, press, running, view

DISK = DiskFrame(
    name="nvme0n1",
    read_bytes=0,
    write_bytes=0,
    busy_seconds=0.0,
    read_bytes_per_second=2.1e9,
    write_bytes_per_second=1e6,
    busy_ratio=0.93,
)
NETWORK = NetworkFrame(
    name="eth0",
    rx_bytes=0,
    tx_bytes=0,
    up=True,
    speed_bytes_per_second=12.5e9,
    rx_bytes_per_second=1e6,
    tx_bytes_per_second=2e6,
    dropped_per_second=3.0,
    dropped_since_start=41,
)
VALUES: dict[str, Any] = {
    "cpu_iowait_ratio": 0.07,
    "load_5m": 31.5,
    "load_15m": 22.25,
    "swap_total_bytes": 8 << 30,
    "swap_free_bytes": 6 << 30,
    "swap_out_bytes_per_second": 3e6,
    "pressure_io_full_ratio": 0.42,
    "tcp_retransmissions_per_second": 17.0,
    "disks": (DISK,),
    "networks": (NETWORK,),
}


def facts(**more: Any) -> str:
    judged = judgement()
    host = judged.frame.host
    assert host is not None
    frame = msgspec.structs.replace(
        judged.frame, host=msgspec.structs.replace(host, **VALUES), **more
    )
    return " ".join(" ".join(map(text_of, host_fact_lines(frame, 160))).split())


@pytest.mark.parametrize(
    "words",
    [
        "waits for IO 7.0 %",
        "31.5 22.2",
        "swap in use 2.0 GiB of 8.0 GiB",
        "out 3.0 MB/s",
        "all tasks at once 42 %",
        "nvme0n1 busy 93 %",
        "eth0 up",
        "dropped 41, now 3.0/s",
        "retransmitted 17.0/s",
        "NVML 13.580",
        "packets",
        "firmware",
    ],
)
def test_each_value_is_drawn(words: str) -> None:
    assert words in facts()


def test_imex_is_drawn_where_there_is_some() -> None:
    assert "IMEX" not in facts()
    imex = ImexReading(monotonic_seconds=0.0, domain_nodes=18, daemon_runs=False, channels=2)
    assert "daemon does not run" in facts(imex=imex)


def test_a_network_file_system_is_drawn() -> None:
    mount = MountFrame(
        monotonic_seconds=0.0,
        pid=1,
        start_time_seconds=0.0,
        mount_point="/data",
        device="nas:/export",
        file_system="nfs4",
        timeouts=7,
        operations_per_second=120.0,
        await_seconds=0.034,
        retransmission_ratio=0.02,
    )
    text = facts(mounts=(mount,))
    assert "/data 120/s requests of 34 ms" in text and "7 timed out in all · nas:/export" in text


def test_a_host_that_is_not_read_has_what_is_known_beside_it() -> None:
    frame = msgspec.structs.replace(judgement().frame, host=None)
    text = " ".join(map(text_of, host_fact_lines(frame, 100)))
    assert "Software" in text and "Disks" not in text


@pytest.mark.parametrize("size", [(60, 16), (80, 24), (132, 43), (200, 50)])
def test_every_line_is_as_wide_as_the_screen_and_all_can_be_reached(size: tuple[int, int]) -> None:
    width, height = size
    shown = view(changed(judgement(), host=judgement().frame.host))
    screen = HostScreen()
    first = screen.draw(shown, width, height).lines
    assert len(first) == height and all(spans_width(line) == width for line in first)
    wanted = [text_of(line).strip() for line in host_fact_lines(shown.frame, width - 2)]
    seen: set[str] = set()
    for at in range(len(wanted)):
        screen._first = at
        seen |= {text_of(line).strip() for line in screen.draw(shown, width, height).lines}
    assert set(wanted) <= seen


async def test_a_key_opens_it_and_it_scrolls() -> None:
    app, _ = app_of(judgement())
    async with running(app, (80, 16)) as pilot:
        await press(pilot, "7")
        screen = app.screen
        assert isinstance(screen, HostScreen)
        await press(pilot, "down", "down")
        assert screen._first == 2
        await press(pilot, "escape")
        assert not isinstance(app.screen, HostScreen)


def test_every_fact_is_explained() -> None:
    groups = {"Software", "CPU", "Memory", "Pressure", "TCP"}
    for title in groups:
        labels = {term.name for term in HOST_FACT_TERMS[title]}
        assert all(f" {label} " in f" {facts()} " for label in labels if "..." not in label)
