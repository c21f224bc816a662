"""Shares of phases reported from outside, by stacks, beside those that the probe measures in the same run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gputop.probes.attribution.stack_phase import margin
from gputop.probes.derive.frame import derive
from gputop.probes.derive.rank_history import shares_of
from gputop.probes.model.frame import Frame
from gputop.probes.model.sample import Sample
from gputop.probes.wire.codec import Splitter, decode, encode
from gputop.probes.wire.command import TakeStacks

from support.torch_python import TORCH_PYTHON, needs_torch

pytestmark = [needs_torch, pytest.mark.slow]

MIXED = Path(__file__).parent.parent / "jobs/mixed.py"
GPUTOP = (sys.executable, "-m", "gputop")
PATIENCE_SECONDS = 150.0
POINTS = 0.10
SAMPLES = 200
STEPS_TO_SETTLE = 10


@contextmanager
def ended(*command: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a session of its own, and its end."""
    process = subprocess.Popen(
        command,
        env={**os.environ, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def frames(collector: subprocess.Popen[bytes]) -> Iterator[Frame]:
    """What the collector sends, with shares asked for at each."""
    assert collector.stdout is not None
    splitter, frame = Splitter(), None
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        for body in splitter.feed(os.read(collector.stdout.fileno(), 1 << 16)):
            message = decode(body)
            if isinstance(message, Sample):
                frame = derive(frame, message)
                yield frame


def test_both_tell_the_same(tmp_path: Path) -> None:
    began: dict[str, float] = {}
    sampled: dict[str, float] = {}
    measured: dict[str, float] = {}
    with (
        # The page of a job that is killed stays where it is.
        ended(*GPUTOP, "run", "--", TORCH_PYTHON, str(MIXED), XDG_RUNTIME_DIR=str(tmp_path)) as job,
        ended(*GPUTOP, "collect", "--pid", str(job.pid)) as collector,
    ):
        assert collector.stdin is not None
        for number, frame in enumerate(frames(collector)):
            rank = next((rank for job in frame.jobs for rank in job.ranks), None)
            probe = frame.probe(rank.pid, rank.start_time_seconds) if rank else None
            if rank is None or probe is None or (rank.step or 0) < STEPS_TO_SETTLE:
                continue
            began = began or probe.phase_seconds
            request = TakeStacks(command_id=number, pids=(rank.pid,), seconds=10.0, shares=True)
            collector.stdin.write(encode(request))
            collector.stdin.flush()
            if rank.phases_sampled_count >= SAMPLES:
                sampled, measured = rank.phases_sampled, shares_of(probe.phase_seconds, began)
                break
    assert measured
    print()
    for phase in sorted({*sampled, *measured}):
        outside, inside = sampled.get(phase, 0.0), measured.get(phase, 0.0)
        error = margin(outside, SAMPLES)
        print(f"{phase:12} sampled {outside:6.1%} ± {error:.1%}, measured {inside:6.1%}")
        assert abs(outside - inside) < POINTS, phase
