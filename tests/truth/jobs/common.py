"""What all jobs of the corpus share: who they are, a training step, and how they say that it is in."""

import os
import subprocess
import sys
import time
from pathlib import Path

FIRST_STEPS = 30
STEP_SECONDS = 0.08
HOUR = 3600.0
SOON_SECONDS = 6.0


class Job:
    """This rank of it."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.rank = int(os.environ.get("RANK", "0"))
        self.world = int(os.environ.get("WORLD_SIZE", "1"))
        self._model = self._optimizer = None

    @property
    def odd(self):
        """Whether this is the rank that does what the case is about: number 1, or the only one."""
        return self.rank == min(1, self.world - 1)

    def meet(self):
        """Join the process group."""
        import torch.distributed as dist

        if self.world > 1 and not dist.is_initialized():
            dist.init_process_group("gloo")

    def model(self):
        """The network, made at its first use; DDP's where there are several ranks."""
        import torch

        if self._model is None:
            torch.set_num_threads(1)
            self._model = torch.nn.Sequential(*[torch.nn.Linear(128, 128) for _ in range(4)])
            if self.world > 1:
                self.meet()
                self._model = torch.nn.parallel.DistributedDataParallel(self._model)
            self._optimizer = torch.optim.SGD(self._model.parameters(), lr=1e-4)
        return self._model

    def micro(self, seconds=STEP_SECONDS):
        """Forward and backward of one batch; the time in between stands for the accelerator's."""
        import torch

        loss = self.model()(torch.randn(8, 128)).square().mean()
        time.sleep(seconds)
        loss.backward()

    def step(self, seconds=STEP_SECONDS):
        self.micro(seconds)
        self.update()

    def update(self):
        self._optimizer.step()
        self._optimizer.zero_grad()

    def steps(self, count=FIRST_STEPS, seconds=STEP_SECONDS):
        for _ in range(count):
            self.step(seconds)

    def train(self, seconds=STEP_SECONDS):
        """For ever."""
        while True:
            self.step(seconds)

    def soon(self):
        """Say that it will be as the case says in a while: somebody may begin to watch."""
        (self.folder / f"soon-{self.rank}").touch()

    def due(self):
        """Whether that while is over."""
        said = self.folder / f"soon-{self.rank}"
        return said.exists() and time.time() - said.stat().st_mtime > SOON_SECONDS

    def train_until_due(self):
        self.soon()
        ended = time.monotonic() + SOON_SECONDS
        while not self._all_done(time.monotonic() > ended):
            self.step()

    def _all_done(self, done):
        """The ranks leave a loop after the same step."""
        if self.world == 1:
            return done
        import torch
        import torch.distributed as dist

        flag = torch.tensor([float(done)])
        dist.all_reduce(flag, op=dist.ReduceOp.MAX)
        return bool(flag.item())

    def ready(self):
        """Say that from now on it is as the case says."""
        (self.folder / f"ready-{self.rank}").touch()

    def others_ready(self):
        """The ranks beside the odd one have nothing to add: it alone says when."""
        if self.odd:
            self.ready()

    def outside(self, code, *words):
        """Run Python that does not belong to the job: nobody's child, killed with the case.

        It prints a line when it has come to the point.
        """
        fork = "import os, sys\nif os.fork(): os._exit(0)\nos.setsid()\n"
        note = f"open({str(self.folder / 'outside')!r}, 'a').write(f'{{os.getpid()}}\\n')\n"
        environment = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "LANG")}
        process = subprocess.Popen(
            [sys.executable, "-c", fork + note + code, *map(str, words)],
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        line = process.stdout.readline().strip()
        process.wait()
        return line


def burn(seconds):
    """Use a core, in Python, for so long by the clock."""
    ended = time.monotonic() + seconds
    number = 0
    while time.monotonic() < ended:
        number = (number * 31 + 7) % 1000003
    return number
