"""``gputop serve``: scraped by a real Prometheus, behind TLS and tokens, and what bad input gets."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.registry import Collector

from gputop.tui.commands.serve import write_file

from support.own_signals import own_signals

PROMETHEUS, PROMTOOL = shutil.which("prometheus"), shutil.which("promtool")
needs_prometheus = pytest.mark.skipif(
    not (PROMETHEUS and PROMTOOL), reason="no Prometheus here: apt install prometheus"
)
LONG_SECONDS = 60.0


def gputop(*words: str) -> list[str]:
    return [sys.executable, "-m", "gputop", *words]


@contextmanager
def serving(*words: str) -> Generator[str, None, None]:
    """A server on a free port, and its address."""
    command = gputop("serve", "--demo", "gpu-lost", "--listen", "127.0.0.1:0", *words)
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=own_signals,  # noqa: PLW1509
    ) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        assert "serves metrics at" in line
        try:
            yield line.split(" at ")[1].strip()
        finally:
            server.send_signal(signal.SIGINT)
            assert server.wait(LONG_SECONDS) == 130


def fetch(address: str, context: ssl.SSLContext | None = None, **headers: str) -> tuple[int, str]:
    request = urllib.request.Request(address, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=LONG_SECONDS, context=context) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def until_there(address: str, wanted: str) -> str:
    deadline = time.monotonic() + LONG_SECONDS
    while time.monotonic() < deadline:
        _, text = fetch(address)
        if wanted in text:
            return text
        time.sleep(0.2)
    raise AssertionError(f"{wanted} never came")


def test_metrics_and_nothing_else() -> None:
    with serving() as address:
        text = until_there(address, "gputop_finding_active{")
        assert 'rule="HW206"' in text
        root = address.removesuffix("/metrics")
        assert fetch(root)[0] == 200 and "/metrics" in fetch(root)[1]
        assert fetch(f"{root}/etc/passwd")[0] == 404
        opened = "application/openmetrics-text; version=1.0.0"
        assert fetch(address, Accept=opened)[1].rstrip().endswith("# EOF")


def test_half_open_clients_keep_nobody_out() -> None:
    with serving() as address:
        until_there(address, "gputop_gpu_up")
        port = int(address.rsplit(":", 1)[1].split("/")[0])
        held = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
        assert fetch(address)[0] == 200
        for each in held:
            each.close()


def test_a_token_keeps_others_out(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("s3cret\n")
    with serving("--token-file", str(token)) as address:
        assert fetch(address)[0] == 401
        assert fetch(address, Authorization="Bearer wrong")[0] == 401
        assert fetch(address, Authorization="Bearer s3cret")[0] == 200


def certificate(folder: Path) -> tuple[Path, Path]:
    made = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
            "-out",
            str(made[0]),
            "-keyout",
            str(made[1]),
        ],
        check=True,
        capture_output=True,
    )
    return made


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl here")
def test_tls_and_clients_that_are_known(tmp_path: Path) -> None:
    cert, key = certificate(tmp_path)
    given = ("--certificate", str(cert), "--key", str(key))
    with serving(*given, "--client-ca", str(cert)) as address:
        assert address.startswith("https://")
        unknown = ssl.create_default_context(cafile=str(cert))
        with pytest.raises((ssl.SSLError, OSError)):
            fetch(address, unknown)
        known = ssl.create_default_context(cafile=str(cert))
        known.load_cert_chain(cert, key)
        assert fetch(address, known)[0] == 200


def test_a_file_for_node_exporter_is_whole_at_any_time(tmp_path: Path) -> None:
    file = tmp_path / "gputop.prom"
    command = gputop("serve", "--demo", "straggler", "--textfile", str(file), "-i", "0.2")
    with subprocess.Popen(command, preexec_fn=own_signals) as server:  # noqa: PLW1509
        deadline = time.monotonic() + LONG_SECONDS
        while not file.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        for _ in range(20):
            text = file.read_text()
            assert text.startswith("# HELP") and text.endswith("\n")
            time.sleep(0.05)
        server.send_signal(signal.SIGINT)
        assert server.wait(LONG_SECONDS) == 130
    assert [each.name for each in tmp_path.iterdir()] == ["gputop.prom"]


class Interrupted(Collector):
    """Stands for a signal that comes while the file is written."""

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterable[Metric]:
        raise KeyboardInterrupt


def test_what_was_begun_is_taken_away_where_it_is_interrupted(tmp_path: Path) -> None:
    registry = CollectorRegistry()
    registry.register(Interrupted())
    file = tmp_path / "gputop.prom"
    file.write_text("# what was there before\n")
    with pytest.raises(KeyboardInterrupt):
        write_file(str(file), registry)
    assert [each.name for each in tmp_path.iterdir()] == ["gputop.prom"]
    assert file.read_text() == "# what was there before\n"


def run(*words: str) -> tuple[int, str, str]:
    done = subprocess.run(
        gputop("serve", *words), capture_output=True, text=True, timeout=LONG_SECONDS, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["--listen", "9834"], 64, "is no address to listen on"),
        (["--listen", "127.0.0.1:99999"], 64, "is no address to listen on"),
        (["--listen", "192.0.2.1:0"], 2, "cannot listen on 192.0.2.1"),
        (["--certificate", "x"], 64, "go together"),
        (["--certificate", "/no/such", "--key", "/no/such"], 2, "No such file"),
        (["--certificate", __file__, "--key", __file__], 2, "no certificate with its key"),
        (["--client-ca", "x"], 64, "goes with --certificate"),
        (["--token-file", "/no/such"], 2, "No such file"),
        (["--token-file", "/dev/null"], 2, "no token"),
        (["--token-file", "x", "--listen", "0.0.0.0:0"], 64, "in the open"),
        (["--textfile", "/no/such/x.prom"], 2, "No such file"),
        (["--print", "alert"], 64, "did you mean alerts"),
        (["--demo", "input-bond"], 64, "did you mean input-bound"),
    ],
)
def test_bad_input_gets_one_sentence(words: Sequence[str], code: int, sentence: str) -> None:
    demo = [] if "--demo" in words else ["--demo", "healthy"]
    found, out, err = run(*demo, *words)
    assert (found, out) == (code, "")
    assert sentence in err and len(err.strip().splitlines()) == 1


def test_a_port_in_use() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, _, err = run("--demo", "healthy", "--listen", f"127.0.0.1:{port}")
    assert code == 2
    assert "in use" in err


@needs_prometheus
@pytest.mark.parametrize("what", ["alerts", "rules"])
def test_what_is_generated_is_sound(what: str, tmp_path: Path) -> None:
    file = tmp_path / "rules.yml"
    code, out, _ = run("--print", what)
    assert code == 0
    file.write_text(out)
    assert PROMTOOL is not None
    subprocess.run([PROMTOOL, "check", "rules", str(file)], check=True, capture_output=True)


def test_the_dashboard_is_json_of_queries_that_exist() -> None:
    code, out, _ = run("--print", "dashboard")
    assert code == 0
    board = json.loads(out)
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"]) >= 10


@needs_prometheus
def test_a_real_prometheus_scrapes_it_and_fires_the_alert(tmp_path: Path) -> None:
    assert PROMETHEUS is not None and PROMTOOL is not None
    for what in ("alerts", "rules"):
        (tmp_path / f"{what}.yml").write_text(run("--print", what)[1])
    with serving() as address, socket.create_server(("127.0.0.1", 0)) as free:
        text = until_there(address, "gputop_finding_active{")
        checked = subprocess.run(
            [PROMTOOL, "check", "metrics"], input=text, text=True, capture_output=True, check=False
        )
        assert checked.returncode == 0, checked.stderr + checked.stdout
        target = address.removeprefix("http://").removesuffix("/metrics")
        port = free.getsockname()[1]
        free.close()
        config = tmp_path / "prometheus.yml"
        config.write_text(
            "global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
            f"rule_files: [{tmp_path}/alerts.yml, {tmp_path}/rules.yml]\n"
            f"scrape_configs: [{{job_name: gputop, static_configs: [{{targets: ['{target}']}}]}}]\n"
        )
        command = [PROMETHEUS, f"--config.file={config}", f"--storage.tsdb.path={tmp_path}/data"]
        command += [f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"]
        with subprocess.Popen(command) as server:
            try:
                alert = _until_firing(f"http://127.0.0.1:{port}", "GputopError", "HW206")
                assert "GPU" in alert["annotations"]["summary"] or "gpu" in str(alert)
                up = _query(f"http://127.0.0.1:{port}", "gputop_gpu_up == 0")
                assert [each["metric"]["gpu"] for each in up] == ["3"]
            finally:
                server.terminate()


def _query(root: str, query: str) -> list[dict[str, Any]]:
    address = f"{root}/api/v1/query?query={urllib.request.quote(query)}"  # type: ignore[attr-defined]
    found: list[dict[str, Any]] = json.loads(fetch(address)[1])["data"]["result"]
    return found


def _alerts(root: str) -> list[dict[str, Any]]:
    """Of a Prometheus; none while it starts, when it refuses connections and then answers 503."""
    try:
        code, text = fetch(f"{root}/api/v1/alerts")
    except OSError:
        return []
    found: list[dict[str, Any]] = json.loads(text)["data"]["alerts"] if code == 200 else []
    return found


def _until_firing(root: str, name: str, rule: str) -> dict[str, Any]:
    deadline = time.monotonic() + LONG_SECONDS
    while time.monotonic() < deadline:
        for alert in _alerts(root):
            labels = alert["labels"]
            if (
                labels["alertname"] == name
                and labels["rule"] == rule
                and alert["state"] == "firing"
            ):
                return alert
        time.sleep(0.3)
    raise AssertionError(f"{name} never fired")
