"""Healthy runs that look odd: their steps stop, burst, vary or have just begun, and nothing is wrong."""

from __future__ import annotations

import msgspec

from ..model.sample import Sample
from .activity import TRAINING, computing
from .overlays import pressed
from .rhythm import RANKS, Pace, Stage, everyone
from .scenario import Scenario, Scene

_ALWAYS = -2000.0
"""Long before anybody looks."""


def _every(steps: int, rare: Pace, usual: Pace | None = None) -> Stage:
    """All ranks do something rare in one of so many steps."""
    often = (usual or Pace(),) * RANKS
    return Stage(_ALWAYS, (rare,) * RANKS, (often,) * (steps - 1))


CHECKPOINTS = Scenario(
    name="checkpoints",
    summary="Healthy: all ranks save for 25 s each ten minutes, and their GPUs are idle meanwhile.",
    nearly=("RUN431",),
    onset_seconds=_ALWAYS,
    stages=(_every(250, Pace(pause=25.0, pause_phase="checkpoint")),),
)

EVALUATIONS = Scenario(
    name="evaluations",
    summary="Healthy: all ranks evaluate for 9 s each minute.",
    nearly=("RUN432", "RUN421"),
    onset_seconds=_ALWAYS,
    stages=(_every(22, Pace(pause=9.0, pause_phase="eval")),),
)

EVALUATION_ON_ONE = Scenario(
    name="evaluation-on-one",
    summary="Healthy: rank 0 evaluates for 15 s every five minutes, and the others wait at a barrier.",
    nearly=("RUN421", "RUN406"),
    onset_seconds=_ALWAYS,
    stages=(
        Stage(
            _ALWAYS,
            (Pace(pause=15.0, pause_phase="eval"), *((Pace(),) * (RANKS - 1))),
            ((Pace(),) * RANKS,) * 124,
        ),
    ),
)

_COLD = Pace(pause=70.0, pause_phase="compile", forward=0.9, backward=1.7)


def _not_yet(sample: Sample, scene: Scene) -> Sample:
    """The job is started only at its onset."""
    if scene.since >= 0:
        return sample
    idle = tuple([msgspec.structs.replace(gpu, processes=()) for gpu in sample.gpus])
    return msgspec.structs.replace(
        sample, gpus=idle, processes=(), cgroups=(), probes=(), limits=(), placements=()
    )


WARM_UP = Scenario(
    name="warm-up",
    summary="Healthy: the job began two minutes ago; its first step compiles, the next ones are slow.",
    nearly=("RUN425", "RUN436"),
    onset_seconds=-119.0,
    job_seconds=125.0,
    stages=(
        Stage(-119.0, (_COLD,) * RANKS, ((Pace(forward=0.9, backward=1.6),) * RANKS,) * 8),
        everyone(-10.0, Pace()),
    ),
    overlays=(_not_yet,),
)

COMPILES = Scenario(
    name="compiles",
    summary="Healthy: torch.compile makes a new graph for 80 s in mid-run, and steps are faster after it.",
    nearly=("RUN434", "RUN436"),
    onset_seconds=-90.0,
    stages=(
        Stage(-90.0, (Pace(pause=80.0, pause_phase="compile"),) * RANKS),
        everyone(-9.0, Pace(forward=0.58, backward=1.12)),
    ),
)

LOADS_WEIGHTS = Scenario(
    name="loads-weights",
    summary="Healthy: the job began two minutes ago and still loads its weights.",
    nearly=("RUN404", "HW210"),
    onset_seconds=-119.0,
    job_seconds=125.0,
    stages=(
        everyone(-119.0, Pace(pause=249.0, pause_phase="startup")),
        everyone(130.0, Pace()),
    ),
    overlays=(_not_yet,),
)

_MICRO_STEPS = 8


