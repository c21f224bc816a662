"""The frame table against stacks of real programs, and against made ones where none could be run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gputop.probes.attribution.function_phases import INNERMOST, READ, WHOLE
from gputop.probes.attribution.stack_phase import (
    margin,
    phase_of,
    vote,
    without_probe,
)
from gputop.probes.derive.stack_groups import merge
from gputop.probes.inprocess.instruments import patching
from gputop.probes.model.frame import Frame
from gputop.probes.model.job_frames import JobFrame, RankFrame
from gputop.probes.model.rank_activity import ActivityFrame
from gputop.probes.model.rank_readings import Stack, StackFrameReading, StackReading
from gputop.probes.model.stack_places import own_frame, place_of

ROOT = Path(__file__).parents[3]
STACKS = ROOT / "tests/fixtures/stacks"
"""Captured by ``tests/attach/capture.py`` from torch 2.13, lightning 2.6, transformers 5.24 and
accelerate 1.15; each file is one situation, named framework-place."""
PHASES = {
    "main": "data",
    "data": "data",
    "workers": "data",
    "to": "h2d",
    "forward": "forward",
    "step": "forward",
    "backward": "backward",
    "optimizer": "optimizer",
    "clip": "optimizer",
    "save": "checkpoint",
    "dcp": "checkpoint",
    "compile": "compile",
    "trace": "compile",
    "eval": "eval",
    "all_reduce": "comm",
    "barrier": "comm",
    "import": "startup",
}


def captured(name: str) -> Stack:
    (thread,) = json.loads((STACKS / f"{name}.json").read_text())
    return tuple(
        StackFrameReading(name=frame["name"], file=frame["short_filename"], line=frame["line"])
        for frame in thread["frames"]
    )


def stack(*frames: str) -> Stack:
    """Innermost first, each as ``file:function``."""
    parts = [frame.rsplit(":", 1) for frame in frames]
    return tuple(StackFrameReading(name=name, file=file, line=1) for file, name in parts)


@pytest.mark.parametrize("name", sorted(path.stem for path in STACKS.glob("*.json")))
def test_captured(name: str) -> None:
    assert phase_of(captured(name)).phase == PHASES[name.split("-")[-1]]


def test_each_framework_was_captured() -> None:
    seen = {path.stem.split("-")[0] for path in STACKS.glob("*.json")}
    assert {"bare", "distributed", "accelerate", "transformers", "lightning"} <= seen


ROWS_READ = [row for row in (*WHOLE, *INNERMOST) if row.source == READ]


@pytest.mark.parametrize(
    "row", ROWS_READ, ids=[f"{row.file}:{row.functions[:20]}" for row in ROWS_READ]
)
def test_rows_that_were_only_read(row: object) -> None:
    """Made stacks: they show that no row hides another, and not that the framework is so."""
    from gputop.probes.attribution.function_phases import Row

    assert isinstance(row, Row)
    file = f"{row.file}file.py" if row.file.endswith("/") else row.file
    for function in row.functions.replace("*", "anything").split():
        made = stack("train.py:helper", f"{file}:Some.{function}", "train.py:main")
        assert phase_of(made).phase == row.phase


@pytest.mark.parametrize(
    ("frames", "phase"),
    [
        # Lightning: forward and backward lie inside of the optimizer's frames.
        (
            (
                "torch/autograd/graph.py:_engine_run_backward",
                "torch/optim/optimizer.py:wrapper",
                "train.py:main",
            ),
            "backward",
        ),
        # A scheduler's wrapper says nothing by itself.
        (("train.py:hook", "torch/optim/lr_scheduler.py:wrapper", "train.py:main"), "other"),
        # Compilation runs a backward of its own.
        (
            (
                "torch/autograd/graph.py:_engine_run_backward",
                "torch/_functorch/_aot_autograd/graph_capture.py:aot_dispatch",
                "torch/_dynamo/convert_frame.py:_compile",
                "torch/nn/modules/module.py:_call_impl",
            ),
            "compile",
        ),
        # What was compiled runs through thin wrappers.
        (
            (
                "torch/_inductor/output_code.py:__call__",
                "torch/_functorch/_aot_autograd/runtime_wrappers.py:runtime_wrapper",
                "torch/_dynamo/eval_frame.py:_fn",
                "torch/nn/modules/module.py:_call_impl",
                "train.py:main",
            ),
            "forward",
        ),
        # A distributed checkpoint issues collectives.
        (
            (
                "torch/distributed/distributed_c10d.py:all_reduce",
                "torch/distributed/checkpoint/state_dict_saver.py:save",
            ),
            "checkpoint",
        ),
        # A program that was started by importing it is not for ever starting.
        (
            (
                "torch/autograd/graph.py:_engine_run_backward",
                "train.py:<module>",
                "<frozen importlib._bootstrap>:_call_with_frames_removed",
            ),
            "backward",
        ),
        # Importing the compiler compiles nothing.
        (
            (
                "torch/_dynamo/variables/base.py:<module>",
                "<frozen importlib._bootstrap>:_find_and_load",
                "train.py:main",
            ),
            "startup",
        ),
        (
            (
                "threading.py:wait",
                "queue.py:get",
                "vllm/v1/engine/core.py:EngineCoreProc._process_input_queue",
            ),
            "idle",
        ),
        (
            (
                "zmq/sugar/socket.py:recv",
                "sglang/srt/managers/scheduler.py:Scheduler.recv_requests",
            ),
            "idle",
        ),
        (("train.py:endless", "train.py:main"), "other"),
        ((), "other"),
    ],
)
def test_order_and_exceptions(frames: tuple[str, ...], phase: str) -> None:
    assert phase_of(stack(*frames)).phase == phase


def test_most_votes_count_and_the_margin_is_honest() -> None:
    backward, data = captured("bare-backward"), captured("bare-main")
    found = vote([backward, data, backward])
    assert found is not None
    assert (found.phase, found.dumps) == ("backward", 3)
    assert found.share == pytest.approx(2 / 3)
    assert 0.3 < found.margin < 0.5
    assert vote([]) is None


def test_margins() -> None:
    assert margin(0.5, 100) == pytest.approx(0.096, abs=0.002)
    assert margin(1.0, 3) > 0.25


def test_where_the_user_is() -> None:
    frame = own_frame(captured("bare-main"))
    assert frame is not None
    assert frame.file.endswith("hold.py")
    assert own_frame(stack("torch/_tensor.py:backward", "threading.py:wait")) is None
    assert place_of(stack("src/data.py:load_batch")[0]) == "load_batch (src/data.py:1)"


@pytest.mark.parametrize(
    "folder", ["", "gputop/", "/opt/venv/lib/python3.11/gputop/", "/srv/tools/"]
)
@pytest.mark.parametrize("name", sorted(path.stem for path in STACKS.glob("*.json")))
def test_the_probe_around_a_function_changes_nothing(name: str, folder: str) -> None:
    bare = captured(name)
    wrapper = StackFrameReading(
        name="Patching.within.<locals>.ours",
        file=f"{folder}{Path(patching.__file__).relative_to(ROOT)}",
        line=97,
    )
    for place in range(len(bare) + 1):
        wrapped = (*bare[:place], wrapper, *bare[place:])
        assert phase_of(wrapped) == phase_of(bare)
        assert own_frame(wrapped) == own_frame(bare)
        assert without_probe(wrapped) == bare


def test_ranks_are_in_one_group_whether_or_not_the_probe_is_around_what_they_call() -> None:
    bare = captured("bare-backward")
    wrapper = StackFrameReading(
        name="ours", file="probes/inprocess/instruments/patching.py", line=97
    )
    wrapped = tuple(each for frame in bare for each in (frame, wrapper))
    readings = [
        StackReading(monotonic_seconds=1.0, pid=pid, start_time_seconds=1.0, main_stacks=(stack,))
        for pid, stack in ((1, bare), (2, wrapped))
    ]
    ranks = [RankFrame(rank=pid, pid=pid, start_time_seconds=1.0) for pid in (1, 2)]
    job = JobFrame(id="job", name="train.py", ranks=tuple(ranks))
    frame = Frame(time_seconds=1.0, monotonic_seconds=1.0, node="n", stacks=tuple(readings))
    (group,) = merge(job, frame)
    assert group.pids == (1, 2)
    assert group.stack == bare


def test_a_stopped_rank_is_in_a_group_of_its_own_though_its_stack_is_that_of_others() -> None:
    stack = captured("bare-backward")
    readings = [
        StackReading(monotonic_seconds=1.0, pid=pid, start_time_seconds=1.0, main_stacks=(stack,))
        for pid in (1, 2, 3)
    ]
    frame = Frame(time_seconds=1.0, monotonic_seconds=1.0, node="n", stacks=tuple(readings))
    for state, groups in (("T", [(3,), (1, 2)]), ("t", [(3,), (1, 2)]), ("S", [(1, 2, 3)])):
        ranks = tuple(
            RankFrame(
                rank=pid,
                pid=pid,
                start_time_seconds=1.0,
                activity=ActivityFrame(state=state if pid == 3 else "S"),
            )
            for pid in (1, 2, 3)
        )
        merged = merge(JobFrame(id="job", name="train.py", ranks=ranks), frame)
        assert [group.pids for group in merged] == groups
        assert merged[0].stopped is (state != "S")
