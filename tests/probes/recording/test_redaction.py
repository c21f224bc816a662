"""Samples without hosts, users, command lines and paths: none is left, and what belonged together still does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from msgspec import inspect

from gputop.probes.derive.frame import derive
from gputop.probes.model.frame import Frame
from gputop.probes.model.kernel_log import KernelLogReading
from gputop.probes.model.process_readings import ProcessReading
from gputop.probes.model.rank_readings import BlockedFile, StackFrameReading
from gputop.probes.model.sample import Sample
from gputop.probes.recording.redacted_fields import FIELDS
from gputop.probes.recording.redaction import LEFT_OUT, Redactor
from gputop.probes.simulator import SCENARIOS, SimulatedNode
from gputop.rules.catalogue import make_rules
from gputop.rules.engine import Engine
from gputop.rules.finding import Judgement

BEGAN = 1_790_000_000.0


def process(**fields: Any) -> ProcessReading:
    return ProcessReading(monotonic_seconds=1.0, pid=7, start_time_seconds=1.0, **fields)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("python", "/home/ann/train.py", "--lr", "3"), ("python", "path-1.py")),
        (("/opt/env/bin/python3.11", "-u", "train.py"), ("python3.11", "path-1.py")),
        (
            ("python", "-m", "torch.distributed.run", "t.py"),
            ("python", "-m", "torch.distributed.run"),
        ),
        (("python", "-m", "ann.train", "--x"), ("python", "-m", "path-1")),
        (("python", "-c", "import ann"), ("python", "-c", LEFT_OUT)),
        (("/usr/bin/torchrun", "--nproc", "8", "train.py"), ("torchrun",)),
        (("python", "/usr/bin/torchrun", "train.py"), ("python", "torchrun")),
        (("accelerate", "launch", "train.py"), ("accelerate", "launch")),
        (
            ("python", "train.py", "--local_rank=3", "--data", "/x"),
            ("python", "path-1.py", "--local_rank=3"),
        ),
        (("/home/ann/secret-tool", "--x"), ("program-1",)),
        (
            ("train-ann", "--rank", "3", "--world-size", "8", "--x", "5"),
            ("program-1", "--rank", "3", "--world-size", "8"),
        ),
        ((), ()),
    ],
)
def test_of_a_command_line_what_makes_it_a_rank_stays(
    before: tuple[str, ...], after: tuple[str, ...]
) -> None:
    assert Redactor().command(before) == after


def test_a_spawned_worker_is_still_one() -> None:
    code = "from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5)"
    found = Redactor().command(("python", "-c", code, "--multiprocessing-fork"))
    assert "multiprocessing" in found[2] and "tracker_fd" not in found[2]


def test_a_path_is_still_below_its_folder() -> None:
    redactor = Redactor()
    folder, file = redactor.path("/data/ann/set"), redactor.path("/data/ann/set/0001.tar")
    assert file.startswith(folder + "/") and file.endswith(".tar")
    assert not {"data", "ann", "set"} & set(file.split("/"))
    assert redactor.path("/dev/shm") == "/dev/shm"
    assert redactor.path("pipe:[77]") == "pipe:[77]"
    assert "nfs01" not in redactor.path("nfs01:/export")
    assert "10.1.2.3" not in redactor.path("10.1.2.3:2049")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("torch/nn/modules/module.py", "torch/nn/modules/module.py"),
        ("/home/ann/env/lib/python3.11/site-packages/torch/x.py", "site-packages/torch/x.py"),
        ("threading.py", "threading.py"),
        ("train.py", "path-1.py"),
        ("ann/probes/inprocess/probe.py", "probes/inprocess/probe.py"),
        ("<frozen importlib._bootstrap>", "<frozen importlib._bootstrap>"),
        ("</home/ann/cell>", "<code>"),
    ],
)
def test_of_a_stack_the_files_of_libraries_stay(before: str, after: str) -> None:
    assert Redactor().record(StackFrameReading(name="f", file=before)).file == after


def test_numbers_of_an_environment_stay_and_names_stay_the_same() -> None:
    redactor = Redactor()
    variables = {"RANK": "3", "CUDA_VISIBLE_DEVICES": "0,1", "MASTER_ADDR": "gpu17.example"}
    first = redactor.record(process(environment=variables)).environment
    second = redactor.record(process(environment={"MASTER_ADDR": "gpu17.example"})).environment
    assert (first["RANK"], first["CUDA_VISIBLE_DEVICES"]) == ("3", "0,1")
    assert "gpu17" not in first["MASTER_ADDR"]
    assert first["MASTER_ADDR"] == second["MASTER_ADDR"]
    assert "10.0" not in redactor.environment({"MASTER_ADDR": "10.0.0.1"})["MASTER_ADDR"]


def test_sentences_and_kernel_lines_go() -> None:
    event = KernelLogReading(
        kind="xid", code=79, subject="ann", command_name="ann-train", text="ann's"
    )
    sample = Sample(
        time_seconds=BEGAN,
        monotonic_seconds=1.0,
        sequence=1,
        node="gpu17",
        kernel_log=(event,),
        processes=(process(user="ann", missing={"environment": "it belongs to ann"}),),
    )
    found = Redactor().record(sample)
    assert (found.node, found.kernel_log[0].code, found.kernel_log[0].text) == ("host-1", 79, "")
    assert found.processes[0].missing == {"environment": LEFT_OUT}
    assert b"ann" not in msgspec.json.encode(found)


def test_a_reason_that_is_the_same_everywhere_stays() -> None:
    found = Redactor().record(process(missing={"environment": "no permission"}))
    assert found.missing == {"environment": "no permission"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("default", "default"),
        ("mesh_pp", "mesh_pp"),
        ("PIPELINE_MODEL_PARALLEL_GROUP", "PIPELINE_MODEL_PARALLEL_GROUP"),
        ("anns_project_pp_3", "group-1_pp_3"),
        ("anns", "group-1"),
    ],
)
def test_a_process_group_still_says_what_it_is_for(before: str, after: str) -> None:
    assert Redactor().group(before) == after


def test_what_is_blocked_on_a_file() -> None:
    blocked = BlockedFile(call="reads", path="/data/ann/x", mount_point="/data", device="nfs01:/e")
    found = Redactor().record(process(blocked_on=blocked)).blocked_on
    assert found is not None and found.mount_point is not None
    assert found.call == "reads" and found.path.startswith(found.mount_point + "/")
    assert b"nfs01" not in msgspec.json.encode(found)


def test_a_dump_of_the_flight_recorder() -> None:
    dump = {
        "version": "2.5",
        "pg_status": {"anns": {"p2p_seq_id": 3}},
        "pg_config": {"0": {"name": "default", "desc": "ann's group", "ranks": "[0, 1]"}},
        "entries": [
            {
                "profiling_name": "nccl:all_reduce",
                "state": "started",
                "input_sizes": [[3, 4]],
                "frames": [{"name": "train", "filename": "/home/ann/train.py", "line": 9}],
            }
        ],
    }
    found = Redactor().flight_recorder(dump)
    assert "ann" not in str(found)
    for kept in ("'nccl:all_reduce'", "[[3, 4]]", "'line': 9", "'started'", "'p2p_seq_id': 3"):
        assert kept in str(found)


def _text_fields(kind: type, seen: set[type]) -> Iterator[tuple[str, str]]:
    """Each field of a record, and of those in it, in which a text may stand."""
    seen.add(kind)
    for field in msgspec.structs.fields(kind):
        pending, texts = [inspect.type_info(field.type)], False
        while pending:
            each = pending.pop()
            texts |= isinstance(each, inspect.StrType)
            for name in ("item_type", "key_type", "value_type"):
                pending += filter(None, [getattr(each, name, None)])
            for name in ("types", "item_types"):
                pending += getattr(each, name, ())
            inner = getattr(each, "cls", None)
            if isinstance(each, inspect.StructType) and inner not in seen:
                yield from _text_fields(each.cls, seen)
        if texts and field.name != "missing":
            yield kind.__name__, field.name


def test_somebody_has_thought_about_each_text_of_a_sample() -> None:
    """A new one is dropped until its row in `redacted_fields` says otherwise."""
    there = set(_text_fields(Sample, set()))
    assert there - FIELDS.keys() == set()
    assert FIELDS.keys() - there == set()


def judged(samples: list[Sample]) -> Judgement:
    engine = Engine(make_rules())
    frame: Frame | None = None
    judgement: Judgement | None = None
    for sample in samples:
        frame = derive(frame, sample)
        judgement = engine.judge(frame)
    assert judgement is not None
    return judgement


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_same_is_found_in_it(scenario: str) -> None:
    node, redactor = SimulatedNode(scenario, start_time_seconds=BEGAN), Redactor()
    samples = [node.sample_at(float(second)) for second in range(-40, 1, 4)]
    whole, hidden = judged(samples), judged([redactor.record(each) for each in samples])
    for each in (whole, hidden):
        assert each.frame.jobs or scenario in ("orphan-memory", "job-ends")
    found, kept = (
        sorted((each.id, each.subject.kind, each.state) for each in judgement.findings)
        for judgement in (whole, hidden)
    )
    assert kept == found
    assert [len(job.ranks) for job in whole.frame.jobs] == [
        len(job.ranks) for job in hidden.frame.jobs
    ]
