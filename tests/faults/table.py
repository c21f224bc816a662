"""All that is broken on purpose, what must hold all the same, and the test that breaks it."""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    """One kind of it."""

    broken: str
    holds: str
    test: str
    """File below ``tests`` and function; of ``bench`` where it takes minutes."""


DRIVER = (
    Fault(
        "the driver's library is not there, or does not load",
        "absent and broken are two sentences; the rest is read",
        "probes/sources/nvml/test_bad_state.py::test_a_library_that_does_not_load_is_not_absent",
    ),
    Fault(
        "nvmlInit fails with any code",
        "its code in words and what to do; tried again, each time later",
        "probes/sources/nvml/test_driver_faults.py::test_driver_that_refuses_to_start",
    ),
    Fault(
        "nvmlInit never returns",
        "the host and the keys go on",
        "probes/feeds/test_wedged.py::test_a_driver_that_blocks_from_the_start_leaves_the_host_and_the_keys",
    ),
    Fault(
        "any call of one GPU never returns",
        "the other GPUs stay fresh",
        "probes/collector/test_main.py::test_whatever_call_hangs_the_other_gpus_stay_fresh",
    ),
    Fault(
        "a call that is about no GPU never returns",
        "all GPUs stay fresh",
        "probes/collector/test_main.py::test_calls_that_are_about_no_gpu_may_hang_too",
    ),
    Fault(
        "a GPU whose calls hang from the very start",
        "a row with its age, and a finding; --once and diagnose exit 1",
        "tui/commands/test_bad_gpus.py::test_a_gpu_that_never_answered_is_a_row_and_a_finding",
    ),
    Fault(
        "all GPUs hang from the very start",
        "rows, and exit code 2: nothing was read",
        "tui/commands/test_bad_gpus.py::test_where_no_gpu_ever_answered_there_are_rows_and_nothing_was_read",
    ),
    Fault(
        "a handle or call fails with any code, at start or midway",
        "the GPU is named with its number, code and remedy",
        "probes/sources/nvml/test_bad_state.py::test_every_code_midway",
    ),
    Fault(
        "no permission for any GPU",
        "nothing was looked at: exit code 2",
        "tui/commands/test_bad_gpus.py::test_where_all_is_refused_nothing_was_looked_at",
    ),
    Fault(
        "a GPU falls off the bus while it is watched, and returns",
        "its row stays and comes back with values",
        "probes/sources/nvml/test_faults.py::test_gpu_lost_while_running_keeps_its_row_and_returns",
    ),
    Fault(
        "the driver is unloaded and loaded again",
        "fresh handles; each chip keeps its number",
        "probes/sources/nvml/test_driver_faults.py::test_driver_that_goes_comes_back_with_fresh_handles",
    ),
    Fault(
        "values of any type in the union of a field",
        "that value is missing with a reason, and nothing else",
        "probes/sources/nvml/test_value_types.py",
    ),
    Fault(
        "absurd values: 0 W of limit, a clock of 0, 65535 %",
        "missing, with what was reported",
        "probes/sources/nvml/test_faults.py::test_absurd_values_are_none_with_what_was_reported",
    ),
    Fault(
        "16 to 300 fields and GPUs at a time, drawn",
        "no frame is cut and nothing ends",
        "tui/app/test_terminal.py::test_absurd_nodes_are_drawn",
    ),
    Fault(
        "100,000 corrupt values of the driver",
        "no traceback, no end",
        "bench/test_damage.py::test_values_of_the_driver",
    ),
)
MONITOR = (
    Fault(
        "the collector is killed (SIGKILL, as the OOM killer does)",
        "another one, asked for the same",
        "probes/feeds/test_restart.py::test_killed_collectors_are_replaced_by_ones_asked_for_the_same",
    ),
    Fault(
        "the collector is killed and hangs in the driver",
        "no second one beside it",
        "probes/feeds/test_restart.py::test_one_that_was_killed_but_hangs_is_the_only_one",
    ),
    Fault(
        "the collector cannot be killed (state D)",
        "q ends at once; what is left behind is named",
        "probes/feeds/test_wedged.py::test_a_collector_that_cannot_be_killed_is_left_behind_and_named",
    ),
    Fault(
        "the front end is killed",
        "the collector ends with it",
        "probes/collector/test_main.py::test_it_does_not_outlive_a_front_end_that_is_killed",
    ),
    Fault(
        "a source raises, cannot be imported, or ends the interpreter",
        "it alone is left out, with a sentence",
        "probes/collector/test_registry.py::test_a_source_that_ends_the_interpreter_where_it_is_made_is_only_left_out",
    ),
    Fault(
        "one message that cannot be decoded",
        "said once; the next ones are shown",
        "probes/feeds/test_unreadable_message.py::test_the_ones_after_it_are_shown_and_it_is_said_once",
    ),
    Fault(
        "any bytes on the wire, cut anywhere",
        "one sentence, never a wrong value",
        "probes/wire/test_codec.py::test_no_body_does_more_than_raise_wire_error",
    ),
    Fault(
        "the monitor is stopped (SIGSTOP) and continued",
        "silence counts from then on",
        "tui/session/test_silence.py::test_after_it_was_stopped_silence_counts_from_then_on",
    ),
    Fault(
        "beside ten busy processes a core",
        "'this monitor gets no CPU', and never 'hangs'",
        "tui/test_starved.py",
    ),
    Fault(
        "no further process or thread may be started (RLIMIT_NPROC)",
        "one sentence that says whose limit it is",
        "tui/test_process_limit.py",
    ),
    Fault(
        "the clock is set by an hour, either way",
        "rates, ages and findings do not notice",
        "tui/test_harsh_machines.py::test_a_clock_that_is_set_while_it_watches",
    ),
    Fault(
        "a rule raises",
        "it alone is left out, and it is said",
        "rules/test_engine.py::test_a_rule_that_breaks_is_left_out_and_the_others_go_on",
    ),
    Fault(
        "samples of any values",
        "no rule, price, account or screen ends",
        "rules/test_wild_samples.py::test_no_value_ends_anything",
    ),
    Fault(
        "a day of new processes, jobs and pages, four a second",
        "memory, descriptors and threads stay bounded",
        "bench/test_soak.py::test_a_day_of_churn",
    ),
    Fault(
        "half an hour of the same",
        "the same",
        "tui/session/test_churn.py::test_half_an_hour_of_churn_is_bounded",
    ),
)
NODE = (
    Fault(
        "1500 zombies below one process",
        "all GPUs and processes are listed",
        "tui/test_harsh_machines.py::test_a_storm_of_zombies_hides_nothing",
    ),
    Fault(
        "/proc is mounted with hidepid",
        "'hidden from you', and never 'there is no such process'",
        "tui/test_harsh_machines.py::test_a_process_that_proc_hides_is_not_said_to_be_gone",
    ),
    Fault(
        "a process ends while it is read",
        "it is dropped, and nothing else",
        "probes/sources/processes/test_live.py::test_one_that_ends_while_it_is_read_is_dropped",
    ),
    Fault(
        "a pid comes back as another process",
        "it is not taken for the one that was asked for",
        "attach/test_odd_targets.py::test_a_pid_that_came_back_is_not_taken_for_the_one_that_was_asked_for",
    ),
    Fault(
        "a program takes the place of another (exec)",
        "it is seen",
        "probes/sources/processes/test_live.py::test_a_program_that_took_the_place_of_another_is_seen",
    ),
    Fault(
        "4,000 processes on the node",
        "attaching takes no longer than is told",
        "attach/test_odd_targets.py::test_four_thousand_processes_on_the_node",
    ),
    Fault(
        "jobs in other pid, mount and user namespaces",
        "found under their pids here",
        "attach/test_odd_targets.py::test_a_job_in_other_namespaces",
    ),
    Fault(
        "a directory service that hangs",
        "users are numbers until it answers",
        "probes/sources/procfs/test_users.py::test_a_directory_service_that_hangs_is_not_waited_for",
    ),
    Fault(
        "processes in uninterruptible sleep",
        "what could hang is not read",
        "probes/sources/processes/test_source.py::test_what_could_hang_is_not_read_in_uninterruptible_sleep",
    ),
    Fault(
        "names, commands and hosts with control, bidi and line-separator characters",
        "no screen, report or JSON carries them raw",
        "tui/test_hostile_texts.py",
    ),
    Fault(
        "command lines, logs and environments with keys",
        "no way out tells them",
        "probes/test_secrets_stay.py::test_no_way_out_tells_them",
    ),
    Fault(
        "py-spy is missing, mad, or hangs",
        "it is said which, and none of its processes stays",
        "probes/sources/stacks/test_bad_py_spy.py",
    ),
    Fault(
        "NCCL's RAS port is silent, drips, floods, or is another service",
        "one sentence within its time",
        "probes/sources/nccl_ras/test_protocol.py",
    ),
    Fault(
        "100,000 corrupt files of /proc and /sys",
        "missing with a reason",
        "bench/test_damage.py::test_values_of_files",
    ),
)
JOB = (
    Fault(
        "a page of any bytes, cut to any length, changed while it is read",
        "a sensible reading or one line",
        "probes/sources/page/test_hostile.py",
    ),
    Fault(
        "100,000 corrupt pages",
        "no traceback, no end",
        "bench/test_damage.py::test_pages",
    ),
    Fault(
        "/dev/shm is full, read-only or not there",
        "the job runs on without a page, and says why",
        "probes/inprocess/test_life.py::test_with_no_place_left_the_job_runs_on",
    ),
    Fault(
        "/dev/shm fills up later",
        "no job is killed",
        "probes/inprocess/test_life.py::test_a_tmpfs_that_is_filled_later_kills_nobody",
    ),
    Fault(
        "the job forks, execs, is stopped or killed",
        "its page is its own, and evidence after its death",
        "probes/inprocess/test_life.py",
    ),
    Fault(
        "any number of half-open clients on the probe's socket",
        "the next one is heard",
        "probes/inprocess/test_control.py::test_any_number_of_half_open_clients_does_not_shut_out_the_next",
    ),
    Fault(
        "somebody else's socket or directory in its place",
        "not trusted",
        "probes/inprocess/test_control.py::test_somebody_else_s_socket_in_its_place_is_refused",
    ),
    Fault(
        "a hook of the probe costs too much, or goes wrong",
        "it goes off alone, and it is said",
        "probes/inprocess/test_cost.py",
    ),
    Fault(
        "targets that cannot be attached to: static, 32-bit, Python 2, PyPy, stopped, ending",
        "one sentence each, and nothing left behind",
        "attach/test_odd_targets.py",
    ),
)
FILES = (
    Fault(
        "a recording cut anywhere, with flipped bits, or forged",
        "at most the hit block is lost",
        "probes/recording/test_segment.py",
    ),
    Fault(
        "10,000 cuts and flipped bits",
        "no traceback and no wrong value",
        "bench/test_recording.py::test_ten_thousand_damages",
    ),
    Fault(
        "the disk is full while it records",
        "what is whole opens; it goes on when there is room",
        "probes/recording/test_writer.py::test_when_there_is_room_again_it_goes_on",
    ),
    Fault(
        "the folder of a recording is removed, or its disk hangs",
        "nobody waits, and it is said",
        "probes/recording/test_writer.py::test_a_disk_that_hangs_keeps_nobody_waiting",
    ),
    Fault(
        "a recording is killed (SIGKILL)",
        "no more than the last block is lost",
        "tui/commands/test_record.py::test_killed_it_loses_no_more_than_the_last_block",
    ),
    Fault(
        "home, temporary files and working directory are read-only",
        "what looks works; what writes is one sentence",
        "tui/test_harsh_machines.py::test_nowhere_to_write",
    ),
    Fault(
        "an evidence capsule that does not fit on the disk",
        "one sentence and no half file",
        "tui/commands/test_capture.py::test_a_disk_without_room",
    ),
    Fault(
        "half-open clients of the exporter",
        "the next scrape is answered",
        "tui/commands/test_serve.py::test_half_open_clients_keep_nobody_out",
    ),
)
GROUPS = {
    "The driver": DRIVER,
    "The monitor itself": MONITOR,
    "The node": NODE,
    "The job and its probe": JOB,
    "Files and sockets": FILES,
}
FAULTS = tuple(fault for group in GROUPS.values() for fault in group)
