"""What the probe costs a job on this GPU: at steps of 10 ms, and for each event that it records."""

from __future__ import annotations

import json
from statistics import median
from typing import Any

from .section import Section
from .setting import PACKAGE, TORCH_SCRIPTS, Setting, ask

STEPS_SECONDS = 6.0
MOST_RATIO = 0.01
"""Of a step of 10 ms. What the probe shall reach is half of it: what else the machine does is in the figure."""
MOST_EVENT_SECONDS = 10e-6
LEAST_TIMED_STEPS = 20


def run(setting: Setting, said: Section) -> None:
    """Both, where jobs run."""
    if setting.no_jobs:
        said.skipped(f"{setting.no_jobs}: there is nothing to measure")
        return
    _short_steps(setting, said)
    if setting.device == "cpu":
        said.skipped("events are CUDA's")
    else:
        _events(setting, said)


def _run(setting: Setting, said: Section, script: str, *words: str) -> dict[str, Any] | None:
    command = [setting.python, str(TORCH_SCRIPTS / script), str(PACKAGE), *words]
    done = ask(command, setting.left_seconds - 1)
    if done.returncode or not done.stdout.strip():
        said.failure(f"{script} ended with {done.returncode}: {done.stderr.strip()[-400:]}")
        return None
    figures: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return figures


def _short_steps(setting: Setting, said: Section) -> None:
    words = ("--seconds", f"{STEPS_SECONDS:g}", "--device", setting.device)
    figures = _run(setting, said, "short_steps.py", *words)
    if figures is None:
        return
    if not figures["attached"]:
        said.failure(f"the probe did not get in: {figures['reason']}")
        return
    alone, watched = figures["without_seconds"], figures["with_seconds"]
    added = median(watched) - median(alone)
    said.text(
        f"{figures['steps']} steps each: {median(alone) * 1e3:.3f} ms without the probe, "
        f"{median(watched) * 1e3:.3f} ms with it (medians): {added * 1e6:+.0f} µs, {added / median(alone):+.2%}. "
        f"The fastest tenth: {_tenth(alone):.3f} and {_tenth(watched):.3f} ms."
    )
    said.text(f"Hooks: {_hooks(figures['hooks'])}.")
    if setting.device == "cuda" and added > MOST_RATIO * median(alone):
        said.failure(f"the probe adds {added * 1e6:.0f} µs to a step, over {MOST_RATIO:.0%}")


def _tenth(ordered: list[float]) -> float:
    return ordered[len(ordered) // 10] * 1e3


def _events(setting: Setting, said: Section) -> None:
    """As ``test_events.py`` does: steps get their times on the GPU, and an event costs what it may."""
    figures = _run(setting, said, "gpu_steps.py")
    if figures is None:
        return
    timed = [step for step in figures["steps"][5:] if step["gpu"].get("forward")]
    said.text(
        f"{len(timed)} of {len(figures['steps'])} steps have their times on the GPU; "
        f"recording an event takes {figures['record_ns']:.0f} ns. Hooks: {_hooks(figures['hooks'])}."
    )
    for hook in ("gpu_time", "allocator"):
        if figures["hooks"].get(hook) != "on":
            said.failure(f"the hook {hook} is {figures['hooks'].get(hook, 'not there')}")
    if len(timed) <= LEAST_TIMED_STEPS:
        said.failure(f"only {len(timed)} steps have their times on the GPU")
    if figures["record_ns"] > MOST_EVENT_SECONDS * 1e9:
        said.failure(f"recording an event takes {figures['record_ns'] / 1e3:.1f} µs")


def _hooks(states: dict[str, str]) -> str:
    return ", ".join(f"{name} {state}" for name, state in sorted(states.items())) or "none"
