"""MIG: the instances into which a GPU is split, each with its own memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...model.gpu_readings import MigReading
from .call import Answer, Calls, Fields
from .fast_values import read_memory
from .units import text, word

_MOST_INSTANCES = 16
_INSTANCES_SECONDS = 10.0


class _Instance:
    """One MIG device and what does not change about it."""

    def __init__(self, index: int, uuid: str, calls: Calls) -> None:
        self.index = index
        self.uuid = uuid
        self.calls = calls
        self.name = calls.ask("nvmlDeviceGetName").then(text).value
        self.gpu_instance = calls.ask("nvmlDeviceGetGpuInstanceId").then(word).value
        self.compute_instance = calls.ask("nvmlDeviceGetComputeInstanceId").then(word).value
        attributes = calls.ask("nvmlDeviceGetAttributes")
        self.multiprocessors = attributes.then(lambda found: word(found.multiprocessorCount)).value

    def reading(self) -> MigReading:
        memory = Fields()
        read_memory(self.calls, memory)
        return MigReading(
            index=self.index,
            uuid=self.uuid,
            name=self.name,
            gpu_instance=self.gpu_instance,
            compute_instance=self.compute_instance,
            memory_used_bytes=memory.values.get("memory_used_bytes"),
            memory_total_bytes=memory.values.get("memory_total_bytes"),
            multiprocessors=self.multiprocessors,
        )


class Migs:
    """The MIG instances of one GPU. Used from one thread."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._instances: list[_Instance] = []
        self._looked_at: float | None = None

    def read(self, calls: Calls, fields: Fields) -> None:
        """All instances that there are now."""
        now = self._clock()
        if self._looked_at is None or now - self._looked_at >= _INSTANCES_SECONDS:
            found = self._find(calls)
            if found.value is None:
                fields.absent(found.reason, "migs")
                return
            self._instances = found.value
            self._looked_at = now
        fields.values["migs"] = tuple(instance.reading() for instance in self._instances)

    def _find(self, calls: Calls) -> Answer[list[_Instance]]:
        known = {instance.uuid: instance for instance in self._instances}
        most = calls.ask("nvmlDeviceGetMaxMigDeviceCount").then(word)
        if most.value is None:
            return Answer(None, most.reason)
        found: list[_Instance] = []
        for index in range(min(most.value, _MOST_INSTANCES)):
            handle = _handle(calls, index)
            if handle is None:
                continue
            its_calls = Calls(calls.nvml, handle, self._clock)
            uuid = its_calls.ask("nvmlDeviceGetUUID").then(text).value or ""
            instance = known.get(uuid) if uuid else None
            if instance is None or instance.index != index:
                instance = _Instance(index, uuid, its_calls)
            instance.calls.handle = handle
            found.append(instance)
        return Answer(found)


def _handle(calls: Calls, index: int) -> Any:
    """``None`` where that place is free, which the driver calls Not Found."""
    before = calls.failure
    handle = calls.ask("nvmlDeviceGetMigDeviceHandleByIndex", index).value
    if handle is None:
        calls.failure = before
    return handle
