"""What the driver's Xid codes mean and what to tell the on-call, after NVIDIA's Xid catalogue."""

from __future__ import annotations

from typing import Literal

import msgspec

from ..finding import Severity

XidClass = Literal[
    "application", "consequence", "processing", "firmware", "memory", "link", "bus", "notice"
]


class XidMeaning(msgspec.Struct, frozen=True):
    """One code of the catalogue."""

    meaning: str
    kind: XidClass
    severity: Severity
    next_step: str


_RESET = "Drain this GPU and reset it (nvidia-smi -r), then start the job again."
_RESTART = (
    "Restart the job; if it comes again with the same code path, it is a bug in the application."
)
_EARLIER = "Ignore this one: it is a consequence, so look for the Xid that came before it."
_WATCH = "Nothing now; watch whether it comes again."
_NVLINK = "Check this GPU's NVLinks, and the peer and the switch at their other ends."
_SUPPORT = (
    "Nothing now; if the job failed with it or it comes again, update the driver, and send an "
    "nvidia-bug-report to support."
)
_FIELD_DIAGNOSTICS = (
    "Nothing is left to repair it with: when the job has ended, drain the node, run NVIDIA's field "
    "diagnostics, and have the board replaced."
)
_NVLINK_5 = (
    "Follow what Xid 154 beside it asks for (reset or reboot); then check this GPU's NVLinks, the "
    "switch and the cables at their other ends, and the fabric manager's log."
)
_DRAIN = "Drain this GPU at once and reset it; if it comes again, have the board replaced."

XID_MEANINGS: dict[int, XidMeaning] = {
    13: XidMeaning("graphics engine exception", "application", "warning", _RESTART),
    31: XidMeaning("GPU memory page fault", "application", "warning", _RESTART),
    32: XidMeaning(
        "invalid or corrupted push buffer stream",
        "bus",
        "warning",
        "Restart the job; if it comes again, check this GPU's PCIe link (replays, AER lines of the "
        "kernel log), which is its usual cause.",
    ),
    38: XidMeaning("driver firmware error", "firmware", "warning", _SUPPORT),
    43: XidMeaning("GPU stopped processing", "consequence", "info", _EARLIER),
    44: XidMeaning(
        "graphics engine fault during context switch", "processing", "warning", _SUPPORT
    ),
    45: XidMeaning(
        "pre-emptive cleanup of a channel",
        "consequence",
        "info",
        "Ignore it after another Xid, which is then the cause; alone, restart the fabric manager.",
    ),
    46: XidMeaning("GPU stopped processing: time-out", "processing", "error", _RESET),
    48: XidMeaning("double-bit ECC error", "memory", "error", _DRAIN),
    61: XidMeaning(
        "internal micro-controller breakpoint",
        "firmware",
        "warning",
        "Update the driver, for newer ones do not report it; if the job failed with it, reset the GPU.",
    ),
    62: XidMeaning("internal micro-controller halted", "firmware", "error", _RESET),
    63: XidMeaning(
        "row remap or page retirement recorded",
        "memory",
        "info",
        "Nothing now: the row is replaced at the next reset of this GPU.",
    ),
    64: XidMeaning(
        "row remap or page retirement failed",
        "memory",
        "error",
        "Reset this GPU; if a remap fails again, have the board replaced.",
    ),
    65: XidMeaning("video processor exception (encoder)", "application", "warning", _RESTART),
    68: XidMeaning("video decoder exception (NVDEC0)", "application", "warning", _RESTART),
    69: XidMeaning("graphics engine class error", "application", "warning", _RESTART),
    74: XidMeaning("NVLink error", "link", "error", _NVLINK),
    79: XidMeaning(
        "GPU has fallen off the bus",
        "bus",
        "error",
        "Take this node out and restart the bare-metal host: the GPU will not come back alone.",
    ),
    92: XidMeaning("high rate of single-bit ECC errors", "memory", "info", _WATCH),
    94: XidMeaning(
        "contained memory error",
        "memory",
        "warning",
        "Restart the job only, for the error was contained in it; reset the GPU when convenient.",
    ),
    95: XidMeaning("uncontained memory error", "memory", "error", _DRAIN),
    109: XidMeaning("context switch time-out", "processing", "error", _RESET),
    110: XidMeaning("security fault", "firmware", "error", _RESET),
    119: XidMeaning("GSP firmware time-out", "firmware", "error", _RESET),
    120: XidMeaning("GSP firmware error", "firmware", "error", _RESET),
    121: XidMeaning("C2C link error", "link", "info", _WATCH),
    137: XidMeaning(
        "NVLink privilege error",
        "link",
        "info",
        "Look for an application fault (Xid 13 or 31) first: this often follows from one.",
    ),
    140: XidMeaning("unrecovered ECC error", "memory", "error", _RESET),
    143: XidMeaning("GPU initialization error", "firmware", "error", _RESET),
    154: XidMeaning(
        "recovery action changed",
        "notice",
        "warning",
        "Do what the driver asks for: nvidia-smi -q shows it as the GPU recovery action.",
    ),
    155: XidMeaning("NVLink software-defined error", "link", "error", _RESET),
    156: XidMeaning("resource retirement", "memory", "error", _RESET),
    157: XidMeaning("resource retirement failed", "memory", "error", _FIELD_DIAGNOSTICS),
    158: XidMeaning("fatal GPU time-out", "processing", "error", _RESET),
    160: XidMeaning(
        "memory channel retirement",
        "memory",
        "info",
        "Nothing now: a spare channel takes its place at the next reset of this GPU.",
    ),
    161: XidMeaning("memory channel retirement failed", "memory", "error", _FIELD_DIAGNOSTICS),
    162: XidMeaning("power smoothing works again", "notice", "info", "Nothing: it is on again."),
    163: XidMeaning(
        "power smoothing is off",
        "notice",
        "warning",
        "No reset is needed; where power smoothing is wanted, look for the heat that turned it off, "
        "else reload the driver or reset the GPU.",
    ),
    164: XidMeaning(
        "power smoothing circuitry is worn",
        "notice",
        "warning",
        "Plan for another board where power smoothing is wanted: it will soon be off for good.",
    ),
    165: XidMeaning(
        "power smoothing circuitry is worn out",
        "notice",
        "warning",
        "Power smoothing is off for good: replace the board where it is wanted.",
    ),
    171: XidMeaning("uncorrectable DRAM error (detail of 48)", "memory", "error", _DRAIN),
    172: XidMeaning("uncorrectable SRAM error (detail of 48)", "memory", "error", _DRAIN),
    **{
        code: XidMeaning(f"NVLink {unit} error (fifth generation)", "link", "error", _NVLINK_5)
        for code, unit in enumerate(
            ("SAW", "RLW", "TLW", "TREX", "NVLPW_CTRL", "NETIR", "MSE"), start=144
        )
    },
}

UNKNOWN_XID = XidMeaning(
    "unknown to this program",
    "notice",
    "warning",
    "Look this code up in NVIDIA's Xid catalogue, and in the kernel log for its text.",
)

UNCORRECTED_CODES = frozenset(
    code for code, row in XID_MEANINGS.items() if row.kind == "memory" and row.severity != "info"
)
"""Those that report memory errors that ECC could not correct."""


def xid_meaning(code: int) -> XidMeaning:
    """What the code means; a code that is not in the table gets a row that says so."""
    return XID_MEANINGS.get(code, UNKNOWN_XID)
