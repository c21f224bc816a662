"""What is read of network file systems that ranks use: how their requests fare."""

from .reading import Reading


class MountReading(Reading, frozen=True, kw_only=True, omit_defaults=True):
    """An NFS mount as the ranks of one mount namespace see it; read every ten seconds.

    Counted are the requests that reading takes (reads, look-ups, opens, attributes) and no writes: a
    checkpoint makes those slow, and nobody waits for its data then.
    """

    pid: int
    """A rank that sees it: each container has mounts of its own."""
    start_time_seconds: float
    """Since boot, of that rank."""
    mount_point: str
    device: str
    """``server:/export``."""
    file_system: str
    """``nfs4``, ``nfs``."""
    users: tuple[int, ...] | None = None
    """Pids of the ranks that have had a file there open in the last minutes, themselves or by a child."""
    operations: int | None = None
    """Counter of requests that were answered, as all that follow."""
    transmissions: int | None = None
    """More than ``operations``: some were sent again."""
    timeouts: int | None = None
    queue_seconds: float | None = None
    """In which they waited to be sent."""
    round_trip_seconds: float | None = None
    """From sending them to the answer."""
    read_bytes: int | None = None
