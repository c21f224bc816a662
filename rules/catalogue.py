"""All rules, in the order of their ids. An id is given once and never used again."""

from __future__ import annotations

from collections.abc import Mapping

from .device.beyond_repair import BeyondRepair
from .device.clock_stuck_low import ClockStuckLow
from .device.correctable_errors_often import CorrectableErrorsOften
from .device.driver_not_answering import DriverNotAnswering
from .device.fan_stopped import FanStopped
from .device.gpu_in_bad_state import GpuInBadState
from .device.gpu_lost import GpuLost
from .device.hardware_slowdown import HardwareSlowdown
from .device.nvswitch_error import NvswitchError
from .device.pages_retired import PagesRetired
from .device.power_cap import PowerCap
from .device.recovery_action import RecoveryAction
from .device.row_remap_pending import RowRemapPending
from .device.thermal_slowdown import ThermalSlowdown
from .device.uncorrectable_memory_error import UncorrectableMemoryError
from .device.utilization_low import UtilizationLow
from .device.utilization_without_work import UtilizationWithoutWork
from .device.xid import Xid
from .distributed.all_ranks_wait import AllRanksWait
from .distributed.checkpoint_cost import CheckpointCost
from .distributed.checkpoint_holds_others import CheckpointHoldsOthers
from .distributed.collective_mismatch import CollectiveMismatch
from .distributed.communication_bound import CommunicationBound
from .distributed.compile_holds_others import CompileHoldsOthers
from .distributed.evaluation_holds_others import EvaluationHoldsOthers
from .distributed.evaluation_share import EvaluationShare
from .distributed.garbage_collection import GarbageCollection
from .distributed.interpreter_contention import InterpreterContention
from .distributed.launch_bound import LaunchBound
from .distributed.load_imbalance import LoadImbalance
from .distributed.long_work_holds_others import LongWorkHoldsOthers
from .distributed.outlier_steps import OutlierSteps
from .distributed.pipeline_bubble import PipelineBubble
from .distributed.rank_exited import RankExited
from .distributed.rank_finished import RankFinished
from .distributed.rank_not_advancing import RankNotAdvancing
from .distributed.rank_stopped import RankStopped
from .distributed.recompilation import Recompilation
from .distributed.skipped_steps import SkippedSteps
from .distributed.slow_first_step import SlowFirstStep
from .distributed.start_up_holds_others import StartUpHoldsOthers
from .distributed.step_time_grown import StepTimeGrown
from .distributed.straggler import Straggler
from .distributed.synchronization_points import SynchronizationPoints
from .distributed.throughput_varies import ThroughputVaries
from .distributed.uneven_micro_steps import UnevenMicroSteps
from .environment.other_tenant import OtherTenant
from .environment.persistence_mode_off import PersistenceModeOff
from .environment.slow_settings import SlowSettings
from .environment.split_gpu_misfit import SplitGpuMisfit
from .environment.tensor_cores_unused import TensorCoresUnused
from .host.cores_oversubscribed import CoresOversubscribed
from .host.cpu_throttling import CpuThrottling
from .host.disk_error import DiskError
from .host.file_server_silent import FileServerSilent
from .host.loader_deadlock import LoaderDeadlock
from .host.numa_misplacement import NumaMisplacement
from .host.open_files_near_limit import OpenFilesNearLimit
from .host.process_in_d_state import ProcessInDState
from .host.rank_blocked_in_io import RankBlockedInIo
from .host.shared_memory_nearly_full import SharedMemoryNearlyFull
from .host.stuck_in_kernel import StuckInKernel
from .host.swapping_in import SwappingIn
from .host.too_few_cores import TooFewCores
from .input.copies_to_device_slow import CopiesToDeviceSlow
from .input.input_bound import InputBound
from .input.loader_cpu_bound import LoaderCpuBound
from .input.loader_io_bound import LoaderIoBound
from .input.loader_without_workers import LoaderWithoutWorkers
from .input.loader_workers_die import LoaderWorkersDie
from .input.network_file_system_slow import NetworkFileSystemSlow
from .input.pageable_copies import PageableCopies
from .input.periodic_loader_stall import PeriodicLoaderStall
from .link.collectives_over_ethernet import CollectivesOverEthernet
from .link.fabric_impaired import FabricImpaired
from .link.imex_down import ImexDown
from .link.job_split_across_islands import JobSplitAcrossIslands
from .link.nvlink_down import NvlinkDown
from .link.nvlink_errors import NvlinkErrors
from .link.nvlink_refused import NvlinkRefused
from .link.pcie_bus_error import PcieBusError
from .link.pcie_link_degraded import PcieLinkDegraded
from .link.pcie_replays import PcieReplays
from .link.rdma_adapter_fault import RdmaAdapterFault
from .link.rdma_congestion import RdmaCongestion
from .link.rdma_port_down import RdmaPortDown
from .link.rdma_rate_degraded import RdmaRateDegraded
from .link.rdma_retransmissions import RdmaRetransmissions
from .link.rdma_signal_errors import RdmaSignalErrors
from .link.rdma_silent import RdmaSilent
from .link.tcp_retransmissions import TcpRetransmissions
from .memory.allocation_retries import AllocationRetries
from .memory.device_memory_nearly_full import DeviceMemoryNearlyFull
from .memory.host_memory_limit import HostMemoryLimit
from .memory.killed_for_memory import KilledForMemory
from .memory.memory_creep import MemoryCreep
from .memory.memory_fragmented import MemoryFragmented
from .memory.memory_held_by_no_process import MemoryHeldByNoProcess
from .memory.near_out_of_memory import NearOutOfMemory
from .memory.out_of_memory_kill import OutOfMemoryKill
from .memory.uneven_memory import UnevenMemory
from .rule import Rule

