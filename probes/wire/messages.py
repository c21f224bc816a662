"""What travels beside the samples: who speaks, and answers to commands."""

from typing import Any

import msgspec


class Hello(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="hello"):
    """The first message of every stream."""

    schema_version: int
    program_version: str
    node: str
    pid: int
    simulated: bool = False
    """Nothing in this stream is real, and nothing in it can be signalled."""


class Reply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="reply"):
    """The answer to one command."""

    command_id: int
    ok: bool
    message: str = ""
    data: dict[str, Any] = {}
