"""Which state keys there are, so that a misspelled override fails instead of doing nothing."""

import difflib
import re
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

PROFILES = Path(__file__).parent / "profiles"

# What no profile happens to use; a device key is written without its `gpu.N.` here.
_NODE_KEYS = ("clock", "fault.*.*", "delay.*.*", "process_name.*")
_DEVICE_KEYS = (
    "lost",
    "lost_at_start",
    "xid",
    "field.*.error",
    "field.*.type",
    "field.*.raw",
    "process.*",
    "memory.free",
    "memory.bus_width",
    "utilization.jpeg",
    "utilization.ofa",
    "fan.*",
    "fan.*.rpm",
    "irq",
    "p2p",
    "p2p.nvlink",
    "p2p.refusal",
    "accounting",
    "inforom.checksum",
    "restriction.application_clocks",
    "restriction.auto_boost",
    "driver_model",
    "driver_model.pending",
    "operation_mode",
    "operation_mode.pending",
    "clock.*.application",
    "clock.*.application_default",
    "clock.*.boost_max",
    "temperature.threshold.acoustic_*",
    "temperature.threshold.gps_now",
    "pcie.throughput_seconds",
    "pcie.error.*",
    "pci.switch",
    "nvlink.*.state",
    "nvlink.*.tx.bytes",
    "nvlink.*.rx.bytes",
    "nvlink.*.error.replay",
    "nvlink.*.error.recovery",
    "nvlink.*.error.crc_flit",
    "nvlink.*.error.crc_data",
    "nvlink.*.error.ecc_data",
    "nvlink.*.error.received",
    "nvlink.*.error.integrity",
    "nvlink.*.error.effective",
    "nvlink.*.error.symbol",
    "c2c.count",
    "c2c.speed",
    "gpm.tensor.dmma",
    "gpm.nvdec.0",
    "gpm.nvjpg.0",
    "gpm.nvofa.0",
    "ecc.*.*.*",
    "retired.corrected",
    "retired.uncorrected",
    "retired.pending",
    "retired.pages.corrected",
    "retired.pages.uncorrected",
)


def check_key(key: str) -> None:
    """Raise a ValueError that names the nearest key, when there is no such key."""
    plain = _plain(key)
    patterns = _known()
    base = re.sub(r"\.(offset|rate)$", "", plain)
    if any(fnmatchcase(each, pattern) for each in (plain, base) for pattern in patterns):
        return
    nearest = difflib.get_close_matches(plain, patterns, n=1, cutoff=0.0)
    message = f"the simulated driver knows no key {key!r}; the nearest is {nearest[0]!r}"
    raise ValueError(message)


def _plain(key: str) -> str:
    """The key without its GPU and MIG device, and with `*` for other numbers."""
    key = re.sub(r"^gpu\.(\d+|\*)\.(mig\.(\d+|\*)\.(?=[a-z]))?", "gpu.*.", key)
    return re.sub(r"\.\d+(?=\.|$)", ".*", key)


@cache
def _known() -> tuple[str, ...]:
    keys = {*_NODE_KEYS, *(f"gpu.*.{key}" for key in _DEVICE_KEYS)}
    for profile in PROFILES.glob("*.state"):
        lines = (line.split("#")[0].partition("=") for line in profile.read_text().splitlines())
        keys.update(_plain(key.strip()) for key, equals, _ in lines if equals)
    return tuple(sorted(keys - {"include"}))
