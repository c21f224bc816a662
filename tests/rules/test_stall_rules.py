"""Rules about ranks that stand still: what fires, on whom, when, and what does not fire beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from gputop.probes.model.probe_readings import CollectiveReading, ProbeReading
from gputop.probes.model.rank_readings import (
    BlockedFile,
    CommunicatorRankReading,
    CommunicatorReading,
    ExitReading,
    Stack,
    StackFrameReading,
    StackReading,
    ThreadReading,
    ThreadsReading,
)

from support.rules_scenes import (
    BEGAN,
    GPUS,
    UNIX,
    Changes,
    Played,
    Script,
    evidence,
    play,
    probe,
    rank_pid,
    worker_pid,
)

FROM = 5.0
"""Second at which the fault begins."""
VICTIM = 3
ALL = set(range(GPUS))


def thread(rank: int, second: float, since: float | None, **fields: Any) -> ThreadsReading:
    """A main thread that runs and waits by turns, and from ``since`` on does as ``fields`` say."""
    moved = second if since is None else min(second, since)
    given: dict[str, Any] = {
        "tid": rank_pid(rank),
        "name": "python",
        "state": "S",
        "cpu_seconds": 0.6 * moved,
        "wait_channel": "futex_do_wait",
        "voluntary_switches": int(500 * moved),
    }
    if since is not None and second >= since:
        given |= fields
    return ThreadsReading(
        monotonic_seconds=BEGAN + second,
        pid=rank_pid(rank),
        start_time_seconds=5001.0,
        main=ThreadReading(**given),
    )


def frames(*places: str) -> Stack:
    parts = [place.split(":") for place in places]
    return tuple(
        StackFrameReading(name=name, file=file, line=int(line)) for file, name, line in parts
    )


BACKWARD = frames("torch/autograd/graph.py:_engine_run_backward:979", "train.py:main:115")
BARRIER = frames("torch/distributed/distributed_c10d.py:barrier:5000", "train.py:main:120")
LOADING = frames(
    "data.py:load_batch:88", "torch/utils/data/_utils/fetch.py:fetch:54", "train.py:main:111"
)
QUEUE = frames("torch/utils/data/dataloader.py:_try_get_data:1291", "train.py:main:111")
SAVING = frames("torch/serialization.py:_save:900", "train.py:main:130")
COMPILING = frames("torch/_dynamo/convert_frame.py:_compile:1200", "train.py:main:112")
EVALUATING = frames(
    "torch/nn/modules/module.py:_call_impl:1773",
    "transformers/trainer.py:evaluation_loop:4471",
    "train.py:main:140",
)


def stacks(second: float, by_rank: Mapping[int, Stack]) -> list[StackReading]:
    return [
        StackReading(
            monotonic_seconds=BEGAN + second,
            pid=rank_pid(rank),
            start_time_seconds=5001.0,
            main_stacks=(stack, stack, stack),
            taken=3,
        )
        for rank, stack in by_rank.items()
    ]


def stall(
    victim: Mapping[str, Any],
    stack: Stack | None = None,
    *,
    until: float = 1e9,
    workers: Mapping[str, Any] | None = None,
    victims: frozenset[int] = frozenset({VICTIM}),
) -> Script:
    """The victim does as reported from `FROM` on, and all others wait for it."""

    def script(second: float) -> Changes:
        over = second >= until
        since = None if over else FROM
        moving = second - (until - FROM) if over else second
        readings = [
            thread(rank, moving if over else second, since, **(victim if rank in victims else {}))
            for rank in ALL
        ]
        at = BEGAN + second
        fresh = [ThreadsReading(**{**_fields(each), "monotonic_seconds": at}) for each in readings]
        known = dict.fromkeys(ALL, BACKWARD) | {rank: stack for rank in victims if stack}
        seen = stacks(second, known) if stack and not over and second >= FROM + 2 else []
        frozen = workers if workers is not None and second >= FROM else {}
        return Changes(threads=fresh, stacks=seen, every_worker=frozen)

    return script


def _fields(reading: ThreadsReading) -> dict[str, Any]:
    return {name: getattr(reading, name) for name in reading.__struct_fields__}


SLEEPING = {"wait_channel": "hrtimer_nanosleep"}
ASLEEP_WORKERS = {"cpu_seconds": 5000.0, "state": "S", "wait_channel": "futex_do_wait"}
RULES = {
    "HST115",
    "HST125",
    "RUN404",
    "RUN405",
    "RUN406",
    "RUN419",
    "RUN421",
    "RUN423",
    "RUN424",
    "RUN425",
}


def reported(played: Played) -> dict[str, int | None]:
    return {
        finding.id: finding.subject.rank for finding in played.last.active if finding.id in RULES
    }


@pytest.mark.parametrize(
    ("victim", "stack", "rule"),
    [
        (SLEEPING, LOADING, "RUN406"),
        (SLEEPING, None, "RUN406"),
        ({"state": "R", "cpu_seconds": 1e6}, None, "RUN406"),
        ({"wait_channel": "anon_pipe_read"}, LOADING, "HST125"),
        ({"wait_channel": "anon_pipe_read"}, None, "HST125"),
        ({"state": "D", "wait_channel": "rpc_wait_bit_killable"}, None, "HST125"),
        ({"state": "T"}, None, "RUN423"),
        ({"state": "t"}, LOADING, "RUN423"),
        (SLEEPING, SAVING, "RUN419"),
        (SLEEPING, COMPILING, "RUN425"),
        (SLEEPING, EVALUATING, "RUN421"),
        ({"state": "R", "cpu_seconds": 1e6}, EVALUATING, "RUN421"),
    ],
)
def test_one_finding_with_the_right_rank(
    victim: Mapping[str, Any], stack: Stack | None, rule: str
) -> None:
    played = play(stall(victim, stack), 25)
    assert reported(played) == {rule: VICTIM}
    began = played.active_from(rule)
    assert began is not None
    assert began <= FROM + 10


def veiled(victim: Callable[[float], Mapping[str, Any]], since: float | None = FROM) -> Script:
    """The kernel shows no wait channels, as of another user's processes; all but the victim sleep.

    Args:
        victim: what its thread does at a second.
        since: when that begins; ``None``: it runs and waits by turns.
    """

    def script(second: float) -> Changes:
        hidden = {"wait_channel": None}
        others = [thread(rank, second, FROM, **hidden) for rank in ALL - {VICTIM}]
        return Changes(
            threads=[*others, thread(VICTIM, second, since, **{**hidden, **victim(second)})]
        )

    return script


def test_without_wait_channels_the_one_that_runs_is_waited_for() -> None:
    loops = veiled(lambda second: {"state": "R", "cpu_seconds": 10.0 + second})
    assert reported(play(loops, 25)) == {"RUN406": VICTIM}
    assert reported(play(veiled(lambda _: {"state": "T"}), 25)) == {"RUN423": VICTIM}


def test_without_wait_channels_ranks_that_all_sleep_are_seen_but_none_is_named() -> None:
    finding = play(veiled(lambda _: {}), 80).one("RUN405")
    assert (finding.subject.kind, finding.severity, finding.confidence) == ("job", "warning", 0.5)
    # One goes on: the others may just be early.
    assert not play(veiled(lambda _: {}, since=None), 40).ever() & RULES


SPINS = {"utilization_ratio": 1.0, "sm_active_ratio": None, "power_watts": 180.0}
IDLE = {"utilization_ratio": 0.0, "sm_active_ratio": None, "power_watts": 90.0}
SILENT = {
    f"{kind}_{way}_bytes": 10**12 if kind == "pcie" else None
    for kind in ("pcie", "nvlink")
    for way in ("rx", "tx")
}


def in_nccl(victim: Mapping[str, Any], gpu: Mapping[str, Any]) -> Script:
    """Hosts spin while their GPUs spin in a collective, as NCCL's do; only the victim does not come."""

    def script(second: float) -> Changes:
        spinning = {"state": "R", "cpu_seconds": 10.0 + second, "voluntary_switches": 9}
        threads = [
            thread(rank, second, FROM, **(victim if rank == VICTIM else spinning)) for rank in ALL
        ]
        if second < FROM:
            return Changes(threads=threads)
        gpus = {rank: {**SILENT, **(gpu if rank == VICTIM else SPINS)} for rank in ALL}
        return Changes(threads=threads, gpus=gpus)

    return script


