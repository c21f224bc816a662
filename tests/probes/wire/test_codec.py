"""The byte form of a stream: whole, in pieces, damaged, from another program."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import msgspec.inspect
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputop.probes.model.gpu_readings import GpuReading
from gputop.probes.model.sample import WIRE_SCHEMA_VERSION, Sample
from gputop.probes.wire import codec as wire
from gputop.probes.wire.command import Attach, Command, SetInterval, Stop
from gputop.probes.wire.messages import Hello, Reply

SAMPLE = Sample(
    time_seconds=1.5,
    monotonic_seconds=2.5,
    sequence=7,
    node="node17",
    gpus=(GpuReading(index=3, monotonic_seconds=2.4, missing={"power_watts": "not supported"}),),
)
HELLO = Hello(schema_version=WIRE_SCHEMA_VERSION, program_version="0.1.0", node="node17", pid=9)


def read(data: bytes) -> list[wire.Message | None]:
    return [wire.decode(body) for body in wire.Splitter().feed(data)]


@pytest.mark.parametrize("node", ["a\udcff", "\ud800"])
def test_what_has_no_form_in_a_message_is_said(node: str) -> None:
    for odd in (
        msgspec.structs.replace(SAMPLE, node=node),
        msgspec.structs.replace(SAMPLE, sequence=2**64),
        msgspec.structs.replace(SAMPLE, sequence=-(2**63) - 1),
    ):
        with pytest.raises(wire.WireError, match="for a value in it"):
            wire.encode(odd)


def framed(value: object) -> bytes:
    body = msgspec.msgpack.encode(value)
    return wire.MAGIC + len(body).to_bytes(4, "big") + body


@pytest.mark.parametrize("message", [SAMPLE, HELLO, Reply(command_id=3, ok=False, message="no")])
def test_what_is_sent_arrives(message: wire.Message) -> None:
    assert read(wire.encode(message)) == [message]


@pytest.mark.parametrize(
    "command",
    [Stop(command_id=1), Attach(command_id=2, pid=77), SetInterval(command_id=3, seconds=2)],
)
def test_commands_arrive(command: Stop | Attach | SetInterval) -> None:
    (body,) = wire.Splitter().feed(wire.encode(command))
    assert wire.decode_command(body) == command


@given(st.lists(st.integers(1, 40), min_size=1))
def test_pieces_of_any_size(sizes: list[int]) -> None:
    data = wire.encode(HELLO) + wire.encode(SAMPLE)
    splitter, position = wire.Splitter(), 0
    bodies: list[bytes] = []
    for size in [*sizes, len(data)]:
        bodies += splitter.feed(data[position : position + size])
        position += size
    assert [wire.decode(body) for body in bodies] == [HELLO, SAMPLE]
    assert splitter.pending_bytes == 0


def test_greeting_of_a_login_script_is_skipped_and_kept() -> None:
    splitter = wire.Splitter()
    bodies = list(splitter.feed(b"Welcome to node17!\r\n" + wire.encode(SAMPLE)))
    assert wire.decode(bodies[0]) == SAMPLE
    assert splitter.preamble == b"Welcome to node17!\r\n"


def test_a_stream_that_is_not_ours_is_named() -> None:
    with pytest.raises(wire.WireError, match="not a gputop stream"):
        list(wire.Splitter().feed(b"bash: gputop: command not found\n" * 3000))


def test_rubbish_between_messages_is_damage() -> None:
    with pytest.raises(wire.WireError, match="damaged"):
        read(wire.encode(SAMPLE) + b"rubbish and more of it")


def test_an_absurd_length_is_damage() -> None:
    with pytest.raises(wire.WireError, match="announces"):
        read(wire.MAGIC + (wire.MAX_MESSAGE_BYTES + 1).to_bytes(4, "big"))


def test_a_truncated_message_is_pending() -> None:
    splitter = wire.Splitter()
    assert list(splitter.feed(wire.encode(SAMPLE)[:-1])) == []
    assert splitter.pending_bytes > 0


def test_unknown_types_and_fields_of_a_later_program_are_skipped() -> None:
    later = {**msgspec.to_builtins(SAMPLE), "flavour": "new"}
    assert read(framed({"type": "weather", "x": 1}) + framed(later)) == [None, SAMPLE]


def test_another_schema_is_one_sentence() -> None:
    other = msgspec.structs.replace(HELLO, schema_version=99, program_version="9.9")
    with pytest.raises(wire.WireError, match=r"gputop 9\.9 .* schema 99"):
        read(wire.encode(other))


@given(st.binary(max_size=200))
def test_no_body_does_more_than_raise_wire_error(body: bytes) -> None:
    for decode in (wire.decode, wire.decode_command):
        try:
            decode(body)
        except wire.WireError as error:
            assert "\n" not in str(error)


def test_a_message_over_the_limit_is_refused() -> None:
    huge = Reply(command_id=1, ok=True, message="x" * (wire.MAX_MESSAGE_BYTES + 1))
    with pytest.raises(wire.WireError, match="over the limit"):
        wire.encode(huge)


def structs_in(kind: msgspec.inspect.Type) -> Iterator[type]:
    if isinstance(kind, msgspec.inspect.StructType):
        yield kind.cls
        for each in kind.fields:
            yield from structs_in(each.type)
    if isinstance(kind, msgspec.inspect.UnionType):
        for each_type in kind.types:
            yield from structs_in(each_type)
    if isinstance(kind, msgspec.inspect.CollectionType):
        yield from structs_in(kind.item_type)
    if isinstance(kind, msgspec.inspect.DictType):
        yield from structs_in(kind.value_type)


def test_types_of_messages_need_no_evaluation_at_start() -> None:
    kinds = {
        each
        for root in (wire.Message, Command)
        for each in structs_in(msgspec.inspect.type_info(root))
    }
    assert {Sample, GpuReading, Stop} <= kinds
    texts = {
        f"{kind.__name__}.{name}"
        for kind in kinds
        for name, annotation in kind.__annotations__.items()
        if isinstance(annotation, str)
    }
    assert texts == set()
