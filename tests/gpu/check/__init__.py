"""The check for a machine with a real NVIDIA GPU: ``python -m tests.gpu.check --report FILE``."""