def test_ranks_whose_gpus_spin_wait_though_their_hosts_run() -> None:
    played = play(in_nccl(SLEEPING, IDLE), 40)
    assert reported(played) == {"RUN406": VICTIM}
    assert evidence(played.one("RUN406"), "their GPUs").value == "only spin, with flat power"
    stopped = play(in_nccl({"state": "T"}, SPINS), 40)
    assert reported(stopped) == {"RUN423": VICTIM}


def test_where_all_gpus_spin_counts_tell_who_is_missing() -> None:
    spins = {"state": "R", "voluntary_switches": 9, "cpu_seconds": 10.0}
    everybody = in_nccl(spins, SPINS)
    assert reported(play(everybody, 40)) == {"RUN405": None}

    def script(second: float) -> Changes:
        counts = (communicator(*LATE),) if second >= FROM + 3 else ()
        return replace(everybody(second), communicators=counts)

    assert reported(play(script, 40)) == {"RUN404": VICTIM}


def test_gpus_that_work_hard_are_no_wait() -> None:
    def script(second: float) -> Changes:
        works = {"utilization_ratio": 1.0, "sm_active_ratio": None, "power_watts": 650.0}
        spinning = {"state": "R", "cpu_seconds": 10.0 + second, "voluntary_switches": 9}
        threads = [thread(rank, second, FROM, **spinning) for rank in ALL]
        return Changes(threads=threads, every_gpu={**works, **SILENT})

    assert not play(script, 60).ever() & RULES


