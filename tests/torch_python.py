"""The Python that has torch, for the tests that run training jobs."""

from __future__ import annotations

import os

import pytest

TORCH_PYTHON = os.environ.get("GPUTOP_TORCH_PYTHON", "")
"""Path of its interpreter; empty where there is none."""
needs_torch = pytest.mark.skipif(
    not TORCH_PYTHON, reason="GPUTOP_TORCH_PYTHON names no Python that has torch"
)
