"""``gputop replay --rejudge``: an old recording, judged by the rules of today."""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import closing
from pathlib import Path

from gputop.probes.feeds.replay import ReplayFeed
from gputop.probes.recording.recording import Recording
from gputop.rules.catalogue import make_rules
from gputop.rules.engine import Engine
from gputop.tui.commands.rejudge import marks_of

from support.command_runs import run
from support.recordings import BEGAN, samples, written_of
from support.terminal import Pty


def lost_at_30(path: Path) -> Recording:
    """GPU 3 is there for 30 s; nothing was judged while it was recorded."""
    healthy, lost = samples(60), samples(60, "gpu-lost")
    return Recording(written_of(path, [*healthy[:30], *lost[30:]]))


def test_what_nobody_found_then_is_found(tmp_path: Path) -> None:
    recording = lost_at_30(tmp_path / "r.gtop")
    assert list(recording.marks()) == []
    seen: list[float] = []
    marks = marks_of(recording, Engine(make_rules()), seen.append)
    assert seen == [BEGAN + second for second in range(60)]
    (lost,) = (each for each in marks if each.rule == "HW206" and each.began)
    assert 30 <= lost.time_seconds - BEGAN <= 45
    feed = ReplayFeed(recording, BEGAN, speed=1.0)
    assert feed.seek_finding() == ""
    feed.marks = marks
    found = [feed.seek_finding() for _ in marks]
    assert any(each.startswith("HW206") for each in found)


def test_with_another_threshold_it_finds_more(tmp_path: Path) -> None:
    recording = Recording(written_of(tmp_path / "r.gtop", samples(60)))
    stricter = make_rules({"MEM301": {"info_ratio": 0.5}})
    assert not marks_of(recording, Engine(make_rules()), lambda _: None)
    found = marks_of(recording, Engine(stricter), lambda _: None)
    assert {each.rule for each in found} == {"MEM301"}


def test_it_says_how_far_it_is_and_then_shows_it(tmp_path: Path) -> None:
    lost_at_30(tmp_path / "r.gtop")
    command = [sys.executable, "-m", "gputop", "replay", str(tmp_path / "r.gtop"), "--rejudge"]
    with closing(
        Pty(["sh", "-c", shlex.join(command)], columns=132, lines=43, env=os.environ)
    ) as program:
        program.wait_for("judging anew:", 30)
        program.wait_for(" now, 0 when it was recorded", 60)
        program.wait_for("replay of node17", 60)


def test_without_a_screen_it_is_wrong_usage(tmp_path: Path) -> None:
    lost_at_30(tmp_path / "r.gtop")
    done = run("replay", str(tmp_path / "r.gtop"), "--rejudge")
    assert (done.returncode, done.stdout) == (64, "")
    assert "--rejudge goes with the screen" in done.stderr
