"""What a front end may ask of a collector, over its standard input."""

import msgspec


class SetInterval(msgspec.Struct, frozen=True, kw_only=True, tag="interval"):
    """Take a sample every so many seconds."""

    command_id: int
    seconds: float


class Attach(msgspec.Struct, frozen=True, kw_only=True, tag="attach"):
    """Watch this process and its tree, whether or not it is on a GPU."""

    command_id: int
    pid: int


class Detach(msgspec.Struct, frozen=True, kw_only=True, tag="detach"):
    """The opposite of `Attach`."""

    command_id: int
    pid: int


class Dump(msgspec.Struct, frozen=True, kw_only=True, tag="dump"):
    """Take a sample now, whatever the interval."""

    command_id: int


class TakeStacks(msgspec.Struct, frozen=True, kw_only=True, tag="stacks"):
    """Dump the Python stacks of these processes every other second, for so many seconds; 0: no more."""

    command_id: int
    pids: tuple[int, ...]
    seconds: float
    shares: bool = False
    """Sample them too, for the shares of phases."""


class LookAtWaits(msgspec.Struct, frozen=True, kw_only=True, tag="waits"):
    """Find out what these processes wait for and who holds it, for so many seconds; 0: no more."""

    command_id: int
    pids: tuple[int, ...]
    seconds: float


class SendSignal(msgspec.Struct, frozen=True, kw_only=True, tag="signal"):
    """Send a signal to exactly that process; a pid that now belongs to another is refused."""

    command_id: int
    pid: int
    start_time_seconds: float
    signal: int


class ShowEnvironment(msgspec.Struct, frozen=True, kw_only=True, tag="environment"):
    """The whole environment of one process, for the eyes of the one who asked; never recorded."""

    command_id: int
    pid: int
    start_time_seconds: float


class TakeExactStack(msgspec.Struct, frozen=True, kw_only=True, tag="exact stack"):
    """One dump that stops that process meanwhile; only a person may ask for it."""

    command_id: int
    pid: int
    start_time_seconds: float
    native: bool = False
    """Its C functions too, which takes longer."""


class Stop(msgspec.Struct, frozen=True, kw_only=True, tag="stop"):
    """End."""

    command_id: int


Command = (
    SetInterval
    | Attach
    | Detach
    | Dump
    | TakeStacks
    | LookAtWaits
    | TakeExactStack
    | SendSignal
    | ShowEnvironment
    | Stop
)
