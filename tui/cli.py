"""The command ``gputop``: what was asked for, and the exit code.

Exit codes: 0 fine, 1 active findings (diagnose) or a regression (compare), 2 could not look, 64 wrong usage, 130 interrupted.
Everything heavy is imported where it is used: the collector, which starts here too, must stay small.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

from .arguments import parse
from .console.errors import UsageError
from .console.exits import COULD_NOT_LOOK, INTERRUPTED, OK, WRONG_USAGE, complain
from .console.output import OutputError, open_standard_streams, say_json


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    # What is loaded now stays: looking through it for garbage is a fifth of the start. Whatever goes
    # on for long turns this on again.
    gc.disable()
    try:
        open_standard_streams()
        return _run(sys.argv[1:] if argv is None else argv)
    except UsageError as error:
        return complain(str(error), WRONG_USAGE)
    except OutputError as error:
        return complain(str(error), COULD_NOT_LOOK)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return OK  # whoever read our output has enough
    except Exception as error:
        if os.environ.get("GPUTOP_DEBUG"):
            raise
        return complain(
            f"internal error: {type(error).__name__}: {error} (GPUTOP_DEBUG=1 shows where)",
            COULD_NOT_LOOK,
        )


def _run(argv: Sequence[str]) -> int:
    options = parse(argv)
    if options.command == "collect":
        from .commands.collect import collect

        return collect(options)
    if options.command == "rules":
        from .commands.rules import print_rules

        return print_rules(options.rule, options.settings)
    if options.command == "run":
        from .commands.run import run

        return run(options)
    if options.command == "probe":
        from .commands.probe import probe

        return probe(options)
    if options.inject:
        from .commands.attach import inject

        code = inject(options.pid[0])
        if code != OK:
            return code
    if options.command == "demo" and options.list:
        from .commands.once import print_scenarios

        return print_scenarios()
    if options.command == "doctor":
        from .commands.doctor import examine

        return examine(options)
    if options.command == "serve" and options.generated:
        from .commands.serve import print_generated

        return print_generated(options.generated)
    if options.command == "compare":
        from .commands.compare import compare

        return compare(options)
    if options.command == "capture":
        from .commands.capture import capture

        return capture(options)
    if options.command == "stream" and options.schema:
        from .reports.stream_schema import packaged

        say_json(packaged(options.what))
        return OK
    if options.command == "export":
        from .commands.export import export

        return export(options)
    if options.command == "cut":
        from .commands.cut import cut

        return cut(options)
    if options.command in ("diagnose", "stacks", "serve", "record", "stream"):
        from .commands.live import report

        return report(options)
    from .commands.live import watch

    return watch(options)
