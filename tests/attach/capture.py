"""Makes the stacks in ``fixtures/stacks`` from real programs: ``capture.py PYTHON SITUATION…``.

Each is what py-spy printed, with the fields that gputop does not read taken out.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STACKS = Path(__file__).parent.parent / "fixtures/stacks"
KEPT = ("thread_name", "os_thread_id", "owns_gil", "frames")
KEPT_OF_FRAME = ("name", "short_filename", "line")
PATIENCE_SECONDS = 60


def main() -> None:
    STACKS.mkdir(exist_ok=True)
    python, *situations = sys.argv[1:]
    for situation in situations:
        with tempfile.TemporaryDirectory() as folder:
            found = capture(python, situation, Path(folder))
        if found is None:
            print(f"{situation}: it did not get there")
            continue
        text = json.dumps(found, indent=1, ensure_ascii=False)
        (STACKS / f"{situation}.json").write_text(text + "\n")
        print(f"{situation}: {' < '.join(frame['name'] for frame in found[0]['frames'][:6])}")


def capture(
    python: str, situation: str, folder: Path
) -> list[dict[str, list[dict[str, str]]]] | None:
    script = Path(__file__).with_name("hold.py")
    port = str(random.randrange(20000, 40000))
    process = subprocess.Popen(
        [python, script, situation, folder, port],
        stdout=subprocess.DEVNULL,
        stderr=(folder / "errors").open("w"),
        start_new_session=True,
        text=True,
    )
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (folder / "here").exists():
        if process.poll() is not None or time.monotonic() > deadline:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            print((folder / "errors").read_text()[-2000:])
            return None
        time.sleep(0.1)
    time.sleep(1)
    command = ["py-spy", "dump", "--json", "--nonblocking", "--pid", str(process.pid)]
    dump = subprocess.run(command, capture_output=True, check=True).stdout
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return [
        {name: thread[name] for name in KEPT}
        | {"frames": [{key: frame[key] for key in KEPT_OF_FRAME} for frame in thread["frames"]]}
        for thread in json.loads(dump)
        if thread["os_thread_id"] == process.pid
    ]


main()
