"""What a command line runs: the script behind an interpreter, a launcher of ranks, a shell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

CommandKind = Literal["launcher", "wrapper", "shell", "prompt", "program"]
"""A ``launcher`` starts ranks; a ``wrapper`` or a ``shell`` with a script starts one command and waits;
a ``prompt`` is a shell at which somebody sits; all else is a ``program``."""

_PYTHON = re.compile(r"(?:python|pypy)\d*(?:\.\d+)*[td]?|ipython\d*")
_REMEMBERED = 512
"""Command lines: the same ones come with each sample."""
_OPTIONS_WITH_VALUE = frozenset("WX")
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "csh", "tcsh", "fish", "ash"})
_SHELL_OPTIONS_WITH_VALUE = frozenset({"-o", "+o", "-O", "+O", "--rcfile", "--init-file"})
_WRAPPERS = frozenset(
    {
        "env",
        "time",
        "timeout",
        "nice",
        "nohup",
        "numactl",
        "taskset",
        "stdbuf",
        "setsid",
        "unbuffer",
    }
    | {"strace", "perf", "nsys", "ncu", "gputop", "sudo", "su", "tini", "dumb-init", "tee"}
    | {"singularity", "apptainer", "starter", "starter-suid", "enroot", "pyxis"}
    | {"docker", "podman", "nerdctl", "unshare", "nsenter", "chroot", "bwrap", "setpriv", "runuser"}
    | {"uv", "conda", "mamba", "micromamba", "poetry", "pdm", "pixi", "hatch", "pipenv"}
    | {"ionice", "chrt", "hwloc-bind", "valgrind", "catchsegv"}
)
_LAUNCHERS = frozenset(
    {"torchrun", "accelerate-launch", "deepspeed", "ds", "composer", "horovodrun", "torchx"}
    | {"mpirun", "mpiexec", "mpiexec.hydra", "hydra_pmi_proxy", "orterun", "orted", "prterun"}
    | {"prted", "prun", "srun", "jsrun", "aprun", "bpslaunch", "raylet"}
)
_POOLS = frozenset({"raylet"})
_LAUNCHER_MODULES = (
    "torch.distributed.run",
    "torch.distributed.launch",
    "accelerate.commands.launch",
    "deepspeed.launcher",
    "composer.cli.launcher",
    "horovod.runner",
    "bagua.distributed",
    "paddle.distributed.launch",
)
_LAUNCHER_VERBS = {"accelerate": "launch", "colossalai": "run", "tune": "run", "fabric": "run"}
_LOCAL_RANK = r"--local[_-]rank(?:=(.*))?"
_RANK = r"--rank(?:=(.*))?"
_SIZE = r"--world[_-]?size(?:=(.*))?"
_BOUNDARIES = frozenset(
    {"init", "systemd", "(sd-pam)", "sshd", "sshd-session", "login", "cron", "crond", "atd"}
    | {"slurmstepd", "slurmd", "pbs_mom", "sge_shepherd", "res", "sbatchd", "kubelet", "dockerd"}
    | {"docker-init", "containerd", "conmon", "crun", "runc", "supervisord", "screen"}
)
_BOUNDARY_STARTS = ("containerd-shim", "tmux: server", "slurmstepd:")


class Python(NamedTuple):
    """What an interpreter was reported to run."""

    kind: Literal["script", "module", "code", "nothing"]
    name: str
    """Path of the script or dotted name of the module; empty for the others."""
    arguments: tuple[str, ...]


def is_boundary(name: str) -> bool:
    """Whether a process of this kernel name starts jobs of anybody, and so belongs to none."""
    return name in _BOUNDARIES or name.startswith(_BOUNDARY_STARTS)


def python_of(command: Sequence[str]) -> Python | None:
    """What is run by Python; ``None`` where the command is not a Python interpreter."""
    if not command or not _PYTHON.fullmatch(_base(command[0])):
        return None
    at = 1
    while at < len(command):
        word = command[at]
        at += 1
        if word == "--" or not word.startswith("-") or word == "-":
            return _script(command, at if word == "--" else at - 1)
        if word.startswith("--"):
            at += word == "--check-hash-based-pycs"
            continue
        for place, letter in enumerate(word[1:], start=2):
            rest = word[place:]
            if letter == "c":
                return Python("code", "", tuple(command[at if rest else at + 1 :]))
            if letter == "m":
                module, left = (rest, at) if rest else (_at(command, at), at + 1)
                return Python("module", module, tuple(command[left:]))
            if letter in _OPTIONS_WITH_VALUE:
                at += not rest
                break
    return Python("nothing", "", ())


def is_gputop(command: Sequence[str]) -> bool:
    """Whether it is another gputop, which may have been started from within a job's shell."""
    python = python_of(command)
    name = _base(python.name) if python is not None else _base(command[0]) if command else ""
    return name == "gputop"


