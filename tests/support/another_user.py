"""Commands run as a user whom nothing here belongs to."""

from __future__ import annotations

AS_ANOTHER = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
"""To be put before a command. Its first program is still started with root's rights, and then loses them."""