def test_a_healthy_job_has_none() -> None:
    def script(second: float) -> Changes:
        return Changes(threads=[thread(rank, second, None) for rank in ALL])

    assert not play(script, 30).ever() & RULES


def test_a_wait_of_four_seconds_is_no_stall() -> None:
    assert not play(stall(SLEEPING, until=FROM + 4), 20).ever() & RULES


def test_it_clears_when_the_job_goes_on() -> None:
    played = play(stall(SLEEPING, until=FROM + 12), 40)
    assert "RUN406" in played.ever()
    assert reported(played) == {}


def test_an_error_after_a_minute_with_both_witnesses() -> None:
    assert play(stall(SLEEPING, LOADING), FROM + 50).one("RUN406").severity == "warning"
    finding = play(stall(SLEEPING, LOADING), FROM + 70).one("RUN406")
    assert finding.severity == "error"
    assert evidence(finding, "place").value == "load_batch (data.py:88)"
    assert evidence(finding, "kept waiting").value == "ranks 0, 1, 2, 4, 5, 6, 7"
    assert "data.py:88" in finding.next_step


def test_the_file_that_a_rank_waits_for_is_named() -> None:
    def script(second: float) -> Changes:
        file = BlockedFile(call="opens", path="/run/fifo", mount_point="/run", file_system="tmpfs")
        changes = stall({"wait_channel": "wait_for_partner"}, LOADING)(second)
        return replace(changes, processes={rank_pid(VICTIM): {"blocked_on": file}})

    finding = play(script, 25).one("HST125")
    assert evidence(finding, "file").value == "opens /run/fifo"
    assert "it opens /run/fifo on /run (tmpfs" in finding.next_step


