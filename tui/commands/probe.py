"""``gputop probe PID …``: what needs the job's cooperation, asked for on the command line."""

from __future__ import annotations

import time
from argparse import Namespace
from pathlib import Path
from typing import cast

from ...probes.attach.control_client import ProbeError, ask, ask_worker_server
from ..console.errors import UsageError
from ..console.exits import COULD_NOT_LOOK, OK, complain
from ..console.output import say, say_json
from ..drawing.glyphs import DASH
from ..drawing.lines import plain_json, plain_text

_POLL_SECONDS = 0.2
_DEFAULT_STEPS = 3
_WARNING = (
    "torch.profiler takes the process's only CUPTI subscription and slows the steps that it records; "
    "before CUDA 12.6 the job may stay slower afterwards"
)


def probe(options: Namespace) -> int:
    """Do what was asked for; returns the exit code.

    Raises:
        UsageError: when the options do not fit the question.
    """
    question: str = options.question
    if options.steps is not None and question != "profile":
        raise UsageError(f"{question} takes no number")
    if options.format != "text" and question != "status":
        raise UsageError(f"{question} has its own format, and takes no --format")
    pid: int = options.pid[0]
    try:
        if question == "status":
            return _print_status(ask(pid, {"command": "status"}), options.format)
        if question == "profile":
            return _profile(pid, options.steps or _DEFAULT_STEPS, options.output)
        if question == "memory-snapshot":
            path = _path(options.output, f"gputop-memory-{pid}.pickle")
            say(str(ask(pid, {"command": question, "path": path}, seconds=120)["path"]))
            return OK
        return _put(_text(pid, question), options.output)
    except ProbeError as error:
        return complain(str(error), COULD_NOT_LOOK)


def _text(pid: int, question: str) -> str:
    if question == "flight-recorder":
        try:
            return ask_worker_server(pid, "fr_trace_json")
        except ProbeError:
            pass  # not running, or an older one: the probe itself can do it while the job is not stuck
    return str(ask(pid, {"command": question})["text"])


def _put(text: str, output: str | None) -> int:
    """Print or write what the job said: JSON or lines of text."""
    is_json = text.lstrip().startswith(("{", "["))
    if output is None:
        if is_json:
            say_json(text.rstrip("\n").encode("utf-8", "replace"))
        else:
            say(text.rstrip("\n"))
        return OK
    try:
        with Path(output).open("x", encoding="utf-8") as file:
            file.write(plain_json(text) if is_json else plain_text(text.split("\n")))
    except OSError as error:
        return complain(f"{output} is not written: {error.strerror}", COULD_NOT_LOOK)
    say(output)
    return OK


def _path(output: str | None, default: str) -> str:
    return str(Path(output or default).absolute())


def _print_status(status: dict[str, object], form: str) -> int:
    if form == "json":
        from ..reports.json_output import probe_status_json

        say_json(probe_status_json(status))
        return OK
    for name, value in status.items():
        if isinstance(value, dict):
            for key, each in cast("dict[str, object]", value).items():
                say(f"{name}.{key}: {each}\n")
        else:
            say(f"{name}: {DASH if value is None else value}\n")
    return OK


def _profile(pid: int, steps: int, output: str | None) -> int:
    complain(_WARNING)
    path = _path(output, f"gputop-profile-{pid}-{time.strftime('%Y%m%d-%H%M%S')}.json")
    state = ask(pid, {"command": "profile", "steps": steps, "path": path})
    try:
        said = ""
        while state["state"] in ("waiting", "recording", "writing"):
            if state["state"] != said:
                said = str(state["state"])
                complain(_SAID[said].format(steps=steps))
            time.sleep(_POLL_SECONDS)
            state = ask(pid, {"command": "profile-status"}, seconds=60)
    except KeyboardInterrupt:
        ask(pid, {"command": "profile-cancel"})
        raise
    if state["state"] != "done":
        return complain(f"nothing was recorded: {state['reason']}", COULD_NOT_LOOK)
    say(path)
    return OK


_SAID = {
    "waiting": "waiting for the end of the step in progress (Ctrl-C cancels)",
    "recording": "recording {steps} steps",
    "writing": "the job writes the trace",
}
