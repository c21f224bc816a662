"""A simulated NVML driver for tests: a real libnvidia-ml.so.1, its state in a text file."""
