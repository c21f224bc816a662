"""Shares of phases: what py-spy prints, and a real process whose shares are known."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputop.probes.sources.stack_requests import StackRequests
from gputop.probes.sources.stacks.shares import RATE, decode_raw, pairwise_of, phases_of
from gputop.probes.sources.stacks.source import StackSource

from support.ready_process import ready

RAW = b"""\
thread (51): MainThread;<module> (train.py:7);step (train.py:3);_engine_run_backward (torch/autograd/graph.py:9) 12
thread (51): MainThread;<module> (train.py:7);<lambda> (a b (c).py:4) 3
thread (52): hb; x (y);Thread._bootstrap (threading.py:1002) 19
thread (0x7F01): MainThread;<module> (old.py) 2
thread (51): MainThread 5
nonsense
thread (51): MainThread;<module> (train.py:7) many
"""
TRAIN = """
import time
from torch.autograd.graph import _engine_run_backward
from torch.optim.sgd import step

def train():
    print("ready", flush=True)
    while True:
        _engine_run_backward(0.14)
        step(0.06)

train()
"""


def test_only_the_main_thread_counts() -> None:
    found = decode_raw(RAW, 51)
    assert [count for _, count in found] == [12, 3, 2]
    stack, _ = found[0]
    assert [(frame.name, frame.file, frame.line) for frame in stack] == [
        ("_engine_run_backward", "torch/autograd/graph.py", 9),
        ("step", "train.py", 3),
        ("<module>", "train.py", 7),
    ]
    assert found[1][0][0].file == "a b (c).py"
    assert found[2][0][0].line is None
    assert phases_of(found) == {"backward": 12, "other": 5}


PAIRWISE = b"""\
thread (51): MainThread;<module> (train.py:7);recv (torch/distributed/distributed_c10d.py:9) 12
thread (51): MainThread;<module> (train.py:7);recv (train.py:4) 3
thread (51): MainThread;<module> (train.py:7);all_reduce (torch/distributed/distributed_c10d.py:9) 4
"""


def test_sends_and_receives_between_two_ranks_are_counted() -> None:
    assert pairwise_of(decode_raw(PAIRWISE, 51)) == 12
    assert pairwise_of(decode_raw(RAW, 51)) == 0


@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    decode_raw(data, 51)
    decode_raw(RAW + data, 51)


@contextmanager
def training(folder: Path) -> Iterator[int]:
    """A process with the functions of torch by name: 70 % backward, and the rest the optimizer."""
    for path, name in (("autograd/graph", "_engine_run_backward"), ("optim/sgd", "step")):
        file = folder / f"torch/{path}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        (file.parent / "__init__.py").touch()
        (file.parent.parent / "__init__.py").touch()
        file.write_text(f"import time\n\ndef {name}(seconds):\n    time.sleep(seconds)\n")
    (folder / "train.py").write_text(TRAIN)
    with ready([sys.executable, "train.py"], folder) as pid:
        yield pid


@pytest.mark.slow
def test_shares_of_a_real_process(tmp_path: Path) -> None:
    requests = StackRequests()
    source = StackSource(requests)
    with training(tmp_path) as pid:
        samples: dict[str, int] = {}
        deadline = time.monotonic() + 90
        while sum(samples.values()) < 100:
            assert time.monotonic() < deadline, samples
            requests.want([pid], 10.0, shares=True)
            readings = source.read()
            samples = next((each.phase_samples for each in readings), {})
            time.sleep(0.5)
        source.close()
    assert set(samples) <= {"backward", "optimizer", "other"}
    assert samples["backward"] / sum(samples.values()) == pytest.approx(0.7, abs=0.15)


def test_nothing_is_sampled_unless_shares_are_asked_for() -> None:
    requests = StackRequests()
    source = StackSource(requests)
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as sleeper:
        time.sleep(0.5)
        requests.want([sleeper.pid], 60.0)
        for _ in range(4):
            readings = source.read()
            time.sleep(0.6)
        assert [each.phase_samples for each in readings] == [{}]
        requests.want([sleeper.pid], 60.0, shares=True)
        counts: dict[str, int] = {}
        deadline = time.monotonic() + 20
        while not counts:
            assert time.monotonic() < deadline
            (reading,) = source.read()
            counts = reading.phase_samples
            time.sleep(0.3)
        assert 0 < sum(counts.values()) <= RATE + 1
        source.close()
        sleeper.kill()
