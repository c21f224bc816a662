"""``python -m tests.gpu.check --report FILE``: compare gputop with a real GPU, and write one report.

It takes less than six minutes and needs no network. Exit code 0 when all agrees, 1 otherwise.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from .parts import PARTS, Outcome, Part, command_of, measure, run_here
from .report import markdown, one_line
from .section import Said
from .setting import Setting, why_no_jobs

TOTAL_SECONDS = 345.0
SHORTEST_SECONDS = 5.0


def main(words: list[str] | None = None) -> int:
    """The exit code."""
    options = _options().parse_args(words)
    if options.part:
        setting = _setting(options, options.folder, time.monotonic() + options.limit)
        return run_here(options.part, setting, options.into)
    options.folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    if any(part.runs_jobs for part in PARTS if part.name in options.parts):
        options.no_jobs = why_no_jobs(options.python, options.device)
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="gputop-check-") as notes:
        for part in PARTS:
            if part.name in options.parts:
                outcomes.append(_one(part, options, Path(notes), began + TOTAL_SECONDS))
                print(one_line(outcomes[-1]), flush=True)
    options.report.write_text(markdown(outcomes, time.monotonic() - began), encoding="utf-8")
    print(f"the report is in {options.report}")
    return 1 if any(each.failures or each.skips for each in outcomes) else 0


def _one(part: Part, options: argparse.Namespace, notes: Path, ends_at: float) -> Outcome:
    limit = min(part.limit_seconds, ends_at - time.monotonic())
    if limit < SHORTEST_SECONDS:
        return Outcome(part, (Said("failure", "no time was left for it"),), 0.0)
    setting = _setting(options, options.folder, time.monotonic() + limit)
    file = notes / f"{part.name}.jsonl"
    return measure(part, command_of(part, setting, file, limit), file, limit)


def _setting(options: argparse.Namespace, folder: Path, ends_at: float) -> Setting:
    return Setting(
        folder=folder.absolute(),
        python=options.python,
        device=options.device,
        watch_seconds=options.watch,
        ends_at=ends_at,
        no_jobs=options.no_jobs,
    )


def _options() -> argparse.ArgumentParser:
    names = [part.name for part in PARTS]
    parser = argparse.ArgumentParser(prog="python -m tests.gpu.check", description=__doc__)
    parser.add_argument("--report", type=Path, default=Path("gpu-check.md"), metavar="FILE")
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path("gpu-check"),
        help="for traces, snapshots and what jobs print (gpu-check)",
    )
    parser.add_argument(
        "--parts", nargs="+", choices=names, default=names, metavar="PART", help=", ".join(names)
    )
    parser.add_argument(
        "--python",
        default=os.environ.get("GPUTOP_TORCH_PYTHON") or sys.executable,
        help="one that has torch (GPUTOP_TORCH_PYTHON, else this one)",
    )
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="of the jobs")
    parser.add_argument(
        "--watch", type=float, default=14.0, metavar="SECONDS", help="of each job (14)"
    )
    parser.add_argument("--part", choices=names, help=argparse.SUPPRESS)
    parser.add_argument("--into", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--no-jobs", default="", help=argparse.SUPPRESS)
    parser.add_argument("--limit", type=float, default=60.0, help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
