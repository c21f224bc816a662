"""The grammar of the commands that keep what is seen, and feed other tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .console import values
from .shared_arguments import TIME, add_pid, add_scenario, add_span

_DEFAULT = ("127.0.0.1", 9834)


def add_serve(add: Callable[..., Any], add_viewing: Callable[..., None]) -> None:
    """``gputop serve``."""
    serve = add(
        "serve",
        help="metrics of this node for Prometheus",
        description="Watch this node and serve what is seen as metrics, in Prometheus' text format and as "
        "OpenMetrics, until it is interrupted: GPUs, ranks, steps, where the time goes, and findings.",
        epilog="Only this machine can reach it unless --listen says otherwise. Exit codes: 0 it was ended, "
        "2 it could not listen or look, 64 wrong usage, 130 interrupted.",
        allow_abbrev=False,
    )
    which = serve.add_mutually_exclusive_group()
    add_pid(which.add_argument)
    add_scenario(which.add_argument)
    where = serve.add_mutually_exclusive_group()
    where.add_argument(
        "--listen",
        type=values.address,
        default=_DEFAULT,
        metavar="HOST:PORT",
        help="where to listen (127.0.0.1:9834); port 0 takes any that is free",
    )
    where.add_argument(
        "--textfile",
        metavar="FILE.prom",
        help="write them to this file instead, for node_exporter's textfile collector",
    )
    where.add_argument(
        "--print",
        dest="generated",
        choices=("alerts", "rules", "dashboard"),
        help="print alert rules, recording rules or a Grafana dashboard, and exit",
    )
    serve.add_argument("--certificate", metavar="FILE", help="serve HTTPS with this certificate")
    serve.add_argument("--key", metavar="FILE", help="its private key")
    serve.add_argument(
        "--client-ca", metavar="FILE", help="let in only clients that one of these has signed"
    )
    serve.add_argument(
        "--token-file",
        metavar="FILE",
        help="let in only clients with the bearer token in this file",
    )
    add_viewing(serve, suppress=True)
    serve.set_defaults(scenario=None)


def add_recordings(add: Callable[..., Any], add_viewing: Callable[..., None]) -> None:
    """``gputop record``, ``replay`` and ``cut``."""
    record = add(
        "record",
        help="keep what is seen, to replay it later",
        description="Watch this node without a screen and keep all samples and findings, in a new file each "
        "hour, until it is interrupted. After an hour a file is thinned: of ten seconds one sample stays, all phases, "
        "and everything from two minutes before to one after each finding. gputop replay NAME shows it all as if it "
        "were now. A node is recorded once at a time.",
        epilog="Exit codes: 0 all of it was kept, 2 it could not look or write, 64 wrong usage.",
        allow_abbrev=False,
    )
    record.add_argument(
        "recording",
        type=values.file,
        metavar="NAME",
        help="path that the names of its files begin with",
    )
    add_pid(record.add_argument)
    record.add_argument(
        "--for",
        dest="seconds",
        type=values.seconds,
        metavar="SECONDS",
        help="how long (until Ctrl+C)",
    )
    record.add_argument(
        "--max-size",
        type=values.size,
        metavar="BYTES",
        help="of all files of that name, such as 2G; the oldest are removed",
    )
    record.add_argument(
        "--keep",
        type=values.span,
        metavar="TIME",
        help="such as 90m, 24h or 7d: files that are older are removed",
    )
    add_scenario(record.add_argument)
    add_viewing(record, suppress=True)

    replay = add(
        "replay",
        help="show a recording as if it were now",
        description="Show a recording on the same screens, from a moment of it on, judged as it was then.",
        allow_abbrev=False,
    )
    replay.add_argument(
        "source", metavar="FILE", help="one of its files, or the name of a recording"
    )
    replay.add_argument("--at", metavar="TIME", help=f"from when on ({TIME}); its beginning")
    replay.add_argument(
        "--speed",
        type=values.speed,
        default=1.0,
        metavar="N",
        help="seconds of it in one, 0.1 to 100 (1)",
    )
    replay.add_argument(
        "--rejudge",
        action="store_true",
        help="judge all of it anew first, by the rules of this version and --rules: n goes to what they find",
    )
    add_viewing(replay, suppress=True)

    cut = add(
        "cut",
        help="a part of a recording as a file of its own",
        description="Write the part of a recording from one moment to another into a new file.",
        allow_abbrev=False,
    )
    cut.add_argument("source", metavar="FILE", help="one of its files, or the name of a recording")
    add_span(cut)
    cut.add_argument(
        "-o", "--output", type=values.file, required=True, metavar="FILE", help="the new file"
    )
    cut.add_argument("--force", action="store_true", help="replace the file if there is one")


def add_stream(add: Callable[..., Any], add_viewing: Callable[..., None]) -> None:
    """``gputop stream``."""
    stream = add(
        "stream",
        help="JSON lines of what is seen",
        description="Watch this node and print a line of JSON for each frame, rank, GPU or active finding, "
        "at each look, under the names of --format json, until it is interrupted.",
        allow_abbrev=False,
    )
    stream.add_argument(
        "--schema", action="store_true", help="print the JSON schema of these lines, and exit"
    )
    add_pid(stream.add_argument)
    stream.add_argument(
        "--what",
        choices=("frames", "ranks", "gpus", "findings"),
        default="frames",
        help="what each line is of (frames: some 280 kB each)",
    )
    stream.add_argument(
        "--fields", metavar="A,B", help="these fields alone, beside timestamp_seconds and node"
    )
    stream.add_argument(
        "--count", type=values.count, metavar="N", help="end after so many looks (until Ctrl+C)"
    )
    add_scenario(stream.add_argument)
    add_viewing(stream, suppress=True)
