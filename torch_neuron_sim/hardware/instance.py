"""The simulated instance: what it consists of, and what is known of each device."""

from __future__ import annotations

from dataclasses import dataclass

from torch_neuron_sim import _C
from torch_neuron_sim.device import Device, device_index
from torch_neuron_sim.hardware.active import chip


@dataclass(frozen=True)
class Hardware:
    """The simulated instance in a few figures."""

    instance: str  # e.g. trn2.3xlarge
    chip: str  # the family, e.g. trn2
    device_count: int  # visible logical NeuronCores
    devices_per_stack: int  # logical cores that share one HBM stack: 1 for those of two physical ones, else 2
    stack_bytes: int  # HBM of one stack


@dataclass(frozen=True, repr=False)
class NeuronDeviceProperties:
    """A device. TorchNeuron's own has name and total_memory; the repr shows these."""

    name: str  # the instance family, e.g. trn2
    total_memory: int  # bytes that the device can use; a stack that two devices share counts in full for both
    chip_name: str  # e.g. Trainium2
    core_name: str  # e.g. NeuronCore-v3
    physical_cores: int  # of this device: LNC
    logical_core: int  # number of the device among all logical cores of the instance
    chip_index: int
    hbm_stack: int  # number of its stack among all of the instance
    shares_memory_with: tuple[int, ...]  # other devices of the same stack
    memory_bandwidth: float  # bytes/s that the device's cores can sustain to HBM
    sbuf_bytes: int  # on-chip memory of its cores together, not one pool
    psum_bytes: int  # accumulators, likewise
    peak_flops: dict[str, float]  # flop/s of its Tensor engines: float32, bfloat16, float8

    def __repr__(self) -> str:
        return f"<NeuronDeviceProperties(name={self.name!r}, total_memory={self.total_memory})>"


@dataclass(frozen=True)
class LogicalCore:
    """A logical NeuronCore of the instance, which is a device if the process sees it."""

    index: int  # among those of the instance
    physical_cores: tuple[int, ...]
    device: int | None  # the N of neuron:N; None when the process does not see it


@dataclass(frozen=True)
class Stack:
    """A stack of HBM, and the logical cores that use it."""

    index: int
    memory_bytes: int
    cores: tuple[LogicalCore, ...]


@dataclass(frozen=True)
class ChipNode:
    """A chip of the instance."""

    index: int
    name: str
    stacks: tuple[Stack, ...]

    @property
    def cores(self) -> tuple[LogicalCore, ...]:
        """All of its cores."""
        return tuple(core for stack in self.stacks for core in stack.cores)


@dataclass(frozen=True)
class Tree:
    """The instance as chips, stacks and cores."""

    instance: str
    lnc: int
    chips: tuple[ChipNode, ...]

    @property
    def cores(self) -> tuple[LogicalCore, ...]:
        """All of its cores."""
        return tuple(core for node in self.chips for core in node.cores)


def hardware() -> Hardware:
    """The simulated instance."""
    topology = _C.topology()
    return Hardware(
        topology["instance"],
        topology["family"],
        topology["device_count"],
        topology["devices_per_stack"],
        topology["stack_bytes"],
    )


def tree() -> Tree:
    """The instance as chips, their HBM stacks, and the logical cores at each."""
    topology = _C.topology()
    lnc, per_stack = topology["lnc"], topology["devices_per_stack"]
    first, count = topology["first_core"], topology["device_count"]
    visible = range(first, first + count)
    cores = [
        LogicalCore(index, tuple(range(index * lnc, (index + 1) * lnc)), index - first if index in visible else None)
        for index in range(topology["logical_cores"])
    ]
    stacks = [
        Stack(index, topology["stack_bytes"], tuple(cores[start : start + per_stack]))
        for index, start in enumerate(range(0, len(cores), per_stack))
    ]
    per_chip = topology["cores_per_chip"] // (lnc * per_stack)
    nodes = [
        ChipNode(index, chip().name, tuple(stacks[start : start + per_chip]))
        for index, start in enumerate(range(0, len(stacks), per_chip))
    ]
    return Tree(topology["instance"], lnc, tuple(nodes))


def get_device_properties(device: Device = None) -> NeuronDeviceProperties:
    """Properties of a device (default: the current one). Starts the runtime; ValueError for an index out of range."""
    index = device_index(device)
    _C.init()
    topology = _C.topology()
    lnc, core = topology["lnc"], topology["first_core"] + index
    stack = core // topology["devices_per_stack"]
    others = (
        other - topology["first_core"]
        for other in range(stack * topology["devices_per_stack"], (stack + 1) * topology["devices_per_stack"])
        if other != core
    )
    figures, model = chip(), _C.chip()
    return NeuronDeviceProperties(
        name=topology["family"],
        total_memory=topology["stack_bytes"],
        chip_name=figures.name,
        core_name=figures.core,
        physical_cores=lnc,
        logical_core=core,
        chip_index=core * lnc // topology["cores_per_chip"],
        hbm_stack=stack,
        shares_memory_with=tuple(other for other in others if 0 <= other < topology["device_count"]),
        memory_bandwidth=lnc * model["memory_bandwidth"] * 1e9,
        sbuf_bytes=int(lnc * figures.amount("sbuf")),
        psum_bytes=int(lnc * figures.amount("psum")),
        peak_flops={
            dtype: lnc * figures.amount(f"core_peak_{short}") * 1e9
            for dtype, short in (("float32", "fp32"), ("bfloat16", "bf16"), ("float8", "fp8"))
        },
    )