def kind_of(command: tuple[str, ...] | None) -> CommandKind:
    """The part that a process of this command line plays in starting others."""
    return _kind_of(command or ())


def untitled(command: tuple[str, ...] | None, *, titled: bool) -> tuple[str, ...]:
    """The command line with the name of a Python again, where that has another title.

    ``exec -a TITLE python train.py`` leaves the rest of it; setproctitle leaves nothing.
    """
    return ("python", *(command or ())[1:]) if titled else command or ()


def is_python_file(path: str) -> bool:
    """Whether the file that a process runs is a Python interpreter."""
    return _PYTHON.fullmatch(_base(path.removesuffix(" (deleted)"))) is not None


def is_pool(command: Sequence[str] | None) -> bool:
    """Whether it starts workers ahead, for jobs of anybody: Ray's."""
    return bool(command) and _base((command or ("",))[0]) in _POOLS


@lru_cache(maxsize=_REMEMBERED)
def _kind_of(command: tuple[str, ...]) -> CommandKind:
    if not command:
        return "program"
    name, arguments = _base(command[0]).lstrip("-"), tuple(command[1:])
    python = python_of(command)
    if python is not None:
        if python.kind == "module" and python.name.startswith(_LAUNCHER_MODULES):
            return "launcher"
        if python.kind != "script":
            return "program"
        name, arguments = _base(python.name), python.arguments
        if python.name.replace("/", ".").removesuffix(".py").endswith(_LAUNCHER_MODULES):
            return "launcher"
    if name in _LAUNCHERS or (name in _LAUNCHER_VERBS and _LAUNCHER_VERBS[name] in arguments[:1]):
        return "launcher"
    if name in _SHELLS:
        return "shell" if _runs_something(command) else "prompt"
    return "wrapper" if name in _WRAPPERS else "program"


def is_spawned(command: Sequence[str] | None) -> bool:
    """Whether Python's multiprocessing started it afresh; what it is part of is its parent's."""
    return any("multiprocessing" in word for word in (command or ())[1:4])


def program_of(command: Sequence[str] | None) -> tuple[str, ...]:
    """What it runs, whatever the arguments."""
    python = python_of(command or ())
    return tuple((command or ())[:1]) if python is None else (python.kind, python.name)


def job_name(command: Sequence[str] | None) -> str:
    """The script or module for people; empty where the command line does not tell."""
    if not command:
        return ""
    python = python_of(command)
    if python is None:
        # A process that set its own title has one word, with spaces in it.
        return _base(command[0].split(" ", 1)[0])
    if python.kind in ("script", "module"):
        return _base(python.name) if python.kind == "script" else python.name
    return "python -c" if python.kind == "code" else "python"


def local_rank_argument(command: tuple[str, ...] | None) -> int | None:
    """The local rank that DeepSpeed and older launchers give on the command line."""
    return _local_rank(command or ())


def rank_arguments(command: tuple[str, ...] | None) -> tuple[int, int] | None:
    """Rank and number of ranks, where the command line has both: ``--rank`` alone may be a matrix's."""
    return _rank_and_size(command or ())


@lru_cache(maxsize=_REMEMBERED)
def _rank_and_size(words: tuple[str, ...]) -> tuple[int, int] | None:
    rank, size = _number_of(_RANK, words), _number_of(_SIZE, words)
    return None if rank is None or size is None or rank >= size else (rank, size)


@lru_cache(maxsize=_REMEMBERED)
def _local_rank(words: tuple[str, ...]) -> int | None:
    return _number_of(_LOCAL_RANK, words)


def _number_of(option: str, words: tuple[str, ...]) -> int | None:
    for place, word in enumerate(words):
        found = re.fullmatch(option, word) if word.startswith("--") else None
        if found:
            digits = found[1] or _at(words, place + 1)
            return int(digits) if re.fullmatch(r"[0-9]{1,5}", digits) else None
    return None


def _script(command: Sequence[str], at: int) -> Python:
    if at >= len(command):
        return Python("nothing", "", ())
    return Python("script", command[at], tuple(command[at + 1 :]))


def _runs_something(command: Sequence[str]) -> bool:
    """Whether a shell was given a script or a command; else it asks for the next one, again and again."""
    if command[0].startswith("-"):
        return False
    at = 1
    while at < len(command):
        word = command[at]
        if word == "-c":
            return True
        if word in _SHELL_OPTIONS_WITH_VALUE:
            at += 2
        elif word.startswith("-"):
            at += 1
        else:
            return not is_descriptor(word)
    return False


def is_descriptor(path: str) -> bool:
    """Whether a path names what the process has open: somebody writes to it what is to be done next."""
    return path.startswith(("/dev/fd/", "/proc/self/fd/")) or path == "/dev/stdin"


def _base(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _at(words: Sequence[str], place: int) -> str:
    return words[place] if place < len(words) else ""