@pytest.mark.unmeasured
def test_a_checkpoint_is_no_stall_until_the_time_limit_is_near() -> None:
    assert play(stall(SLEEPING, SAVING), 120).one("RUN419").severity == "info"
    assert play(stall(SLEEPING, SAVING), 640, interval=5.0).one("RUN419").severity == "warning"


@pytest.mark.unmeasured
def test_an_evaluation_is_no_stall_until_the_time_limit_is_near() -> None:
    assert play(stall(SLEEPING, EVALUATING), 120).one("RUN421").severity == "info"
    late = play(stall(SLEEPING, EVALUATING), 640, interval=5.0).one("RUN421")
    assert late.severity == "warning"


def test_an_evaluation_for_which_nobody_waits_is_none_of_it() -> None:
    """All ranks evaluate, each its part; and a short one ends before the others have waited long."""
    together = stall(SLEEPING, EVALUATING, victims=frozenset(ALL))
    assert not play(together, 60).ever() & RULES
    assert not play(stall(SLEEPING, EVALUATING, until=FROM + 4), 20).ever() & RULES


def test_a_loader_whose_workers_sleep_is_deadlocked() -> None:
    polling = {"wait_channel": "poll_schedule_timeout"}
    assert reported(play(stall(polling, QUEUE, workers=ASLEEP_WORKERS), 25)) == {"HST115": VICTIM}


def test_a_loader_whose_workers_run_is_slow_and_not_deadlocked() -> None:
    polling = {"wait_channel": "poll_schedule_timeout"}
    assert reported(play(stall(polling, QUEUE), 25)) == {"RUN406": VICTIM}


def test_without_stacks_the_loader_is_known_by_its_workers() -> None:
    polling = {"wait_channel": "poll_schedule_timeout"}
    assert reported(play(stall(polling, workers=ASLEEP_WORKERS), 25)) == {"HST115": VICTIM}


def mismatch(second_place: Stack | None) -> Script:
    def script(second: float) -> Changes:
        readings = [thread(rank, second, FROM) for rank in ALL]
        places = dict.fromkeys(ALL, BACKWARD) | ({VICTIM: second_place} if second_place else {})
        seen = stacks(second, places) if second_place and second >= FROM + 2 else []
        return Changes(threads=readings, stacks=seen)

    return script


def test_ranks_that_wait_in_different_places() -> None:
    played = play(mismatch(BARRIER), 25)
    assert reported(played) == {"RUN404": VICTIM}
    words = evidence(played.one("RUN404"), "waiting in different places").value
    assert "rank 3: main (train.py:120)" in str(words)
    assert f"gputop stacks {rank_pid(VICTIM)} shows" in played.one("RUN404").next_step


def test_ranks_that_wait_in_one_place() -> None:
    assert reported(play(mismatch(BACKWARD), 25)) == {"RUN405": None}


def test_without_stacks_nobody_is_named() -> None:
    finding = play(mismatch(None), 80).one("RUN405")
    assert finding.subject.kind == "job"
    assert finding.severity == "warning"  # one witness alone makes nothing red


def communicator(*launched: int, remote: tuple[str, int] | None = None) -> CommunicatorReading:
    """Of all ranks here, and perhaps of one elsewhere."""
    ranks = [
        CommunicatorRankReading(rank=rank, pid=rank_pid(rank), host="10.0.0.1", launched=count)
        for rank, count in enumerate(launched)
    ]
    if remote:
        host, count = remote
        ranks.append(CommunicatorRankReading(rank=len(ranks), host=host, launched=count))
    return CommunicatorReading(
        monotonic_seconds=BEGAN, id="0xabc", size=len(ranks), ranks=tuple(ranks)
    )


def counted(place: Stack | None, *readings: CommunicatorReading) -> Script:
    """All wait, in one place as far as stacks tell, and RAS has been asked."""
    waiting = mismatch(place)

    def script(second: float) -> Changes:
        return replace(waiting(second), communicators=readings if second >= FROM + 3 else ())

    return script


LATE = [1011] * VICTIM + [1010] + [1011] * (GPUS - VICTIM - 1)


