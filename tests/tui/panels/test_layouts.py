"""Pictures of every size over frames of every kind: no exception, no overlap, no empty panel."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputop.probes.model.frame import Frame
from gputop.probes.model.host_frames import HostFrame
from gputop.probes.model.job_frames import JobFrame, RankFrame
from gputop.probes.model.process_frames import ProcessFrame
from gputop.rules.finding import Judgement
from gputop.tui.drawing.lines import text_of, width_of
from gputop.tui.drawing.target import Block, finding_target, gpu_target
from gputop.tui.panels.finding_page import finding_page
from gputop.tui.panels.gpu_charts import curve_lines
from gputop.tui.panels.gpu_facts import fact_lines
from gputop.tui.panels.main import draw as draw_main
from gputop.tui.screens.picture_screen import picture
from gputop.tui.session.view import MIN_HEIGHT, MIN_WIDTH, SORT_KEYS, View

from support.tui_watch import bare_gpu, judgement, view, with_gpus

SCENARIOS = ("healthy", "gpu-lost", "driver-wedged", "input-bound", "thermal-throttle")
WIDTHS = st.integers(min_value=20, max_value=250)
HEIGHTS = st.integers(min_value=5, max_value=70)
GPUS = st.integers(min_value=0, max_value=16)
HEADING = re.compile(r"^── (GPUs|Where|Findings|Processes|Host)")


def check(block: Block, width: int, height: int) -> None:
    """Exactly the size; as many targets as lines."""
    assert len(block.lines) == len(block.targets) == height
    assert {width_of(text_of(line)) for line in block.lines} == {width}
    assert all(text_of(line).isprintable() for line in block.lines)


def check_panels(block: Block) -> None:
    """Below each title there is something."""
    lines = [text_of(line) for line in block.lines]
    for at, line in enumerate(lines):
        if HEADING.match(line):
            assert at + 1 < len(lines), line
            assert lines[at + 1].strip() and not HEADING.match(lines[at + 1]), line


@given(
    width=WIDTHS,
    height=HEIGHTS,
    gpus=GPUS,
    scenario=st.sampled_from(SCENARIOS),
    sort=st.sampled_from(SORT_KEYS),
    filter=st.sampled_from(["", "train", "D", "no such thing"]),
)
@settings(max_examples=150)
def test_the_main_screen_has_exactly_its_size(
    width: int, height: int, gpus: int, scenario: str, sort: str, filter: str
) -> None:
    shown = view(with_gpus(judgement(scenario), gpus), sort=sort, filter=filter)
    block = picture(shown, width, height, draw_main)
    check(block, width, height)
    check_panels(block)


@pytest.mark.parametrize("gpus", [0, 1, 8, 16])
@pytest.mark.parametrize("size", [(60, 15), (80, 23), (132, 42), (200, 49), (250, 70)])
def test_every_panel_is_there_and_every_gpu_within_reach(size: tuple[int, int], gpus: int) -> None:
    judged = with_gpus(judgement("thermal-throttle"), gpus)
    block = picture(view(judged), *size, draw_main)
    text = "\n".join(text_of(line) for line in block.lines)
    assert "node17" in text and "CPU" in text
    assert "thermal slowdown" in text
    for index in range(gpus):
        selected = view(judged, selected=gpu_target(index))
        assert gpu_target(index) in picture(selected, *size, draw_main).targets


@given(width=st.integers(1, 250), height=st.integers(1, 50))
@settings(max_examples=80)
def test_where_nothing_fits_the_worst_is_still_reported(width: int, height: int) -> None:
    if width >= MIN_WIDTH and height >= MIN_HEIGHT:
        return
    block = picture(view(judgement("gpu-lost")), width, height, draw_main)
    check(block, width, height)
    text = "\n".join(text_of(line) for line in block.lines)
    assert width < 12 or text.startswith("✖1 ▲0 8 GPU")
    assert width < 18 or "60x8" in text or "60 columns and 8 lines" in text
    assert height < 3 or width < 11 or "✖ Xid GPU 3" in text


@pytest.mark.parametrize("width", [60, 80, 100, 132])
@pytest.mark.parametrize("height", range(MIN_HEIGHT, 16))
def test_a_low_terminal_folds_and_still_shows_gpus_and_findings(width: int, height: int) -> None:
    block = picture(view(judgement("gpu-lost")), width, height, draw_main)
    text = "\n".join(text_of(line) for line in block.lines)
    assert "GPU is lost" in text and "HW206" in text and "CPU" in text
    shown = [target for target in block.targets if target and target.kind == "gpu"]
    assert len(shown) >= 2 and gpu_target(3) in shown, "the lost one is in sight"
    assert len(shown) == 8 or " of 8 " in text


@given(width=WIDTHS, height=HEIGHTS)
@settings(max_examples=20)
def test_before_the_first_reading_it_says_so(width: int, height: int) -> None:
    check(picture(None, width, height, draw_main), width, height)


ODD = st.text(max_size=40)
MAYBE = st.one_of(st.none(), st.floats(allow_nan=True), st.integers(-(2**70), 2**70))


@st.composite
def odd_frames(draw: Any) -> Frame:
    """Frames with hardly anything in them, and nothing that can be relied on."""

    def text() -> str:
        return str(draw(ODD))

    gpus = tuple(
        msgspec.structs.replace(
            bare_gpu(index),
            name=text(),
            status=draw(st.sampled_from(["ok", "stale", "lost"])),
            status_reason=text(),
            age_seconds=draw(st.floats(0, 1e9)),
            utilization_ratio=draw(MAYBE),
            memory_used_bytes=draw(MAYBE),
            memory_total_bytes=draw(st.sampled_from([None, 0, 1, 2**40])),
            power_watts=draw(MAYBE),
            sm_clock_hertz=draw(MAYBE),
            nvlink_rx_bytes_per_second=draw(MAYBE),
            throttle_reasons=draw(st.sampled_from([None, (), ("sw power cap",), ("odd",)])),
            missing={"power_watts": text()},
        )
        for index in range(2)
    )
    process = ProcessFrame(
        pid=1,
        start_time_seconds=0.0,
        monotonic_seconds=1.0,
        user=text(),
        name=text(),
        command=(text(), text()),
        wait_channel=text(),
        state=text(),
        cpu_cores=draw(MAYBE),
        rss_bytes=draw(MAYBE),
        gpus=(0,),
        job_id="j",
    )
    rank = RankFrame(rank=None, pid=1, start_time_seconds=0.0, phase=text(), phases={text(): 1.0})
    return Frame(
        time_seconds=draw(st.floats(-1e20, 1e20)),
        monotonic_seconds=1.0,
        node=text(),
        driver_version=text(),
        gpus=gpus,
        processes=(process,),
        jobs=(JobFrame(id="j", name=text(), user=text(), ranks=(rank,)),),
        host=draw(st.sampled_from([None, HostFrame(monotonic_seconds=1.0)])),
    )


@given(frame=odd_frames(), width=st.integers(60, 200), height=st.integers(15, 60))
@settings(max_examples=100)
def test_no_frame_however_odd_breaks_a_picture(frame: Frame, width: int, height: int) -> None:
    shown = view(Judgement(frame=frame, findings=judgement("gpu-lost").findings))
    check(picture(shown, width, height, draw_main), width, height)
    for gpu in frame.gpus:
        for line in [
            *curve_lines(gpu, shown.history, width, height),
            *fact_lines(gpu, frame, width),
        ]:
            assert width_of(text_of(line)) == width


@given(width=st.integers(20, 150))
@settings(max_examples=20)
def test_a_finding_in_full_is_as_wide_as_it_should_be(width: int) -> None:
    judged = judgement("gpu-lost")
    for finding in judged.findings:
        for line in finding_page(finding, judged.findings, judged.frame, width):
            assert width_of(text_of(line)) == width


def test_the_selected_finding_is_marked() -> None:
    judged = judgement("thermal-throttle")
    shown: View = view(judged, selected=finding_target(judged.active[0]))
    block = picture(shown, max(80, MIN_WIDTH), max(23, MIN_HEIGHT), draw_main)
    marked = [text_of(line) for line in block.lines if line[0][0].startswith("▸")]
    assert len(marked) == 1 and "thermal slowdown" in marked[0]


@pytest.mark.parametrize("scenario", ["healthy", "straggler", "gpu-lost"])
@pytest.mark.parametrize(("width", "height"), [(80, 23), (132, 42), (200, 49)])
def test_that_no_process_matches_a_filter_is_said(scenario: str, width: int, height: int) -> None:
    lines = draw_main(view(judgement(scenario), filter="xyz"), width, height).lines
    assert len(lines) == height
    assert any(text_of(line).strip() == "no process matches 'xyz'" for line in lines)
