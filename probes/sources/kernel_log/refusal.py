"""Why the kernel's log may not be read, and what would change that."""

DENIED = (
    "only root may read the kernel log here: sudo sysctl kernel.dmesg_restrict=0, "
    "or add this user to the group adm or systemd-journal, or run gputop as root"
)
NOWHERE = (
    "no kernel log is to be seen here: run gputop on the host, or start this container with "
    "--device /dev/kmsg and the capability SYSLOG"
)