@pytest.mark.parametrize("place", [BACKWARD, None])
def test_counts_of_collectives_name_the_rank_where_stacks_do_not(place: Stack | None) -> None:
    played = play(counted(place, communicator(*LATE)), 25)
    assert reported(played) == {"RUN404": VICTIM}
    finding = played.one("RUN404")
    assert finding.confidence == 1.0
    words = evidence(finding, "launched fewer collectives, by NCCL RAS").value
    assert words == "rank 3: 1010, the most is 1011 (communicator 0xabc of 8)"


def test_equal_counts_and_those_of_other_jobs_name_nobody() -> None:
    assert reported(play(counted(BACKWARD, communicator(*[1011] * GPUS)), 25)) == {"RUN405": None}
    strange = CommunicatorReading(
        monotonic_seconds=BEGAN,
        id="0xdef",
        ranks=(CommunicatorRankReading(rank=0, launched=7), CommunicatorRankReading(rank=1)),
    )
    assert reported(play(counted(BACKWARD, strange), 25)) == {"RUN405": None}


def test_a_rank_of_another_node_is_named_by_its_host() -> None:
    reading = communicator(*[1011] * GPUS, remote=("10.0.0.7", 1009))
    finding = play(counted(BACKWARD, reading), 25).one("RUN404")
    assert finding.subject.kind == "job"
    words = evidence(finding, "launched fewer collectives, by NCCL RAS").value
    assert "rank 8 on 10.0.0.7: 1009" in str(words)
    assert any(f"gputop stacks {rank_pid(rank)} shows" in finding.next_step for rank in ALL)


def probed(launched: Sequence[int], own: Sequence[int | None]) -> Script:
    """All wait, and the probes count: by hooks, and as the group itself does."""
    waiting = mismatch(None)

    def script(second: float) -> Changes:
        probes = [
            ProbeReading(
                monotonic_seconds=BEGAN + second,
                pid=rank_pid(rank),
                start_time_seconds=5001.0,
                rank=rank,
                phase="comm",
                phase_monotonic_seconds=BEGAN + min(second, FROM),
                phase_seconds={"comm": second},
                collectives=(
                    CollectiveReading(
                        group="default",
                        sequence=launched[rank],
                        group_sequence=own[rank],
                        operation="all_reduce",
                    ),
                ),
            )
            for rank in ALL
        ]
        return replace(waiting(second), probes=probes)

    return script


def test_the_probes_counts_name_the_rank() -> None:
    nothing = [None] * GPUS
    finding = play(probed(LATE, nothing), 25).one("RUN404")
    assert finding.subject.rank == VICTIM
    words = evidence(finding, "launched fewer collectives, by the probe").value
    assert words == "rank 3: 1010, the most is 1011 (group default, last all_reduce)"
    # With what DDP launches by itself only the group's own numbers differ.
    own = play(probed([7] * GPUS, LATE), 25).one("RUN404")
    assert own.subject.rank == VICTIM
    assert reported(play(probed([7] * GPUS, [1011] * GPUS), 25)) == {"RUN405": None}


def with_pages(victim: Mapping[str, Any], ages: Mapping[str, Any], *, since: float = 0.0) -> Script:
    """All stand still from `since` on, the victim as reported; pages tell how old phases and steps are."""

    def script(second: float) -> Changes:
        threads = [
            thread(rank, second, since, **(victim if rank == VICTIM else {})) for rank in ALL
        ]
        probes = [
            msgspec.structs.replace(
                probe(rank, second, "backward", ages["phase"] + second),
                rank=rank,
                step=ages["step"],
                step_seconds=0.2,
                step_monotonic_seconds=BEGAN - ages["age"],
            )
            for rank in ALL
        ]
        return Changes(threads=threads, probes=probes)

    return script


LONG_AGO = {"phase": 65.0, "step": 40, "age": 66.0}
JUST_NOW = {"phase": 0.3, "step": 40, "age": 0.4}


