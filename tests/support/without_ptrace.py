"""Runs a command under a seccomp filter that refuses ptrace and process_vm_readv with EACCES.

Not with EPERM, as container engines do: then py-spy reads ``/proc/PID/mem`` instead, and succeeds.

``python without_ptrace.py COMMAND ARGUMENT…``
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys

_NUMBERS = {"x86_64": (101, 310), "aarch64": (117, 270)}
_LOAD, _JUMP_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _ACCESS_DENIED = 0x7FFF0000, 0x0005000D
_SET_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2


class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def main() -> None:
    ptrace, read_memory = _NUMBERS[platform.machine()]
    instructions = (
        (_LOAD, 0, 0, 0),  # the number of the call
        (_JUMP_EQUAL, 2, 0, ptrace),
        (_JUMP_EQUAL, 1, 0, read_memory),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _ACCESS_DENIED),
    )
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)
    program = Program(len(instructions), code)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(
        _SET_SECCOMP, _FILTER, ctypes.byref(program)
    ):
        raise OSError(ctypes.get_errno(), "no seccomp filter")
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
