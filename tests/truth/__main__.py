"""``python -m tests.truth``: run the corpus, and print the table of what gputop got right.

It needs a Python with torch: ``GPUTOP_TORCH_PYTHON`` names it.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor

from .case import Case
from .faulty import FAULTY
from .healthy import HEALTHY
from .known import known
from .load import loaded
from .outcome import Outcome, measure
from .report import figures, row, unexpected
from .start import Setting

AS_NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
CASES = (*FAULTY, *HEALTHY)
COULD_NOT_MEASURE, INTERRUPTED = 2, 130


def main(words: list[str] | None = None) -> int:
    """0 if everything was as expected."""
    options = _options().parse_args(words)
    python = os.environ.get("GPUTOP_TORCH_PYTHON", "")
    if not python:
        print("GPUTOP_TORCH_PYTHON names no Python that has torch", file=sys.stderr)
        return COULD_NOT_MEASURE
    chosen = [case for case in CASES if re.search(options.cases, _title(case))]
    if options.list:
        print("\n".join(_title(case) for case in chosen))
        return 0
    setting = Setting(python, options.probe, AS_NOBODY if options.user == "nobody" else ())
    if setting.before and _cannot_run(setting):
        print(f"SKIPPED: that user cannot run {python}", file=sys.stderr)
        return COULD_NOT_MEASURE
    runnable: list[Case] = []
    for case in chosen:
        why = case.missing or _why_not(case, setting)
        if why:
            print(f"SKIPPED {_title(case)}: {why}")
        else:
            runnable.append(case)
    with loaded(options.load), ThreadPoolExecutor(options.parallel) as pool:
        runs = [
            pool.submit(measure, case, setting, options.healthy_for)
            for case in runnable * options.runs
        ]
        try:
            surprises = _tell(runs, options)
        except KeyboardInterrupt:
            pool.shutdown(
                cancel_futures=True
            )  # those that run are ended with all that they started
            return INTERRUPTED
    return 1 if surprises else 0


def _tell(runs: list[Future[Outcome]], options: argparse.Namespace) -> int:
    """Print each when it is there, then the figures; returns how many are otherwise than expected.

    Beside a load, or as another user, what is known to fail may be right by chance, and the reverse: there
    it is measured only.
    """
    mode = "probe" if options.probe else "bare"
    quiet = not options.load and options.user == "self"
    reasons = known()
    surprises = 0
    outcomes: list[Outcome] = []
    for run in runs:
        outcome = run.result()
        reason = reasons.reason(outcome.case.name, mode) if quiet else ""
        surprises += unexpected(outcome, reason)
        outcomes.append(outcome)
        print(row(outcome, reason), flush=True)
    print(f"\n{mode}, load {options.load} a core, as {options.user}\n{figures(outcomes)}")
    return surprises if quiet else 0


def _why_not(case: Case, setting: Setting) -> str:
    """Why it says nothing in this setting, or an empty string."""
    if setting.probe:
        return "" if case.probe_able else "no probe gets into it"
    return "without a probe nothing tells it from a server" if case.needs_probe else ""


def _cannot_run(setting: Setting) -> bool:
    """One program more: setpriv still has root's rights when it starts the first."""
    words = [*setting.before, "env", setting.python, "--version"]
    return subprocess.run(words, capture_output=True, check=False).returncode != 0


def _title(case: Case) -> str:
    return f"{'faulty' if case.faulty else 'healthy'} {case.name}"


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.truth", description=__doc__)
    parser.add_argument(
        "--cases", default="", metavar="PATTERN", help="regular expression; see --list"
    )
    parser.add_argument("--list", action="store_true", help="name the cases")
    parser.add_argument("--probe", action=argparse.BooleanOptionalAction, default=False)
    parser.add_argument("--user", choices=("self", "nobody"), default="self")
    parser.add_argument("--load", type=int, default=0, metavar="N", help="busy loops a core")
    parser.add_argument("--runs", type=int, default=1, help="of each case")
    parser.add_argument("--parallel", type=int, default=1, help="cases at a time")
    parser.add_argument("--healthy-for", type=float, default=70.0, metavar="SECONDS")
    return parser


if __name__ == "__main__":
    sys.exit(main())
