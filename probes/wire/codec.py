"""The byte form of a stream of samples: on a pipe, over ssh, and in a recording.

A message is a magic, its length as an unsigned 32-bit big-endian number, and a MessagePack map with
a ``type``. Maps carry their field names, so readers and writers of different ages understand each
other: unknown fields and unknown types are skipped, absent fields take their defaults.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ..model.sample import WIRE_SCHEMA_VERSION, Sample
from .command import Command
from .messages import Hello, Reply

MAGIC = b"GTOP"
MAX_MESSAGE_BYTES = 16 * 1024 * 1024
MAX_PREAMBLE_BYTES = 64 * 1024
"""A login script may chat before the first message, but not for ever."""

Message = Hello | Sample | Reply

_HEADER_BYTES = len(MAGIC) + 4
_KNOWN_TYPES = frozenset({"hello", "sample", "reply"})


class WireError(Exception):
    """The bytes are not a stream of ours, or damaged. The text is one sentence for people."""


class UnreadableMessage(WireError):
    """One message is not what it should be; those after it may be."""


class _Envelope(msgspec.Struct):
    type: str = ""


# The modules of these types do without ``from __future__ import annotations``: each annotation would be
# a text then, and evaluating them all took 15 ms of every start.
_encoder = msgspec.msgpack.Encoder()
_decode_envelope = msgspec.msgpack.Decoder(_Envelope).decode
_decode_message = msgspec.msgpack.Decoder(Message).decode
_decode_command = msgspec.msgpack.Decoder(Command).decode


def encode(message: Message | Command) -> bytes:
    """One message, framed.

    Raises:
        WireError: when it is longer than `MAX_MESSAGE_BYTES`, or a source let something into it that
            has no form in a message.
    """
    try:
        body = _encoder.encode(message)
    except (OverflowError, UnicodeEncodeError, TypeError, RecursionError) as error:
        raise WireError(f"a message was not sent, for a value in it: {error}") from error
    if len(body) > MAX_MESSAGE_BYTES:
        raise WireError(f"a message of {len(body)} bytes is over the limit; it was not sent")
    return MAGIC + len(body).to_bytes(4, "big") + body


class Splitter:
    """Cuts a stream of bytes, fed in pieces of any size, into message bodies."""

    def __init__(self) -> None:
        self.preamble = b""
        """What came before the first message, such as the greeting of a login script."""
        self._buffer = bytearray()
        self._started = False

    @property
    def pending_bytes(self) -> int:
        """Bytes of a message that has not arrived whole: not 0 at the end means truncated."""
        return len(self._buffer)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The bodies that are complete with ``data``.

        Raises:
            WireError: when no message begins within `MAX_PREAMBLE_BYTES`, when something else
                stands where a message should begin, or when a length is absurd.
        """
        self._buffer += data
        if not self._started:
            self._skip_preamble()
        while self._started and len(self._buffer) >= _HEADER_BYTES:
            if not self._buffer.startswith(MAGIC):
                raise WireError("the stream is damaged: no message begins where one should")
            length = int.from_bytes(self._buffer[len(MAGIC) : _HEADER_BYTES], "big")
            if length > MAX_MESSAGE_BYTES:
                raise WireError(f"the stream is damaged: it announces a message of {length} bytes")
            end = _HEADER_BYTES + length
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[_HEADER_BYTES:end])
            del self._buffer[:end]
            yield body

    def _skip_preamble(self) -> None:
        start = self._buffer.find(MAGIC)
        if start < 0:
            if len(self._buffer) > MAX_PREAMBLE_BYTES:
                raise WireError(
                    "this is not a gputop stream: is gputop installed at the other end?"
                )
            return
        self.preamble = bytes(self._buffer[:start])
        del self._buffer[:start]
        self._started = True


def decode(body: bytes) -> Message | None:
    """The message of a body, or ``None`` where its type is of a later program than this one.

    Raises:
        UnreadableMessage: when the bytes are not a message.
        WireError: when a hello announces another schema.
    """
    try:
        if _decode_envelope(body).type not in _KNOWN_TYPES:
            return None
        message: Message = _decode_message(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableMessage(f"the stream is damaged: {error}") from error
    if isinstance(message, Hello) and message.schema_version != WIRE_SCHEMA_VERSION:
        raise WireError(
            f"the other end is gputop {message.program_version} with sample schema "
            f"{message.schema_version}, this one reads schema {WIRE_SCHEMA_VERSION}: "
            "install the same version on both"
        )
    return message


def decode_command(body: bytes) -> Command:
    """The command of a body.

    Raises:
        WireError: when the bytes are not a command.
    """
    try:
        command: Command = _decode_command(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise WireError(f"not a command: {error}") from error
    return command
