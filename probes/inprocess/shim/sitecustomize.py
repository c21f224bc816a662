"""Found by ``site`` in every Python that a job started with ``gputop run`` starts.

It arranges for the probe, gets out of the way, and hands over to the sitecustomize that would have been
found without it. Whatever that one raises goes on to ``site`` as it is, the error that says that there is
none included, so that Python reports it in its own words. Every Python parses this file, however old.
"""

import sys

_this = sys.modules.pop("sitecustomize", None)  # kept: an old Python clears what nobody holds
_folder = __file__.rpartition("/")[0]

if sys.version_info >= (3, 9):
    try:
        __import__("gputop_shim").install()
    except Exception:  # the job runs on without a probe, whatever is wrong with it
        sys.modules.pop("gputop_shim", None)

sys.path[:] = [entry for entry in sys.path if entry != _folder]
__import__("sitecustomize")