@pytest.mark.parametrize("state", ["T", "t"])
def test_a_stopped_rank_is_named_at_the_second_look_where_pages_tell_for_how_long(
    state: str,
) -> None:
    finding = play(with_pages({"state": state}, LONG_AGO), 1).one("RUN423")
    assert (finding.subject.rank, finding.severity) == (VICTIM, "error")
    assert evidence(finding, "waiting_seconds").value == 66.0
    assert finding.since_seconds == UNIX - 65.0
    assert not play(with_pages({"state": state}, JUST_NOW), 1).ever() & RULES


def test_a_stall_is_seen_at_the_second_look_where_pages_tell_for_how_long() -> None:
    finding = play(with_pages({}, LONG_AGO), 1).one("RUN405")
    assert evidence(finding, "waiting_seconds").value == 66.0
    assert not play(with_pages({}, JUST_NOW), 1).ever() & RULES


def test_a_long_phase_of_a_step_that_is_not_overdue_proves_no_stall() -> None:
    """A long backward is one: ranks that stand still in it for a moment have not since it began."""
    steps_of_a_minute = with_pages({"state": "T"}, LONG_AGO)

    def script(second: float) -> Changes:
        changes = steps_of_a_minute(second)
        probes = [msgspec.structs.replace(each, step_seconds=60.0) for each in changes.probes]
        return replace(changes, probes=probes)

    assert not play(script, 1).ever() & RULES


def in_a_collective(ages: Mapping[str, Any], launched: Sequence[int]) -> Script:
    """Hosts spin in a collective that the victim, which sleeps over its data, has not launched."""

    def script(second: float) -> Changes:
        spins = {"state": "R", "cpu_seconds": 10.0 + second, "voluntary_switches": 9}
        threads = [
            thread(rank, second, 0.0, **(SLEEPING if rank == VICTIM else spins)) for rank in ALL
        ]
        probes = [
            msgspec.structs.replace(
                each,
                phase="data" if each.rank == VICTIM else "comm",
                collectives=(
                    CollectiveReading(
                        group="default",
                        sequence=launched[each.rank or 0],
                        operation="all_reduce",
                        in_flight_monotonic_seconds=(
                            None if each.rank == VICTIM else each.phase_monotonic_seconds
                        ),
                    ),
                ),
            )
            for each in with_pages({}, ages)(second).probes
        ]
        return Changes(threads=threads, probes=probes)

    return script


def test_who_spins_in_a_collective_waits_where_pages_tell_for_whom_and_how_long() -> None:
    finding = play(in_a_collective(LONG_AGO, LATE), 1).one("RUN406")
    assert (finding.subject.rank, finding.severity) == (VICTIM, "error")
    assert evidence(finding, "kept waiting").value == "ranks 0, 1, 2, 4, 5, 6, 7"
    assert not play(in_a_collective(JUST_NOW, LATE), 1).ever() & RULES
    assert not play(in_a_collective(LONG_AGO, [1011] * GPUS), 1).ever() & RULES


def test_without_pages_a_wait_is_reported_as_seen() -> None:
    finding = play(stall({"state": "T"}), 25).one("RUN423")
    assert evidence(finding, "seen_waiting_seconds").value == 20.0
    assert all(each.signal != "waiting_seconds" for each in finding.evidence)


def test_of_those_noticed_together_the_killed_one_came_first() -> None:
    def script(second: float) -> Changes:
        if second < FROM:
            return Changes()
        ends: tuple[dict[str, Any], ...] = ({"code": 1}, {"signal": 9}, {"signal": 15})
        exits = [
            ExitReading(
                pid=rank_pid(rank),
                start_time_seconds=5001.0,
                monotonic_seconds=BEGAN + FROM + rank * 0.001,
                **how,
            )
            for rank, how in enumerate(ends)
        ]
        return Changes(without_job=True, exits=exits)

    assert reported(play(script, 10)) == {"RUN424": 1}


