"""The links screen: every size, every kind of node, and what is said of missing values."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputop.probes.model.link_frames import LinkFrame
from gputop.rules.finding import Finding, Judgement, Subject
from gputop.tui.app.app import GputopApp
from gputop.tui.drawing.lines import text_of, width_of
from gputop.tui.drawing.missing import why_missing
from gputop.tui.drawing.target import Block, link_target
from gputop.tui.screens.link_screen import draw, draw_nvlinks
from gputop.tui.screens.picture_screen import picture
from gputop.tui.session.view import View
from gputop.tui.widgets.canvas import Canvas

from support.tui_watch import UNIX, app_of, changed, judgement, view, with_gpu

SCENARIOS = ("healthy", "link-down", "two-islands", "congested-infiniband", "gpu-lost")


def text(shown: View, width: int = 132, height: int = 43) -> str:
    return "\n".join(text_of(line) for line in drawn(shown, width, height).lines)


def drawn(shown: View, width: int, height: int) -> Block:
    block = picture(shown, width, height, draw)
    assert len(block.lines) == len(block.targets) == height
    assert {width_of(text_of(line)) for line in block.lines} == {width}
    return block


@given(
    width=st.integers(min_value=20, max_value=250),
    height=st.integers(min_value=5, max_value=70),
    scenario=st.sampled_from(SCENARIOS),
    filter=st.sampled_from(["", "mlx5", "GPU", "no such link"]),
    links=st.integers(min_value=0, max_value=40),
    topology=st.booleans(),
)
@settings(max_examples=100)
def test_it_has_exactly_its_size(
    width: int, height: int, scenario: str, filter: str, links: int, topology: bool
) -> None:
    judged = judgement(scenario)
    judged = changed(judged, links=judged.frame.links[:links])
    if not topology:
        judged = changed(judged, topology=None)
    drawn(view(judged, filter=filter), width, height)


def test_links_with_findings_come_first() -> None:
    lines = text(view(judgement("link-down"))).splitlines()
    assert lines[3].split()[:3] == ["mlx5_3/1", "IB", "down"]
    assert "RDMA port down" in lines[3]


def test_every_link_is_within_reach() -> None:
    shown = view(judgement("link-down"))
    for link in shown.frame.links:
        chosen = msgspec.structs.replace(shown, selected=link_target(link.id))
        block = drawn(chosen, 80, 23)
        assert link_target(link.id) in block.targets


def shown_text(app: GputopApp) -> str:
    return "\n".join(text_of(line) for line in app.screen.query_one(Canvas).lines)


def single(shown: View, width: int, height: int, index: int | None) -> list[str]:
    def alone(shown: View, width: int, height: int) -> Block:
        return draw_nvlinks(shown, width, height, index)

    block = picture(shown, width, height, alone)
    assert len(block.lines) == len(block.targets) == height
    assert {width_of(text_of(line)) for line in block.lines} == {width}
    return [text_of(line) for line in block.lines]


def test_single_nvlinks_with_their_ends() -> None:
    lines = single(view(judgement("two-islands")), 132, 30, 5)
    assert "GPU 5 · 12 of 12 up" in lines[1]
    assert lines[2].split()[:5] == ["link", "state", "gen", "leads", "to"]
    assert lines[3].split()[:5] == ["0", "up", "3", "GPU", "4"]
    assert lines[14].split()[:5] == ["11", "up", "3", "GPU", "7"]


def test_eighteen_links_fit_into_a_small_terminal() -> None:
    lines = single(view(), 80, 23, 0)
    numbers = [line.split()[0] for line in lines[3:21]]
    assert numbers == [str(number) for number in range(18)]
    assert "switch" in lines[3]


def down_and_damaged() -> View:
    judged = judgement()
    links = judged.frame.gpus[3].nvlinks
    assert links is not None
    changed_links = list(links)
    changed_links[16] = msgspec.structs.replace(links[16], active=False)
    changed_links[2] = msgspec.structs.replace(links[2], crc_errors=90, crc_errors_since_start=7)
    return view(with_gpu(judged, 3, nvlinks=tuple(changed_links)))


def test_a_link_that_is_down_is_in_sight() -> None:
    lines = single(down_and_damaged(), 80, 12, 3)
    assert "17 of 18 up" in lines[1]
    assert lines[3].split()[:2] == ["16", "down"]
    whole = single(down_and_damaged(), 80, 23, 3)
    assert whole[5].split()[0] == "2" and whole[5].split()[-3:] == ["7", "0", "0"]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"nvlinks": ()}, "has no NVLink"),
        ({"nvlinks": None, "missing": {"nvlinks": "no permission"}}, "no permission"),
    ],
)
def test_without_nvlink_it_says_why(fields: dict[str, Any], says: str) -> None:
    assert f"GPU 2: {says}" in single(view(with_gpu(judgement(), 2, **fields)), 80, 23, 2)[2]
    assert "no GPU is known yet" in single(view(), 80, 23, None)[2]


@given(
    width=st.integers(min_value=20, max_value=250),
    height=st.integers(min_value=5, max_value=70),
    index=st.one_of(st.none(), st.integers(0, 9)),
)
@settings(max_examples=40)
def test_single_nvlinks_have_exactly_their_size(width: int, height: int, index: int | None) -> None:
    single(down_and_damaged(), width, height, index)


async def test_a_key_shows_the_links_of_the_selected_gpu_and_arrows_those_of_others() -> None:
    app, _ = app_of(judgement())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("3", "down", "down", "n")
        await pilot.pause()
        assert "GPU 1 · 18 of 18 up" in shown_text(app)
        await pilot.press("down")
        await pilot.pause()
        assert "GPU 2 · 18 of 18 up" in shown_text(app)
        await pilot.press("pageup")
        await pilot.pause()
        assert "GPU 0 · 18 of 18 up" in shown_text(app)
        await pilot.press("t")
        await pilot.pause()
        assert "Topology" in shown_text(app)
        await pilot.press("escape")
        await pilot.pause()
        assert "Links" in shown_text(app)


def test_a_small_terminal_keeps_the_links() -> None:
    shown = text(view(judgement("link-down")), 60, 15)
    assert "mlx5_3/1" in shown
    assert "Topology" not in shown


def test_a_link_of_which_nothing_is_known() -> None:
    bare = LinkFrame(id="rxe0/1", kind="rdma", missing={"rx_bytes_per_second": "not counted"})
    judged = changed(judgement(), links=(bare,))
    (row,) = [line for line in text(view(judged)).splitlines() if "rxe0/1" in line]
    assert "0.0" not in row
    why = why_missing(judged.frame, link_target("rxe0/1"))
    assert why.startswith("rxe0/1: ")
    assert why.endswith("not counted")
    assert why_missing(judged.frame, link_target("none")) == ""


@pytest.mark.parametrize("odd", ["\x1b[31mred", "wide漢字"])
def test_names_from_outside_cannot_break_the_picture(odd: str) -> None:
    link = LinkFrame(id=odd, kind="ethernet", device=odd, state=odd)
    shown: dict[str, Any] = {"links": (link,)}
    drawn(view(changed(judgement(), **shown)), 80, 24)


def test_interfaces_of_the_host_have_a_past() -> None:
    (row,) = [line for line in text(view(), 200, 50).splitlines() if line.split()[:1] == ["eth0"]]
    assert "▁▁▁▁" in row


def test_an_interface_without_a_speed_has_a_past_against_its_own_most() -> None:
    judged = judgement("input-bound")
    links = [
        msgspec.structs.replace(link, limit_bytes_per_second=None) if link.id == "eth0" else link
        for link in judged.frame.links
    ]
    shown = text(view(changed(judged, links=tuple(links))), 200, 50)
    (row,) = [line for line in shown.splitlines() if line.split()[:1] == ["eth0"]]
    assert "▇" in row


def test_tcp_has_a_line() -> None:
    (row,) = [line for line in text(view(), 80, 23).splitlines() if line.startswith(" TCP")]
    assert re.search(r"sends +[\d.]+k? segments/s · retransmitted +0\.0\d %", row)


def test_tcp_that_loses_says_so() -> None:
    judged = judgement()
    assert judged.frame.host is not None
    finding = Finding(
        id="LNK513",
        name="TCP retransmissions",
        severity="warning",
        subject=Subject(kind="host", id="node17"),
        state="active",
        since_seconds=UNIX - 20,
        seen_seconds=20.0,
        next_step="See ss -ti.",
    )
    losing = msgspec.structs.replace(judged.frame.host, tcp_retransmission_ratio=0.031)
    judged = msgspec.structs.replace(changed(judged, host=losing), findings=(finding,))
    (row,) = [line for line in text(view(judged)).splitlines() if line.startswith(" TCP")]
    assert " 3.10 % " in row and "▲ TCP retransmissions" in row


def test_tcp_that_is_not_reported_says_why() -> None:
    judged = judgement()
    assert judged.frame.host is not None
    silent = msgspec.structs.replace(
        judged.frame.host,
        tcp_sent_segments=None,
        missing={"tcp_sent_segments": "not reported by this kernel"},
    )
    assert "TCP  not reported by this kernel" in text(view(changed(judged, host=silent)))
    assert "TCP  the host is not read" in text(view(changed(judged, host=None)))


async def test_enter_goes_to_the_finding() -> None:
    app, _ = app_of(judgement("link-down"))
    async with app.run_test(size=(132, 43)) as pilot:
        await pilot.pause()
        await pilot.press("3", "down", "enter")
        await pilot.pause()
        assert app.screen.name == "findings"


def test_findings_of_a_link_need_not_be_in_the_frame() -> None:
    judged = judgement("link-down")
    bare = Judgement(frame=judged.frame)
    assert "RDMA port down" not in text(view(bare))
