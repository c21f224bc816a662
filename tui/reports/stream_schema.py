"""The JSON schema of what ``gputop stream`` prints: a file of the package, written by this module.

``python -m gputop.tui.reports.stream_schema > tui/reports/stream_schema.json``
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import msgspec

FILE = "stream_schema.json"
NAMES = {"frames": "FrameLine", "ranks": "RankLine", "gpus": "GpuLine", "findings": "FindingLine"}
"""What ``--what`` says → the definition in it."""
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def made() -> bytes:
    """Anew, from the records and their public names."""
    from .json_types import line_type

    refs, definitions = msgspec.json.schema_components(
        [line_type(what) for what in NAMES], ref_template="#/$defs/{name}"
    )
    schema = {
        "$schema": _DIALECT,
        "title": "A line of gputop stream",
        "anyOf": list(refs),
        "$defs": dict(sorted(definitions.items())),
    }
    return msgspec.json.format(msgspec.json.encode(schema), indent=1) + b"\n"


def packaged(what: str) -> bytes:
    """That of the lines of one kind."""
    schema: dict[str, Any] = msgspec.json.decode(
        files("gputop.tui.reports").joinpath(FILE).read_bytes()
    )
    del schema["anyOf"]
    wanted = {"$ref": f"#/$defs/{NAMES[what]}"}
    definitions = {
        name: each for name, each in schema["$defs"].items() if name in _reached(wanted, schema)
    }
    return msgspec.json.format(
        msgspec.json.encode({**schema, **wanted, "$defs": definitions}), indent=1
    )


def _reached(node: object, schema: dict[str, Any], known: set[str] | None = None) -> set[str]:
    """The definitions that it refers to, by itself or by others."""
    found = set[str]() if known is None else known
    if isinstance(node, dict):
        for key, each in node.items():  # pyright: ignore[reportUnknownVariableType]
            if key == "$ref" and isinstance(each, str):
                name = each.rpartition("/")[2]
                if name not in found:
                    found.add(name)
                    _reached(schema["$defs"][name], schema, found)
            else:
                _reached(each, schema, found)  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(node, list):
        for each in node:  # pyright: ignore[reportUnknownVariableType]
            _reached(each, schema, found)  # pyright: ignore[reportUnknownArgumentType]
    return found


if __name__ == "__main__":
    import sys

    sys.stdout.buffer.write(made())
