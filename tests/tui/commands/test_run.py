"""``gputop run``: the job is what it would be without it, but for one variable."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from gputop.probes.attach.preload import SHIM

from support.terminal import Pty, wait_until

GPUTOP = [sys.executable, "-P", "-m", "gputop"]
SHOW = "import sys, os; print(*sys.argv[1:]); print(os.environ['PYTHONPATH'])"


def run(
    *words: str, env: Mapping[str, str] | None = None, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [*GPUTOP, "run", *words],
        env={**environment, **(env or {})},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("code", [0, 1, 3, 64, 255])
def test_the_exit_code_is_the_job_s(code: int) -> None:
    done = run("--", "sh", "-c", f"exit {code}")
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_a_death_by_signal_is_the_job_s(number: int) -> None:
    assert run("--", "sh", "-c", f"kill -{number} $$").returncode == -number


def test_input_and_output_pass_through() -> None:
    done = run("--", "sh", "-c", "cat; echo err >&2", stdin="one\ntwo\n")
    assert (done.stdout, done.stderr) == ("one\ntwo\n", "err\n")


@pytest.mark.parametrize("separator", [["--"], []])
def test_the_words_of_the_job_are_its_own(separator: list[str]) -> None:
    done = run(*separator, sys.executable, "-c", SHOW, "--tui", "--", "-v", "--version")
    assert done.stdout.splitlines()[0] == "--tui -- -v --version"


def test_a_command_that_does_not_exist_is_127() -> None:
    done = run("--", "trian-model")
    assert done.returncode == 127
    assert done.stderr == "gputop: trian-model: there is no such command\n"


def test_a_file_that_is_no_program_is_126(tmp_path: Path) -> None:
    file = tmp_path / "train.sh"
    file.write_text("#!/nowhere/sh\n")
    assert run("--", str(file)).returncode == 126
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    done = run("--", str(file))
    assert done.returncode == 126
    assert "names an interpreter that is not there" in done.stderr


@pytest.mark.parametrize("words", [[], ["--"], ["--tui"], ["--tui", "--"]])
def test_no_command_is_64(words: list[str]) -> None:
    done = run(*words)
    assert done.returncode == 64
    assert done.stderr.startswith("gputop: run needs a command")


def test_one_variable_differs_and_nothing_else() -> None:
    env = {"LC_ALL": "", "LANG": "C", "ODD": "é\n="}
    words = ["env", "-0"]
    plain = subprocess.run(
        words,
        env={**{k: v for k, v in os.environ.items() if k != "PYTHONPATH"}, **env},
        capture_output=True,
        check=True,
    )
    probed = run("--", *words, env=env)
    assert set(probed.stdout.split("\0")) - set(plain.stdout.decode().split("\0")) == {
        f"PYTHONPATH={SHIM}"
    }
    assert set(plain.stdout.decode().split("\0")) <= set(probed.stdout.split("\0"))


def test_a_pipe_that_closes_ends_the_job_as_it_would_without_us() -> None:
    ignored = run("--", "grep", "SigIgn", "/proc/self/status").stdout.split()[1]
    assert int(ignored, 16) & (1 << signal.SIGPIPE - 1) == 0


def test_an_own_pythonpath_comes_after() -> None:
    done = run("--", sys.executable, "-c", SHOW, env={"PYTHONPATH": "/a:/b"})
    assert done.stdout.splitlines()[1] == f"{SHIM}:/a:/b"
    nested = run("--", *GPUTOP, "run", "--", sys.executable, "-c", SHOW)
    assert nested.stdout.splitlines()[1] == str(SHIM)


def test_it_says_how_to_watch_where_somebody_reads_it() -> None:
    assert run("--", "true").stderr == ""
    assert "in another terminal watches this job" in run("-v", "--", "true").stderr
    job = [*GPUTOP, "run", "--", "sh", "-c", "echo pid $$"]
    with closing(Pty(job, columns=100, lines=24, env=os.environ)) as terminal:
        terminal.wait_for(f"`gputop {terminal.process.pid}`", 30)
        terminal.wait_for(f"pid {terminal.process.pid}", 30)
        assert terminal.process.wait(30) == 0


def test_keys_of_the_terminal_reach_the_job() -> None:
    code = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTSTP, lambda *_: print('stop asked', flush=True))\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # CI may ignore it
        "print(sys.stdin.isatty(), sys.stdout.isatty(), 'ready', flush=True)\n"
        "try:\n"
        "    time.sleep(60)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', flush=True); sys.exit(7)\n"
    )
    # In a shell with job control, as a person has it, so that the terminal's keys go somewhere.
    words = ["setsid", "--ctty", "--wait", *GPUTOP, "run", "--", sys.executable, "-c", code]
    with closing(Pty(words, columns=100, lines=24, env=os.environ)) as terminal:
        terminal.wait_for("True True ready", 30)
        terminal.type("\x1a")
        terminal.wait_for("stop asked", 30)
        terminal.type("\x03")
        terminal.wait_for("interrupted", 30)
        assert terminal.process.wait(30) == 7


@pytest.mark.parametrize("option", ["-I", "-E", "-S", "-Sc", "-bE"])
def test_a_python_that_ignores_the_variable_is_reported_of(option: str) -> None:
    words = [option, "pass"] if option.endswith("c") else [option, "-c", "pass"]
    done = run("--", sys.executable, *words)
    assert done.returncode == 0
    assert "the probe is not loaded: python -" in done.stderr


def test_a_python_in_isolated_mode_runs_without_the_shim() -> None:
    code = "import sys; print('gputop_shim' in sys.modules)"
    assert run("--", sys.executable, "-c", code).stdout == "True\n"
    assert run("--", sys.executable, "-I", "-c", code).stdout == "False\n"


class TestUsersOwnSitecustomize:
    """Ours stands in front of it and must not be felt."""

    @staticmethod
    def outputs(folder: Path, text: str | None, code: str, *options: str) -> list[tuple[str, str]]:
        """Of a Python with that sitecustomize, without the shim and with it."""
        if text is not None:
            (folder / "sitecustomize.py").write_text(text)
        env = {"PYTHONPATH": str(folder)}
        words = [sys.executable, *options, "-c", code]
        plain = subprocess.run(
            words, env={**os.environ, **env}, capture_output=True, text=True, check=False
        )
        # As under `gputop run`, whose own Python would be reported of the user's sitecustomize too.
        behind = {"PYTHONPATH": f"{SHIM}:{folder}"}
        probed = subprocess.run(
            words, env={**os.environ, **behind}, capture_output=True, text=True, check=False
        )
        return [(each.stdout, each.stderr) for each in (plain, probed)]

    def test_it_runs_exactly_once_and_is_what_is_imported(self, tmp_path: Path) -> None:
        plain, probed = self.outputs(
            tmp_path,
            "print('mine', __name__, __file__)\nMARK = 5",
            "import sitecustomize; print(sitecustomize.MARK, sitecustomize.__file__)",
        )
        assert plain == probed
        assert plain[0].count("mine") == 1

    @pytest.mark.parametrize(
        "text",
        [
            "raise ValueError('mine')",
            "import no_such_module",
            "raise ImportError('mine', name='sitecustomize')",
            "this is no Python",
            "import sys; sys.exit(5)",
        ],
    )
    def test_its_errors_are_reported_as_python_does(self, text: str, tmp_path: Path) -> None:
        plain, probed = self.outputs(tmp_path, text, "print('job')")
        assert plain[0] == probed[0]
        assert plain[1].splitlines()[-1:] == probed[1].splitlines()[-1:]
        if "Traceback" not in plain[1]:
            assert plain[1] == probed[1]

    def test_none_at_all(self, tmp_path: Path) -> None:
        plain, probed = self.outputs(
            tmp_path,
            None,
            "import sys; print(sys.path, sys.flags, 'sitecustomize' in sys.modules)",
        )
        assert plain == probed


def test_pythons_without_torch_pay_next_to_nothing() -> None:
    code = "import sys; print(len(sys.modules), [m for m in sys.modules if m[:6] == 'gputop'])"
    plain = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    count = int(plain.stdout.split()[0])
    probed = run("--", sys.executable, "-c", code).stdout.split(" ", 1)
    assert int(probed[0]) - count <= 2
    assert probed[1] == "['gputop_shim']\n"


def test_the_screen_beside_a_job(tmp_path: Path) -> None:
    job = "echo working; while [ ! -e stop ]; do sleep 0.1; done; echo done; exit 5"
    words = [*GPUTOP, "run", "--tui", "--", "sh", "-c", job]
    env = {**os.environ, "HOME": str(tmp_path)}
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        terminal = Pty(words, columns=120, lines=30, env=env)
    finally:
        os.chdir(before)
    with closing(terminal):
        terminal.wait_for("its output goes to", 30)
        terminal.wait_for("\x1b[?1049h", 30)
        (log,) = tmp_path.glob("gputop-run-*.log")
        terminal.wait_for(f"output in {log.name}", 30)
        wait_until(lambda: log.read_text() == "working\n", 10, "its output")
        terminal.type("q")
        terminal.wait_for("goes on, its output in", 30)
        (tmp_path / "stop").touch()
        assert terminal.process.wait(30) == 5
        terminal.wait_for("ended with exit code 5", 10)
        assert log.read_text() == "working\ndone\n"


def test_the_screen_needs_a_terminal(tmp_path: Path) -> None:
    done = run("--tui", "--", "touch", str(tmp_path / "started"))
    assert done.returncode == 64
    assert not (tmp_path / "started").exists()
