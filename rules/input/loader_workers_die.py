from __future__ import annotations

from ...probes.model.job_frames import JobFrame
from ...probes.model.worker_history import WorkerHistory
from ..finding import Evidence, Severity, Subject, Verdict, compared
from ..price_reasons import NOT_KNOWN_HOW_MUCH
from ..rule import JobRule, Scene, Threshold

_MOST_NAMED = 4
_STEPS: dict[str, str] = {
    "SIGKILL": "They were killed, as a rule for want of memory: dmesg, or give the container more.",
    "SIGBUS": "They were killed by SIGBUS: give the container a larger /dev/shm (--shm-size, --ipc=host).",
    "SIGSEGV": "They crash in native code: run the data set with num_workers=0 under python -X faulthandler.",
}


class LoaderWorkersDie(JobRule):
    """Loader workers die.

    Meaning:
        Workers of the job's DataLoader end by a signal or with an error, or leave alone while those of
        their age go on, and others come in their place, within ten minutes. All workers that leave
        together, as at the end of each epoch, are not counted.
    Impact:
        The batches that a dead worker had begun are lost, and the loop waits until new ones have started
        and filled the queue: seconds each time, with imports and opened files. A job that does not
        catch the error ends with it.
    Diagnosis:
        What ended them is shown where it was seen. SIGKILL is mostly the kernel's for want of memory
        (dmesg), SIGBUS a full /dev/shm, SIGSEGV a library; an exit code is an exception in the data set,
        whose traceback is in the job's own output.
    Mitigation:
        Fewer workers or a smaller prefetch_factor where memory is short, a larger /dev/shm, and skip or
        mend the sample on which they die; do not restart them over and over.
    """

    id = "INP708"
    name = "loader workers die"
    short = "workers die"
    severity = "warning"
    severities = ("info", "warning")
    unpriced = NOT_KNOWN_HOW_MUCH
    thresholds = {
        "info_count": Threshold(2.0, "count", "ours; one alone may be chance"),
        "warning_count": Threshold(5.0, "count", "datapath-doctor: 5 restarts"),
    }
    hold_seconds = 0.0
    look_seconds = 3.0
    explains = ("HW210", "INP701", "RUN407", "RUN436", "RUN441", "RUN443")
    next_step = "Look in the job's output and in dmesg for what ended its loader workers."

    def judge_job(self, job: JobFrame, subject: Subject, scene: Scene) -> Verdict:
        histories = [
            (rank, scene.frame.worker_history(rank.pid, rank.start_time_seconds))
            for rank in job.ranks
        ]
        found = [(rank, each) for rank, each in histories if each is not None and _deaths(each)]
        count = float(sum(_deaths(history) for _, history in found))
        if count < self.limit["info_count"]:
            return Verdict(subject=subject, holds=False)
        severity: Severity = "warning" if count >= self.limit["warning_count"] else "info"
        last = next((each.last_end for _, each in found if each.last_end), "")
        names = [f"r{rank.rank}" for rank, _ in found if rank.rank is not None]
        named = ", ".join(names[:_MOST_NAMED]) + (" and others" if len(names) > _MOST_NAMED else "")
        return Verdict(
            subject=subject,
            holds=True,
            severity=severity,
            evidence=(
                compared(
                    "worker_deaths",
                    count,
                    self.limit[f"{severity}_count"],
                    "count",
                    label="deaths in 10 minutes",
                ),
                *((Evidence(signal="ended_by", value=last),) if last else ()),
                *((Evidence(signal="ranks_of_workers", label="of", value=named),) if named else ()),
            ),
            next_step=_STEPS.get(last),
        )


def _deaths(history: WorkerHistory) -> int:
    """Three witnesses may have seen the same ones."""
    return max(len(history.replaced), len(history.killed), len(history.failed))
