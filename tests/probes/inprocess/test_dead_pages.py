"""What is left of processes that have died is kept within bounds, and what lives is not touched."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from gputop.probes.inprocess import layout

from support.another_user import AS_ANOTHER
from support.probe_job import job, reading_of
from support.terminal import wait_until


def test_pages_of_the_long_dead_are_removed_and_no_others() -> None:
    with job("say(1); time.sleep(60)") as living:
        living.line()
        (own,) = living.pages()
        folder = own.parent
        old, young, foreign = folder / "4000001-5.page", folder / "4000002-5.page", folder / "notes"
        for path in (old, young, foreign):
            path.write_bytes(b"x")
        long_ago = time.time() - 25 * 3600
        for path in (old, own, foreign):
            os.utime(path, (long_ago, long_ago))
        with job("say(2)", XDG_RUNTIME_DIR=str(living.runtime)) as second:
            second.line()
            second.end()
        left = [path for path in folder.iterdir() if path.suffix != ".sock"]
        assert sorted(left) == sorted([own, young, foreign])


def dead_pages(folder: Path, ages: list[float], size: int = layout.PAGE_SIZE) -> list[Path]:
    """Pages of nobody, that many seconds old."""
    now = time.time()
    made: list[Path] = []
    for number, age in enumerate(ages):
        path = folder / f"{4_100_000 + number}-5.page"
        path.write_bytes(bytes(size))
        path.with_suffix(".sock").touch()
        os.utime(path, (now - age, now - age))
        made.append(path)
    return made


def test_of_many_dead_the_newest_stay() -> None:
    with job("say(1); time.sleep(60)") as living:
        living.line()
        (own,) = living.pages()
        dead = dead_pages(own.parent, [100.0 + number for number in range(300)], size=4096)
        os.utime(own, (1, 1))  # as if it had been stopped for long
        with job("say(2); time.sleep(60)", XDG_RUNTIME_DIR=str(living.runtime)) as second:
            second.line()
            wait_until(lambda: len(living.pages()) == 64 + 2, 30, "a few at each look")
            time.sleep(1.5)
            left = living.pages()
            assert own in left
            assert set(dead[:64]) <= set(left)
            assert dead[63].with_suffix(".sock").exists()
            assert not dead[64].with_suffix(".sock").exists()


def test_of_large_dead_ones_fewer_stay() -> None:
    with job("say(1); time.sleep(60)") as living:
        living.line()
        (own,) = living.pages()
        dead = dead_pages(own.parent, [100.0 + number for number in range(6)], size=8 << 20)
        with job("say(2)", XDG_RUNTIME_DIR=str(living.runtime)) as second:
            second.line()
            second.end()
        assert set(living.pages()) == {own, *dead[:4]}


def test_a_process_that_has_closed_all_its_files_keeps_its_page() -> None:
    code = """
os.closerange(3, 256)
path = os.environ["XDG_RUNTIME_DIR"] + "/mine"
mine = [os.open(path, os.O_RDWR | os.O_CREAT) for _ in range(20)]  # under the numbers of before
os.utime(path, (1, 1))
gputop.active().page.touch()
assert os.stat(path).st_mtime == 1
pid = os.fork()
if not pid: os._exit(not all(os.fstat(each) for each in mine))
say(os.waitpid(pid, 0)[1])
time.sleep(60)
"""
    with job(code) as living:
        assert living.line() == "0"
        (own,) = living.pages()
        os.utime(own, (1, 1))
        with job("say(2)", XDG_RUNTIME_DIR=str(living.runtime)) as second:
            second.line()
            second.end()
        assert living.pages() == [own]


def test_the_just_dead_stay_however_many() -> None:
    with job("say(1); time.sleep(60)") as living:
        living.line()
        dead = dead_pages(living.pages()[0].parent, [1.0] * 80, size=4096)
        with job("say(2)", XDG_RUNTIME_DIR=str(living.runtime)) as second:
            second.line()
            second.end()
        assert len(living.pages()) == len(dead) + 1


STEPS_ON = """
say("in")
while True:
    with gputop.phase("forward"): time.sleep(0.001)
    gputop.step()
"""


TRUNCATIONS = (
    "truncate -s 0 {page}",
    ": > {page}",
    "dd if=/dev/null of={page} 2>/dev/null",
    "for each in /proc/{pid}/fd/*; do test {page} -ef $each && : > $each; done",
)


@pytest.mark.parametrize("how", TRUNCATIONS)
def test_the_jobs_own_user_cannot_cut_the_page_short(how: str) -> None:
    """Cut short under its map, the next store would kill the job."""
    user = AS_ANOTHER if os.geteuid() == 0 else ()
    opened = 'chmod 755 "$XDG_RUNTIME_DIR"; chown 65534 "$XDG_RUNTIME_DIR"; exec "$@"'
    before = ("sh", "-c", opened, "sh", *user) if user else ()
    with job(STEPS_ON, before=before) as running:
        assert running.line() == "in"
        (page,) = running.pages()
        command = how.format(page=page, pid=running.pid)
        done = subprocess.run([*user, "sh", "-c", command], capture_output=True, check=False)
        assert done.returncode != 0, done.stderr
        assert page.stat().st_size == layout.PAGE_SIZE
        before_it = reading_of(running.pid).step or 0
        wait_until(lambda: (reading_of(running.pid).step or 0) > before_it, 10, "it steps on")
        assert running.process.poll() is None
