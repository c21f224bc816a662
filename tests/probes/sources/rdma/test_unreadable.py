"""RDMA ports whose files are missing, refused, rubbish, or go away while they are read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gputop.probes.model.sample import Sample
from gputop.probes.sources.protocol import SourceAbsent, SourceDenied
from gputop.probes.sources.rdma.source import InfinibandSource
from gputop.probes.wire.codec import Splitter, decode, encode

from fixtures.rdma_tree import RdmaTree
from support.rdma_ports import only


def test_no_tree(source: InfinibandSource) -> None:
    with pytest.raises(SourceAbsent, match="no RDMA device"):
        source.read()


def test_an_empty_tree(tree: RdmaTree, source: InfinibandSource) -> None:
    tree.folder.mkdir(parents=True)
    with pytest.raises(SourceAbsent, match="no RDMA device"):
        source.read()


def test_a_tree_that_is_none(tree: RdmaTree, source: InfinibandSource) -> None:
    tree.folder.parent.mkdir(parents=True)
    tree.folder.write_text("not a folder")
    with pytest.raises(SourceDenied, match="Not a directory"):
        source.read()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "the driver gave an empty file"),
        ("-1", "the driver gave '-1', which is no count"),
        ("lots", "the driver gave 'lots', which is no count"),
        ("N/A (no PMA)", "not counted by this card"),
        (str(2**63), f"the driver gave '{2**63}', which is no count"),
        (str(2**64 - 1), f"the driver gave '{2**64 - 1}', which is no count"),
        ("9" * 40, "the driver gave '9999999999999999999999999999999999999999', which is no count"),
        ("\N{SUPERSCRIPT TWO}", "the driver gave '²', which is no count"),
    ],
)
def test_a_counter_that_is_none(
    tree: RdmaTree, source: InfinibandSource, text: str, why: str
) -> None:
    tree.add("mlx5_0")
    tree.set("mlx5_0", "counters/port_rcv_data", text)
    tree.set("mlx5_0", "counters/symbol_error", text)
    tree.set("mlx5_0", "hw_counters/out_of_sequence", text)
    tree.set("mlx5_0", "counters/port_xmit_data", 5)
    port = only(source)
    assert port.rx_bytes is None
    assert {name: port.missing[name] for name in ("rx_bytes", "symbol_error")} == {
        "rx_bytes": why,
        "symbol_error": why,
    }
    assert port.missing["out_of_sequence"] == why
    assert not {"symbol_error", "out_of_sequence"} & port.counters.keys()
    assert port.tx_bytes == 20


@pytest.mark.parametrize("words", [2**61 - 1, 2**61, 2**62, 2**63 - 1])
def test_a_count_of_words_that_is_too_many_bytes_keeps_no_other_port_from_travelling(
    tree: RdmaTree, source: InfinibandSource, words: int
) -> None:
    """Wherever the line lies, no value may be more than a sample can carry."""
    tree.add("mlx5_0")
    tree.add("mlx5_1")
    tree.set("mlx5_0", "counters/port_xmit_data", words)
    ports = source.read()
    message = Sample(
        time_seconds=1.0, monotonic_seconds=1.0, sequence=1, node="node17", ports=ports
    )
    (body,) = Splitter().feed(encode(message))
    arrived = decode(body)
    assert isinstance(arrived, Sample)
    assert arrived.ports == ports
    first, second = ports
    assert first.tx_bytes == (words * 4 if words < 2**61 else None)
    assert ("tx_bytes" in first.missing) == (first.tx_bytes is None)
    assert (first.rx_bytes, second.tx_bytes) == (0, 0)


def test_a_counter_that_the_kernel_refuses(tree: RdmaTree, source: InfinibandSource) -> None:
    tree.add("mlx5_0")
    tree.refuse("mlx5_0", "counters/port_xmit_wait")
    tree.refuse("mlx5_0", "hw_counters/packet_seq_err")
    tree.refuse("mlx5_0", "rate")
    port = only(source)
    assert port.wait_ticks is None
    assert port.missing["wait_ticks"] == "the kernel says: Invalid argument"
    assert port.missing["packet_seq_err"] == "the kernel says: Invalid argument"
    assert port.missing["rate_bytes_per_second"] == "the driver does not tell the rate of this port"
    assert port.rx_bytes == 0


def test_files_that_are_not_there(tree: RdmaTree, source: InfinibandSource) -> None:
    tree.add("mlx5_0")
    for name in ("counters/port_rcv_data", "counters/symbol_error", "link_layer", "phys_state"):
        (tree.folder / "mlx5_0/ports/1" / name).unlink()
    port = only(source)
    assert port.missing["rx_bytes"] == "not counted by this driver"
    assert "symbol_error" not in port.counters
    assert (port.link_layer, port.physical_state) == ("unknown", None)


@pytest.mark.parametrize("state", ["", "\n", "ACTIVE", "\xff\xfe", "4 ACTIVE"])
def test_a_state_that_is_none(tree: RdmaTree, source: InfinibandSource, state: str) -> None:
    tree.add("mlx5_0")
    tree.set("mlx5_0", "state", state)
    port = only(source)
    assert port.state is None
    assert port.missing["state"] == "the driver does not name it"


def test_a_state_that_cannot_be_read_takes_nothing_else_along(
    tree: RdmaTree, source: InfinibandSource
) -> None:
    for device in ("mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"):
        tree.add(device)
        tree.set(device, "counters/port_rcv_data", 5)
    tree.refuse("mlx5_0", "state")
    for device in ("mlx5_1", "mlx5_2"):
        (tree.folder / device / "ports/1/state").unlink()
    (tree.folder / "mlx5_2/ports/1/state").mkdir()
    for _ in range(2):
        ports = source.read()
        assert [port.rx_bytes for port in ports] == [20] * 4
        assert [port.missing.get("state") for port in ports] == [
            "the kernel says: Invalid argument",
            "the kernel says: No such file or directory",
            "the kernel says: Is a directory",
            None,
        ]


def test_a_port_that_goes_and_comes_back_between_two_readings(
    tree: RdmaTree, source: InfinibandSource
) -> None:
    """Its old files may still be open; what they say is of the port that is gone."""
    tree.add("mlx5_0")
    tree.set("mlx5_0", "counters/port_rcv_data", 1000)
    assert only(source).rx_bytes == 4000
    gone = tree.folder / "mlx5_0/ports/1"
    gone.rename(tree.root / "gone")
    tree.add("mlx5_0")
    tree.set("mlx5_0", "counters/port_rcv_data", 5)
    assert source.read() == ()
    assert only(source).rx_bytes == 20


def test_a_device_that_goes_while_others_stay(tree: RdmaTree, source: InfinibandSource) -> None:
    for device in ("mlx5_0", "mlx5_1"):
        tree.add(device)
    assert len(source.read()) == 2
    tree.remove("mlx5_0")
    assert [port.device for port in source.read()] == ["mlx5_1"]
    tree.add("mlx5_0")
    assert [port.device for port in source.read()] == ["mlx5_0", "mlx5_1"]


def test_a_port_that_goes(tree: RdmaTree, source: InfinibandSource) -> None:
    tree.add("mlx5_0", ports=2)
    assert len(source.read()) == 2
    tree.remove_port("mlx5_0", 1)
    assert [port.port for port in source.read()] == [2]


def test_the_last_device_goes(tree: RdmaTree, source: InfinibandSource) -> None:
    tree.add("mlx5_0")
    source.read()
    tree.remove("mlx5_0")
    assert source.read() == ()


def test_a_device_that_goes_between_two_of_its_files(
    tree: RdmaTree, source: InfinibandSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel answers "no such device" on descriptors that are still open."""
    tree.add("mlx5_0")
    tree.add("mlx5_1")
    source.read()
    real = os.pread
    dead = {int(each.name) for each in _descriptors() if "mlx5_0" in _target(each)}

    def pread(descriptor: int, count: int, offset: int) -> bytes:
        if descriptor in dead:
            raise OSError(19, "No such device")
        return real(descriptor, count, offset)

    monkeypatch.setattr(os, "pread", pread)
    assert [port.device for port in source.read()] == ["mlx5_1"]


def _descriptors() -> list[Path]:
    return list(Path("/proc/self/fd").iterdir())


def _target(descriptor: Path) -> str:
    try:
        return str(descriptor.readlink())
    except OSError:
        return ""
