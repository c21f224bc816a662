"""Names of users, without ever waiting for a directory service where that would hold up readings.

The collector reads them, also below a root prefix: psutil does neither, and asks ``pwd`` in the end, too.
"""

from __future__ import annotations

import pwd
import threading
from pathlib import Path

from .files import read_file

_PASSWD_BYTES = 1 << 20
_MOST_ASKED = 256
"""Users that the system is asked for. A node that many user namespaces run on has thousands more."""
_AT_ONCE = 4


class UserNames:
    """User id → name. The local file answers at once; what it lacks is asked for beside.

    A look-up in LDAP can hang for minutes where the network does, and then nothing would be read.
    Until it has answered, and where nobody knows the name, the number stands for it.
    """

    def __init__(self, root: Path) -> None:
        self._names = _parse_passwd(root)
        self._ask_system = root == Path("/")
        self._asked = 0
        self._asking = threading.Semaphore(_AT_ONCE)

    def name(self, user_id: int) -> str:
        """The best name known by now."""
        name = self._names.get(user_id)
        if name is None:
            name = str(user_id)
            if (
                self._ask_system
                and self._asked < _MOST_ASKED
                and self._asking.acquire(blocking=False)
            ):
                self._ask(user_id)
        return name

    def _ask(self, user_id: int) -> None:
        self._asked += 1
        self._names[user_id] = str(user_id)
        try:
            threading.Thread(
                target=self._look_up, args=(user_id,), name="user name", daemon=True
            ).start()
        except RuntimeError:  # no more threads are allowed: the number will do
            self._asking.release()

    def _look_up(self, user_id: int) -> None:
        try:
            self._names[user_id] = system_name(user_id) or str(user_id)
        finally:
            self._asking.release()


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
