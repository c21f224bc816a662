"""What every reading has."""

import msgspec

Missing = dict[str, str]
"""Field name → why it is ``None``, as a short phrase such as ``not supported by this GPU``."""


class Reading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The base of all readings."""

    monotonic_seconds: float
    """When it was taken, on the node's monotonic clock."""
    missing: Missing = {}