def _accumulates(sample: Sample, scene: Scene) -> Sample:
    """Each optimizer step is made of several passes."""
    return msgspec.structs.replace(
        sample,
        probes=tuple(
            [
                msgspec.structs.replace(
                    probe,
                    steps=tuple(
                        [
                            msgspec.structs.replace(step, micro_steps=_MICRO_STEPS)
                            for step in probe.steps
                        ]
                    ),
                )
                for probe in sample.probes
            ]
        ),
    )


GRADIENT_ACCUMULATION = Scenario(
    name="gradient-accumulation",
    summary="Healthy: eight passes make one optimizer step of 16 s, with one all-reduce.",
    nearly=("RUN405", "RUN404"),
    onset_seconds=_ALWAYS,
    stages=(everyone(_ALWAYS, Pace(data=0.24, h2d=0.4, forward=5.3, backward=10.0, comm=0.3)),),
    overlays=(_accumulates,),
)

_GENERATING = computing(
    TRAINING,
    utilization=0.88,
    memory_utilization=0.6,
    sm_active=0.34,
    sm_occupancy=0.11,
    tensor_active=0.06,
    dram_active=0.55,
    power=330.0,
    sm_clock=1965e6,
    nvlink_rx=12e9,
    nvlink_tx=12e9,
)

RL_BURSTS = Scenario(
    name="rl-bursts",
    summary="Healthy: each step generates text for 20 s, scores it, and trains for 7 s.",
    nearly=("HW210", "RUN436"),
    onset_seconds=_ALWAYS,
    stages=(
        everyone(
            _ALWAYS,
            Pace(
                pause=2.0,
                pause_phase="idle",
                forward=20.0,
                backward=5.5,
                comm=0.3,
                optimizer=0.6,
                work={**TRAINING, "forward": _GENERATING["forward"]},
            ),
        ),
    ),
)

UNEVEN_STEPS = Scenario(
    name="uneven-steps",
    summary="Healthy: batches differ in length, so the step times have a wide log-normal spread.",
    nearly=("RUN436", "RUN407"),
    onset_seconds=_ALWAYS,
    stages=(Stage(_ALWAYS, (Pace(),) * RANKS, spread=0.3),),
)

EPOCHS = Scenario(
    name="epochs",
    summary="Healthy: between two epochs the loaders start anew, and all ranks wait 10 s for the first batch.",
    nearly=("INP701",),
    onset_seconds=_ALWAYS,
    stages=(_every(110, Pace(data=10.0)),),
)

SHORT_STEPS = Scenario(
    name="short-steps",
    summary="Healthy: a small model whose steps take a sixth of a second.",
    nearly=("RUN437",),
    onset_seconds=_ALWAYS,
    stages=(
        everyone(
            _ALWAYS,
            Pace(0.003, 0.004, 0.048, 0.09, 0.008, 0.012, 0.002),
        ),
    ),
)

CURRICULUM = Scenario(
    name="curriculum",
    summary="Healthy: sequences become longer by design, and steps with them, by 6 % every five minutes.",
    nearly=("RUN436",),
    onset_seconds=-200.0,
    stages=(
        everyone(-200.0, Pace(forward=0.70, backward=1.33)),
        everyone(100.0, Pace(forward=0.74, backward=1.41)),
        everyone(400.0, Pace(forward=0.79, backward=1.50)),
    ),
)

LAST_STAGE = Scenario(
    name="last-stage",
    summary="Healthy: rank 7 also computes the loss, and takes 5 % longer than the others.",
    nearly=("RUN407",),
    onset_seconds=_ALWAYS,
    stages=(Stage(_ALWAYS, (*((Pace(),) * (RANKS - 1)), Pace(forward=0.70, backward=1.32))),),
)

WRITES_IN_BACKGROUND = Scenario(
    name="writes-in-background",
    summary="Healthy: checkpoints are written in the background, so the disk is busy and the steps go on.",
    nearly=("INP704",),
    onset_seconds=_ALWAYS,
    stages=(everyone(_ALWAYS, Pace()),),
    overlays=(pressed(pressure_io_some_seconds=0.35, cpu_iowait_seconds=4.0),),
)
