from __future__ import annotations

from ...probes.model.job_frames import JobFrame
from ..finding import Evidence, Subject, Verdict, compared
from ..progress import is_unsettled
from ..rule import WORK, JobRule, Scene, Threshold
from ._thread_pools import Crowd, crowd_of, pool_setting


class CoresOversubscribed(JobRule):
    """Cores oversubscribed.

    Meaning:
        The job has cores enough for its ranks and loader workers, and fills them itself with more
        threads than there are cores: nothing tells the thread pools of its ranks (OpenMP, MKL) how many
        to make, so each makes one per core of the node. Its main threads are ready to run and wait.
    Impact:
        The share that is shown is what the main threads wait for a core; launches and batches come that
        much later. Threads of a pool that lack a core hold up all others of it, which spin meanwhile.
    Diagnosis:
        The processes screen shows the threads of each process and the cores that it keeps busy. Cores
        that others take are told as such (HST111), and so is a quota (HST110): then these are at fault.
    Mitigation:
        OMP_NUM_THREADS = cores of the node / ranks on it (torchrun sets 1, which suits most jobs on GPUs),
        or torch.set_num_threads in the program; the same for MKL_NUM_THREADS. In loader workers
        cv2.setNumThreads(0), and num_threads=1 of whatever decodes.
    """

    id = "HST131"
    name = "cores oversubscribed"
    short = "over-threaded"
    severity = "warning"
    thresholds = {
        "threads_per_core": Threshold(2.0, "count", "ours: threads over cores x 2"),
        "run_delay_ratio": Threshold(0.10, "ratio", "ours; of the time of the main threads"),
        "own_ratio": Threshold(0.75, "ratio", "as HST111: of its cores, that the job itself fills"),
        "others_ratio": Threshold(0.25, "ratio", "as HST111: of its cores, that others use"),
        "throttled_ratio": Threshold(0.05, "ratio", "as HST110: then its quota keeps it waiting"),
        "system_cores": Threshold(4.0, "cores", "as HST111: for the system"),
    }
    look_seconds = 2.0
    explains = ("HW210", "HW211", "INP701", "INP703", "RUN436")
    explains_waits_in = WORK
    next_step = "Set OMP_NUM_THREADS to the cores of the node divided by the ranks on it."

    def judge_job(self, job: JobFrame, subject: Subject, scene: Scene) -> Verdict:
        if any(map(is_unsettled, job.ranks)):
            return Verdict(subject=subject, holds=None, unknown_because="it does not train now")
        crowd = crowd_of(job, scene, self.limit["throttled_ratio"])
        if isinstance(crowd, str):
            return Verdict(subject=subject, holds=None, unavailable=crowd)
        if crowd.delay is None or crowd.used is None:
            why = "whether its main threads wait for a core is not known"
            return Verdict(subject=subject, holds=None, unknown_because=why, unavailable=why)
        if not (self._crowded(crowd) and self._by_itself(crowd)):
            return Verdict(subject=subject, holds=False)
        pool = pool_setting(job, scene.frame, crowd.available)
        if pool is None:
            return Verdict(subject=subject, holds=False)
        if isinstance(pool, str):
            return Verdict(subject=subject, holds=None, unknown_because=pool)
        return self._verdict(crowd, pool, job, subject)

    def _crowded(self, crowd: Crowd) -> bool:
        many = crowd.threads > self.limit["threads_per_core"] * crowd.available
        return many and (crowd.delay or 0.0) >= self.limit["run_delay_ratio"]

    def _by_itself(self, crowd: Crowd) -> bool:
        """Its cores would do, it fills them, and neither a quota nor a neighbor keeps it off."""
        if crowd.narrow or crowd.available < crowd.needed + self.limit["system_cores"]:
            return False  # too few cores is told of that
        if crowd.throttled or (crowd.used or 0.0) < self.limit["own_ratio"] * crowd.available:
            return False
        return crowd.others is None or crowd.others < self.limit["others_ratio"] * crowd.available

    def _verdict(
        self, crowd: Crowd, pool: tuple[str, str], job: JobFrame, subject: Subject
    ) -> Verdict:
        name, value = pool
        each = max(1, int(crowd.available // len(job.ranks)))
        return Verdict(
            subject=subject,
            holds=True,
            evidence=(
                compared("run_delay_ratio", crowd.delay, self.limit["run_delay_ratio"], "ratio"),
                Evidence(
                    signal="threads",
                    value=float(crowd.threads),
                    unit="count",
                    threshold=self.limit["threads_per_core"] * crowd.available,
                    comparison=">",
                ),
                Evidence(
                    signal="available_cpu_cores",
                    label="cores available",
                    value=crowd.available,
                    unit="cores",
                ),
                compared(
                    "used_cpu_cores",
                    crowd.used,
                    self.limit["own_ratio"] * crowd.available,
                    "cores",
                    label="cores used by the job",
                ),
                Evidence(
                    signal="others_cpu_cores",
                    label="cores used by others",
                    value=crowd.others,
                    unit="cores",
                ),
                Evidence(signal="rank_threads", value=float(crowd.most_threads), unit="count"),
                Evidence(signal="setting", value=f"{name}: {value}"),
            ),
            next_step=f"Start the job with {name}={each} (its cores divided by its ranks) or less.",
            lost_ratio=crowd.delay,
        )
