"""Compile the simulated driver with the system's C compiler, again only when a source changed."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

SOURCES = Path(__file__).parent / "source"
SONAME = "libnvidia-ml.so.1"
WARNINGS = ("-Wall", "-Wextra", "-Wshadow", "-Werror=implicit-function-declaration")
FLAGS = ("-std=gnu11", "-O1", "-g", "-fPIC", "-fvisibility=hidden", *WARNINGS)
NOT_IN_THE_LIBRARY = "layout_check.c"


class NoCompilerError(RuntimeError):
    """There is no C compiler, or it refused the sources."""


def compiler() -> str:
    """The compiler to call: `$CC`, else cc, gcc or clang from the path."""
    for name in (os.environ.get("CC"), "cc", "gcc", "clang"):
        if name and (found := shutil.which(name)):
            return found
    message = "The simulated NVML needs a C compiler: install gcc or clang, or set CC."
    raise NoCompilerError(message)


def cache_directory() -> Path:
    """Where compiled variants are kept between runs; `$GPUTOP_TEST_CACHE` overrides it."""
    if chosen := os.environ.get("GPUTOP_TEST_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gputop-tests"


def library(*, old: bool = False) -> Path:
    """The directory with the compiled library, to be put on LD_LIBRARY_PATH.

    With `old`, the variant that lacks the symbols added from driver R510 on.
    """
    command = [compiler(), *FLAGS, *(["-DSIM_OLD_DRIVER"] if old else [])]
    directory = cache_directory() / f"nvml-{_fingerprint(command)}"
    if not (directory / SONAME).exists():
        _compile(command, directory)
    return directory


def _sources(pattern: str) -> list[Path]:
    return sorted(path for path in SOURCES.glob(pattern) if path.name != NOT_IN_THE_LIBRARY)


def _fingerprint(command: list[str]) -> str:
    digest = hashlib.sha256("\0".join(command).encode())
    for path in _sources("*.[ch]"):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _compile(command: list[str], directory: Path) -> None:
    """Build beside the final place and rename, so that parallel test runs cannot meet half a file."""
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory) as scratch:
        unfinished = Path(scratch) / SONAME
        link = ["-shared", f"-Wl,-soname,{SONAME}", "-o", str(unfinished), "-lm", "-pthread"]
        sources = [str(path) for path in _sources("*.c")]
        result = subprocess.run(
            [*command, *sources, *link], capture_output=True, text=True, check=False
        )
        if result.returncode != 0:
            message = f"The simulated NVML does not compile:\n{result.stderr}"
            raise NoCompilerError(message)
        unfinished.replace(directory / SONAME)


if __name__ == "__main__":
    print(library())
    print(library(old=True))
