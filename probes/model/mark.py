"""What was found while a recording was made, kept beside its samples."""

import msgspec


class Mark(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="mark"):
    """A finding that began or ceased to count, as it was judged then."""

    time_seconds: float
    """Unix time of the sample it was judged by."""
    rule: str
    name: str
    severity: str
    subject: str
    """In words: ``GPU 3``, ``rank 5``."""
    began: bool
    """Else it ended."""