def fallen(*ends: tuple[float, dict[str, Any]], pages: Sequence[int] = ()) -> Script:
    """So many ranks end, so many seconds after the fault; of some a page is left."""

    def script(second: float) -> Changes:
        if second < FROM:
            return Changes()
        exits = [
            ExitReading(
                pid=rank_pid(rank),
                start_time_seconds=5001.0,
                monotonic_seconds=BEGAN + FROM + after,
                **how,
            )
            for rank, (after, how) in enumerate(ends)
        ]
        left = [
            msgspec.structs.replace(
                probe(rank, second, "backward", 1.0),
                ended_monotonic_seconds=BEGAN + FROM,
                rank=rank,
            )
            for rank in pages
        ]
        return Changes(without_job=True, exits=exits, probes=left)

    return script


ENDED_BY_LAUNCHER = {"signal": 15}
DONE = {"code": 0}


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        # The launcher's SIGTERM is no cause, whoever was noticed first within a moment.
        ([(0.0, ENDED_BY_LAUNCHER), (0.5, {"signal": 9})], {"RUN424": 1}),
        ([(0.0, ENDED_BY_LAUNCHER), (0.5, {"signal": 11})], {"RUN424": 1}),
        ([(0.0, ENDED_BY_LAUNCHER), (0.5, {"code": 1})], {"RUN424": 1}),
        # Where nothing else ended, somebody has ended the job.
        ([(0.0, ENDED_BY_LAUNCHER), (0.5, ENDED_BY_LAUNCHER)], {"RUN424": 0}),
        # It was first by far: the others were killed since they did not heed the launcher.
        ([(0.0, ENDED_BY_LAUNCHER), (30.0, {"signal": 9})], {"RUN424": 0}),
        # A rank that is done is not the fault of one that crashes, nor hides it.
        ([(0.0, DONE), (0.5, {"code": 1})], {"RUN424": 1}),
        ([(0.0, DONE), (9.0, {"signal": 6})], {"RUN424": 1}),
        ([(0.0, DONE), (0.5, ENDED_BY_LAUNCHER)], {}),
        ([(0.0, DONE), (0.5, DONE)], {}),
    ],
)
def test_which_of_several_ends_is_the_fault(
    ends: list[tuple[float, dict[str, Any]]], expected: dict[str, int]
) -> None:
    assert reported(play(fallen(*ends), 45)) == expected


def test_of_a_job_that_died_as_a_whole_an_unseen_end_is_reported_by_its_page() -> None:
    unseen = fallen((0.0, ENDED_BY_LAUNCHER), (0.5, {}), pages=(0, 1))
    played = play(unseen, 20)
    assert reported(played) == {"RUN424": 1}
    assert evidence(played.one("RUN424"), "ended by").value == (
        "nobody saw how; it has left its page"
    )
    assert reported(play(fallen((0.0, {}), (0.5, {})), 20)) == {}, "they may have been done"


@pytest.mark.parametrize("late", [1.0, 5.0])
def test_a_rank_of_a_stuck_job_that_is_killed_is_reported_however_late_its_end_is_seen(
    late: float,
) -> None:
    """The job stands still first; then it is gone at once, and how is known when it is in no frame."""
    stuck = stall(SLEEPING, LOADING)

    def script(second: float) -> Changes:
        if second < 25.0:
            return stuck(second)
        gone = ExitReading(
            pid=rank_pid(VICTIM),
            start_time_seconds=5001.0,
            monotonic_seconds=BEGAN + 25.0,
            signal=9,
        )
        exits = (gone,) if second >= 25.0 + late else ()
        return Changes(without_job=True, exits=exits)

    played = play(script, 40)
    assert "RUN406" in played.ever()
    assert played.one("RUN424").subject.rank == VICTIM


