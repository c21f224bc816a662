"""One rank of a job of the corpus: ``python job.py MODULE.FUNCTION FOLDER``."""

import importlib
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from common import Job

module, _, function = sys.argv[1].partition(".")
getattr(importlib.import_module(module), function)(Job(sys.argv[2]))
