"""An HTTP server for metrics: the library's own application, with a token in front for who wants one."""

from __future__ import annotations

import hmac
import ssl
import threading
from collections.abc import Callable, Iterable
from typing import Any, cast
from wsgiref.simple_server import WSGIRequestHandler, make_server

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import (
    ThreadingWSGIServer,
    make_wsgi_app,  # pyright: ignore[reportUnknownVariableType]
)

_SLOW_SECONDS = 10.0
"""A client that sends nothing for so long is let go."""
_PLACE = b"gputop: the metrics are at /metrics\n"

Start = Callable[[str, list[tuple[str, str]]], Any]
App = Callable[[dict[str, Any], Start], Iterable[bytes]]


class _Handler(WSGIRequestHandler):
    timeout = _SLOW_SECONDS

    def log_message(self, format: str, *args: object) -> None:
        """Scrapes are no news."""


class _Server(ThreadingWSGIServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no news either."""


class MetricsServer:
    """Listens from the moment it is made.

    Args:
        registry: what is scraped.
        host: address to listen on.
        port: 0: any that is free.
        tls: certificate and key, and whose clients are let in; ``None``: plain HTTP.
        token: that a client must show; empty: none.

    Raises:
        OSError: when it cannot listen there.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        host: str,
        port: int,
        tls: ssl.SSLContext | None = None,
        token: str = "",
    ) -> None:
        library = cast("App", make_wsgi_app(registry))
        app = _guarded(_only_metrics(library), token)
        self._server = make_server(host, port, app, _Server, handler_class=_Handler)
        if tls is not None:
            # The handshake is the client's thread's business: one that never shakes hands keeps nobody out.
            self._server.socket = tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True).start()

    def close(self) -> None:
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()


def tls_context(certificate: str, key: str, clients: str = "") -> ssl.SSLContext:
    """For a server.

    Args:
        certificate: file with the server's certificate and what signed it.
        key: file with its private key.
        clients: file with the certificates by which clients must be signed; empty: any client.

    Raises:
        OSError: when a file cannot be read, or is none of these (`ssl.SSLError`).
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if clients:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(clients)
    return context


def _only_metrics(app: App) -> App:
    def serve(environ: dict[str, Any], start: Start) -> Iterable[bytes]:
        if environ.get("PATH_INFO") in ("/metrics", "/metrics/"):
            return app(environ, start)
        found = environ.get("PATH_INFO") in ("", "/")
        start("200 OK" if found else "404 Not Found", [("Content-Type", "text/plain")])
        return [_PLACE]

    return serve


def _guarded(app: App, token: str) -> App:
    if not token:
        return app
    wanted = f"Bearer {token}".encode()

    def serve(environ: dict[str, Any], start: Start) -> Iterable[bytes]:
        shown = str(environ.get("HTTP_AUTHORIZATION", "")).encode("utf-8", "replace")
        if hmac.compare_digest(shown, wanted):
            return app(environ, start)
        start(
            "401 Unauthorized",
            [("WWW-Authenticate", "Bearer"), ("Content-Type", "text/plain")],
        )
        return [b"gputop: a bearer token is wanted\n"]

    return serve
