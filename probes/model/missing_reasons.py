"""Why a value is missing, in the phrases that more than one part must know."""

from __future__ import annotations

LOST = "GPU is lost"


NOT_UNDER_MIG = "not available under MIG"


NOT_SUPPORTED = "not supported by this GPU"


NOT_OFFERED = "not offered by this driver"


NO_PERMISSION = "no permission"


NO_VALUE = "driver gave no value"

NO_FANS = "this board has no fans of its own"

NO_FABRIC = "belongs to no NVSwitch fabric"


NOT_COUNTED = "not counted"
"""Begins the reason where no steps are reported because what counts them is off: no age, no rate, no verdict."""
