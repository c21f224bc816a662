"""What the rules about the NVLinks of a GPU have in common."""

from __future__ import annotations

from ...probes.model.gpu_frames import GpuFrame, NvlinkFrame
from ..finding import Subject, Verdict
from ..rule import GpuRule, Scene
from ._subjects import nvlink_subject


class NvlinkRule(GpuRule):
    """Judges the links of each GPU that has any."""

    needs = ("nvlinks",)
    hold_seconds = 0.0

    def subject_of(self, gpu: GpuFrame) -> Subject:
        return nvlink_subject(gpu)

    def judge_gpu(self, gpu: GpuFrame, scene: Scene) -> Verdict:
        links = gpu.nvlinks or ()
        subject = self.subject_of(gpu)
        if not links:
            return Verdict(subject=subject, holds=False)
        return self.judge_links(gpu, links, subject, scene)

    def judge_links(
        self, gpu: GpuFrame, links: tuple[NvlinkFrame, ...], subject: Subject, scene: Scene
    ) -> Verdict:
        """The verdict about a GPU with these links."""
        raise NotImplementedError
