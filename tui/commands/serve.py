"""``gputop serve``: metrics of this node over HTTP, or in a file for node_exporter."""

from __future__ import annotations

import os
import ssl
import threading
from argparse import Namespace
from contextlib import ExitStack
from pathlib import Path

from prometheus_client import CollectorRegistry, write_to_textfile

from ...probes.feeds.protocol import FeedError
from ..console.errors import UsageError
from ..console.exits import COULD_NOT_LOOK, OK, complain
from ..console.output import say
from ..reports.metrics.collector import JudgementCollector
from ..reports.metrics.server import MetricsServer, tls_context
from ..session.watch import Watch

_LOOPBACK = ("127.", "::1", "localhost")
_TOKEN_BYTES = 4096


def print_generated(what: str) -> int:
    """Alert rules, recording rules or the dashboard, for a Prometheus and a Grafana that have none."""
    from ..reports.metrics.generated import alerts, dashboard, recording_rules

    say({"alerts": alerts, "rules": recording_rules, "dashboard": dashboard}[what]())
    return OK


def check(options: Namespace) -> None:
    """What cannot be served as it was asked for.

    Raises:
        UsageError: one sentence.
    """
    if bool(options.certificate) != bool(options.key):
        raise UsageError("--certificate and --key go together")
    if options.client_ca and not options.certificate:
        raise UsageError("--client-ca goes with --certificate and --key")
    host = options.listen[0]
    open_to_all = not host.startswith(_LOOPBACK)
    if options.token_file and open_to_all and not options.certificate:
        raise UsageError(
            "a token would travel in the open: give --certificate and --key, or listen on 127.0.0.1"
        )


def serve(watch: Watch, options: Namespace) -> int:
    """Until it is interrupted; returns the exit code."""
    found = JudgementCollector()
    registry = CollectorRegistry()
    registry.register(found)
    with ExitStack() as ends:
        ends.callback(watch.close)
        if not options.textfile:
            try:
                server = _server(registry, options)
            except (OSError, ssl.SSLError) as error:
                return complain(_why_not(error, options), COULD_NOT_LOOK)
            ends.callback(server.close)
            scheme = "https" if options.certificate else "http"
            host = options.listen[0]
            shown = f"[{host}]" if ":" in host else host
            say(f"gputop serves metrics at {scheme}://{shown}:{server.port}/metrics")
        try:
            for judgement in watch.judgements():
                found.take(judgement)
                if options.textfile:
                    write_file(options.textfile, registry)
        except FeedError as error:
            return complain(str(error), COULD_NOT_LOOK)
        except OSError as error:
            return complain(f"{options.textfile}: {error.strerror or error}", COULD_NOT_LOOK)
    return OK


def _server(registry: CollectorRegistry, options: Namespace) -> MetricsServer:
    tls = None
    if options.certificate:
        tls = tls_context(options.certificate, options.key, options.client_ca or "")
    token = _token(options.token_file) if options.token_file else ""
    host, port = options.listen
    return MetricsServer(registry, host, port, tls, token)


def _token(path: str) -> str:
    """The first line of a file: it must not stand among the arguments, which all users can read.

    Raises:
        OSError: when it cannot be read, or there is none in it.
    """
    with Path(path).open(encoding="utf-8", errors="replace") as file:
        token = file.readline(_TOKEN_BYTES).strip()
    if not token:
        raise OSError(0, "there is no token in its first line", path)
    return token


def _why_not(error: OSError, options: Namespace) -> str:
    host, port = options.listen
    if isinstance(error, ssl.SSLError):
        reason = error.reason or "not readable"
        return f"{options.certificate}, {options.key}: no certificate with its key ({reason})"
    if error.filename:
        return f"{error.filename}: {error.strerror}"
    reason = error.strerror or str(error) or os.strerror(error.errno or 0)
    return f"cannot listen on {host} port {port}: {reason} (--listen HOST:PORT takes another)"


def write_file(path: str, registry: CollectorRegistry) -> None:
    """The library takes what it has begun away after an error, and not where it is interrupted."""
    try:
        write_to_textfile(path, registry)
    except BaseException:
        begun = Path(f"{path}.{os.getpid()}.{threading.get_ident()}")
        begun.unlink(missing_ok=True)
        raise
