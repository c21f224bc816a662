"""What a GPU shows that is hot."""

from __future__ import annotations

from typing import Any

HOT: dict[str, Any] = {
    "throttle_reasons": ("hw slowdown", "hw thermal slowdown"),
    "temperature_celsius": 89.0,
    "sm_clock_hertz": 1200e6,
}
