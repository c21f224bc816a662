"""The grammar of the commands that feed other tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .console import values

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
    which.add_argument(
        "pid",
        type=values.pid,
        nargs="?",
        action="append",
        metavar="PID",
        help="of a job to look at too",
    )
    which.add_argument(
        "--demo",
        dest="scenario",
        metavar="SCENARIO",
        help="serve a simulated node (gputop demo --list)",
    )
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
