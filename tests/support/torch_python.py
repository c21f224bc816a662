"""The Python that has torch, for the tests that run training jobs."""

from __future__ import annotations

import functools
import os
import subprocess

import pytest

TORCH_PYTHON = os.environ.get("GPUTOP_TORCH_PYTHON", "")
"""Path of its interpreter; empty where there is none."""
needs_torch = pytest.mark.skipif(
    not TORCH_PYTHON, reason="GPUTOP_TORCH_PYTHON names no Python that has torch"
)


@functools.cache
def torch_python_has(module: str) -> bool:
    """Whether it has that module too."""
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return (
        bool(TORCH_PYTHON)
        and not subprocess.run([TORCH_PYTHON, "-c", code], check=False).returncode
    )