def ended(**how: Any) -> Callable[[float], Changes]:
    def script(second: float) -> Changes:
        if second < FROM:
            return Changes()
        gone = ExitReading(
            pid=rank_pid(VICTIM),
            start_time_seconds=5001.0,
            monotonic_seconds=BEGAN + FROM,
            **how,
        )
        later = ExitReading(
            pid=rank_pid(0),
            start_time_seconds=5001.0,
            monotonic_seconds=BEGAN + FROM + 1,
            signal=15,
        )
        return Changes(without_job=True, exits=(later, gone))

    return script


def test_the_first_rank_that_ended_is_named_with_the_reason() -> None:
    played = play(ended(signal=9, killed_by="the kernel's OOM killer"), 20)
    assert reported(played) == {"RUN424": VICTIM}
    finding = played.one("RUN424")
    assert evidence(finding, "ended by").value == "signal 9 (SIGKILL)"
    assert evidence(finding, "killed by").value == "the kernel's OOM killer"
    assert evidence(finding, "others that ended after it").value == 1


def test_a_job_that_is_done_is_no_fault() -> None:
    assert "RUN424" not in play(ended(code=0), 20).ever()


def left_behind(age: float = 200.0, *, others_live: bool = True) -> Callable[[float], Changes]:
    """Rank 3 is gone, long ago where nothing else is said, and only its probe's page tells of it."""

    def script(second: float) -> Changes:
        page = msgspec.structs.replace(
            probe(VICTIM, second, "backward", age + 1),
            ended_monotonic_seconds=BEGAN - age,
            rank=VICTIM,
            world_size=GPUS,
            job_name="train.py",
        )
        return Changes(probes=(page,), without=(VICTIM,), without_job=not others_live)

    return script


def test_a_rank_that_died_before_anybody_looked_is_named() -> None:
    played = play(left_behind(), 3)
    assert reported(played) == {"RUN424": VICTIM}
    assert evidence(played.one("RUN424"), "ended by").value == (
        "nobody saw how; it has left its page"
    )
    assert reported(play(left_behind(4900.0), 3)) == {"RUN424": VICTIM}, "the others still wait"


def test_what_is_left_of_a_job_that_is_over_is_no_finding() -> None:
    assert reported(play(left_behind(others_live=False), 3)) == {}


@pytest.mark.parametrize("again", [True, False])
def test_a_rank_that_was_started_again_is_not_missed(again: bool) -> None:
    def script(second: float) -> Changes:
        page = msgspec.structs.replace(
            probe(VICTIM, second, "backward", 1.0), start_time_seconds=4000.0, rank=VICTIM
        )
        if second < FROM:
            first = {rank_pid(VICTIM): {"start_time_seconds": 4000.0}}
            return Changes(probes=(page,), processes=first)
        dead = msgspec.structs.replace(page, ended_monotonic_seconds=BEGAN + FROM)
        return Changes(probes=(dead,), without=() if again else (VICTIM,))

    assert reported(play(script, 10)) == ({} if again else {"RUN424": VICTIM})


def test_workers_of_the_scene_are_those_of_the_rank() -> None:
    played = play(stall(SLEEPING), 10)
    (job,) = played.last.frame.jobs
    assert job.ranks[VICTIM].workers == (worker_pid(VICTIM),)


@pytest.mark.parametrize(
    ("victim", "doing"),
    [
        ({"wait_channel": "hrtimer_nanosleep"}, "sleeps"),
        ({"wait_channel": "futex_do_wait"}, "sleeps"),
        ({"wait_channel": "inet_csk_accept"}, "waits for a socket or pipe"),
        ({"wait_channel": "do_wait"}, "waits for another program"),
        ({"state": "R", "cpu_seconds": 1e6}, "runs Python"),
    ],
)
def test_a_main_thread_that_sleeps_is_not_said_to_run(
    victim: Mapping[str, Any], doing: str
) -> None:
    (job,) = play(stall(victim, frames("job.py:main:6")), 10).last.frame.jobs
    assert (job.ranks[VICTIM].doing, job.ranks[VICTIM].place) == (doing, "main (job.py:6)")
