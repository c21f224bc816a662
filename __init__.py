"""gputop: a live terminal monitor for GPU training jobs.

Importing this package has no effect and loads nothing beyond the standard library.
"""

__version__ = "0.1.0"
