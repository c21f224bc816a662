"""INP 7xx: why a job waits for its data."""
