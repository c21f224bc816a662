"""``gputop collect``: raw samples for a front end elsewhere."""

from __future__ import annotations

import sys
from argparse import Namespace

from ..console.errors import UsageError
from ..console.exits import OK, complain
from ..console.output import OutputError


def collect(options: Namespace) -> int:
    """Send samples until standard input ends; returns the exit code, if it returns.

    Raises:
        UsageError: when standard output is a terminal.
        OutputError: when samples cannot be written.
    """
    from ...probes.collector.main import collect as send_samples
    from ...probes.scheduling.process_limit import EXIT_CODE, SENTENCE, is_process_limit

    if sys.stdout.isatty():
        raise UsageError("collect writes binary samples for a front end, not for a terminal")
    try:
        send_samples(
            interval_seconds=options.interval,
            without=frozenset(options.without),
            pids=tuple(options.pid),
        )
    except RuntimeError as error:
        if not is_process_limit(error):
            raise
        return complain(SENTENCE, EXIT_CODE)
    except OSError as error:  # sources have no errors: this is from sending samples
        raise OutputError(error) from error
    return OK