RULES: tuple[type[Rule], ...] = (
    ProcessInDState,
    SwappingIn,
    CpuThrottling,
    TooFewCores,
    LoaderDeadlock,
    NumaMisplacement,
    RankBlockedInIo,
    OpenFilesNearLimit,
    SharedMemoryNearlyFull,
    DiskError,
    FileServerSilent,
    StuckInKernel,
    CoresOversubscribed,
    ThermalSlowdown,
    PowerCap,
    ClockStuckLow,
    UncorrectableMemoryError,
    RowRemapPending,
    Xid,
    HardwareSlowdown,
    GpuLost,
    DriverNotAnswering,
    UtilizationLow,
    UtilizationWithoutWork,
    FanStopped,
    GpuInBadState,
    RecoveryAction,
    BeyondRepair,
    NvswitchError,
    CorrectableErrorsOften,
    PagesRetired,
    DeviceMemoryNearlyFull,
    MemoryHeldByNoProcess,
    AllocationRetries,
    MemoryCreep,
    MemoryFragmented,
    NearOutOfMemory,
    UnevenMemory,
    HostMemoryLimit,
    OutOfMemoryKill,
    KilledForMemory,
    CollectiveMismatch,
    AllRanksWait,
    RankNotAdvancing,
    Straggler,
    CheckpointHoldsOthers,
    EvaluationHoldsOthers,
    RankStopped,
    RankExited,
    CompileHoldsOthers,
    RankFinished,
    LongWorkHoldsOthers,
    StartUpHoldsOthers,
    CommunicationBound,
    CheckpointCost,
    EvaluationShare,
    GarbageCollection,
    Recompilation,
    SkippedSteps,
    StepTimeGrown,
    LaunchBound,
    UnevenMicroSteps,
    SynchronizationPoints,
    InterpreterContention,
    OutlierSteps,
    LoadImbalance,
    ThroughputVaries,
    PipelineBubble,
    SlowFirstStep,
    PcieLinkDegraded,
    PcieReplays,
    NvlinkDown,
    NvlinkErrors,
    JobSplitAcrossIslands,
    RdmaPortDown,
    RdmaRateDegraded,
    RdmaSignalErrors,
    RdmaCongestion,
    RdmaRetransmissions,
    RdmaSilent,
    CollectivesOverEthernet,
    TcpRetransmissions,
    NvlinkRefused,
    PcieBusError,
    RdmaAdapterFault,
    FabricImpaired,
    ImexDown,
    OtherTenant,
    SlowSettings,
    PersistenceModeOff,
    SplitGpuMisfit,
    TensorCoresUnused,
    InputBound,
    LoaderWithoutWorkers,
    LoaderCpuBound,
    LoaderIoBound,
    CopiesToDeviceSlow,
    NetworkFileSystemSlow,
    PeriodicLoaderStall,
    LoaderWorkersDie,
    PageableCopies,
)

FAMILIES: dict[str, str] = {
    "HST1": "host",
    "HW2": "device",
    "MEM3": "memory",
    "RUN4": "distributed",
    "LNK5": "link",
    "ENV6": "environment",
    "INP7": "input",
}
"""How the ids of a family begin → the folder of its rules."""


def make_rules(overrides: Mapping[str, Mapping[str, float]] | None = None) -> tuple[Rule, ...]:
    """An instance of each rule, with the thresholds of the settings where they give any.

    Args:
        overrides: rule id → threshold name → value, as `settings.load` returns them.
    """
    given = overrides or {}
    return tuple(rule(given.get(rule.id)) for rule in RULES)
