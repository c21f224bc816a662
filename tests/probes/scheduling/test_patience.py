"""Time in which an answer was possible, on the real scheduler."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from gputop.probes.model.starvation import Starvation
from gputop.probes.scheduling.patience import Patience
from gputop.probes.scheduling.thread_wait import ThreadWait
from gputop.probes.scheduling.words import starved_sentence

from support.ready_process import SLEEPS, SPINS, python
from support.starving import crowded_core, on_core

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/schedstat").exists(), reason="the kernel counts no waits for a core"
)


def looked_at(patience: Patience, seconds: float) -> Patience:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.1)
        patience.look()
    return patience


def test_who_sleeps_has_all_the_time_there_is() -> None:
    with python(SLEEPS) as pid:
        patience = looked_at(Patience(pid), 1.0)
    assert patience.starved_seconds < 0.2
    assert patience.waited_seconds > 0.8
    assert not patience.starved


def test_who_is_runnable_on_a_crowded_core_has_little_of_it() -> None:
    with crowded_core(8) as core, python(SPINS, *on_core(core)) as pid:
        patience = looked_at(Patience(pid), 2.0)
    assert patience.starved
    assert patience.starved_seconds > 1.2


def test_who_sleeps_beside_the_crowd_is_not_starved() -> None:
    """Load is no excuse: a call that hangs in the driver needs no core."""
    with crowded_core(8) as core, python(SLEEPS, *on_core(core)) as pid:
        patience = looked_at(Patience(pid), 1.5)
    assert not patience.starved
    assert patience.waited_seconds > 1.0


def test_one_that_is_gone_or_was_never_there_is_not_starved() -> None:
    with python(SLEEPS) as pid:
        patience = Patience(pid, 2**22 - 1)
    assert not looked_at(patience, 0.5).starved


def test_a_new_answer_begins_a_new_count() -> None:
    patience = looked_at(Patience(os.getpid()), 0.5)
    patience.again()
    assert patience.waited_seconds == patience.starved_seconds == 0.0


def test_where_this_process_was_stopped_the_time_does_not_count() -> None:
    code = (
        "import time\n"
        "from gputop.probes.scheduling.patience import Patience\n"
        "patience = Patience()\n"
        "print('ready', flush=True)\n"
        "for _ in range(10): patience.sleep(0.1)\n"
        "print(patience.waited_seconds, patience.starved_seconds)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", code], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.25)
    process.send_signal(signal.SIGSTOP)
    time.sleep(2.0)
    process.send_signal(signal.SIGCONT)
    waited, lost = map(float, process.communicate(timeout=30)[0].split())
    assert lost >= 1.8
    assert 0.9 <= waited < 1.5


def test_what_cannot_be_read_takes_nothing_off() -> None:
    """As in sandboxes without schedstat: then a deadline is wall time."""
    assert ThreadWait(1, 1, root=Path("/nowhere")).look(1.0) == 0.0


def counters(root: Path, ran: int, waited: int, state: str) -> None:
    folder = root / "proc/7/task/9"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "schedstat").write_text(f"{ran} {waited} 4\n")
    (folder / "stat").write_text(f"9 (a) R b) {state} 1 2 3\n")


@pytest.mark.parametrize(
    ("states", "lost"),
    [
        # What the kernel has counted in the second.
        ([(5, 0, "S"), (9, 400_000_000, "S")], 0.4),
        # It is in the queue just now: the kernel counts that only once it runs.
        ([(5, 0, "R"), (5, 0, "R")], 1.0),
        # And then tells of both seconds, of which one was counted already.
        ([(5, 0, "R"), (5, 0, "R"), (6, 1_500_000_000, "R")], 1.5),
        # Hung in the kernel, asleep, stopped: no want of a core.
        ([(5, 0, "D"), (5, 0, "D")], 0.0),
        ([(5, 0, "S"), (5, 0, "S")], 0.0),
        ([(5, 0, "T"), (5, 0, "T")], 0.0),
        # It ran all the time.
        ([(0, 0, "R"), (1_000_000_000, 0, "R")], 0.0),
        # More than there was time for is not believed.
        ([(0, 0, "R"), (5, 90_000_000_000, "R")], 1.0),
    ],
)
def test_what_one_thread_lost(
    tmp_path: Path, states: list[tuple[int, int, str]], lost: float
) -> None:
    counters(tmp_path, *states[0])
    wait = ThreadWait(7, 9, root=tmp_path)
    total = 0.0
    for state in states[1:]:
        counters(tmp_path, *state)
        total += wait.look(1.0)
    assert total == pytest.approx(lost)


def test_the_sentence() -> None:
    assert said(seconds=3, load=48.2, cores=2) == "this monitor gets no CPU (load 48 on 2 cores)"
    assert said(seconds=3, load=9.0, cores=1) == "this monitor gets no CPU (load 9 on 1 core)"
    assert said(seconds=3) == "this monitor gets no CPU"
    assert said(seconds=0.1, stopped_seconds=30.2) == "this monitor was stopped for 30 s"
    assert starved_sentence().startswith("this monitor gets no CPU (load ")


def said(**fields: float) -> str:
    return starved_sentence(msgspec.convert(fields, Starvation))
