"""Names of users, without ever waiting for a directory service where that would hold up readings.

The collector reads them, also below a root prefix: psutil does neither, and asks ``pwd`` in the end, too.
"""

from __future__ import annotations

import pwd
import threading
from pathlib import Path

from .files import read_file

_PASSWD_BYTES = 1 << 20


class UserNames:
    """User id → name. The local file answers at once; what it lacks is asked for beside.

    A look-up in LDAP can hang for minutes where the network does, and then nothing would be read.
    Until it has answered, and where nobody knows the name, the number stands for it.
    """

    def __init__(self, root: Path) -> None:
        self._names = _parse_passwd(root)
        self._ask_system = root == Path("/")

    def name(self, user_id: int) -> str:
        """The best name known by now."""
        if user_id not in self._names:
            self._names[user_id] = str(user_id)
            if self._ask_system:
                threading.Thread(
                    target=self._look_up, args=(user_id,), name="user name", daemon=True
                ).start()
        return self._names[user_id]

    def _look_up(self, user_id: int) -> None:
        self._names[user_id] = system_name(user_id) or str(user_id)


def system_name(user_id: int) -> str | None:
    """As this machine knows it, directory services included, which may take minutes."""
    try:
        return pwd.getpwuid(user_id).pw_name
    except (KeyError, OSError, OverflowError):
        return None


def _parse_passwd(root: Path) -> dict[int, str]:
    try:
        data = read_file(root / "etc/passwd", _PASSWD_BYTES)
    except OSError:
        return {}
    names: dict[int, str] = {}
    for line in data.decode("utf-8", "replace").split("\n"):
        fields = line.split(":")
        if len(fields) > 2 and fields[0] and fields[2].isascii() and fields[2].isdigit():
            names.setdefault(int(fields[2][:10]), fields[0])
    return names
