"""What the cost model says that a program takes on the device (docs/hardware.md): an estimate."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from torch_neuron_sim import _C


@dataclass(frozen=True)
class OpTime:
    """Of one operator."""

    op: str  # the dispatcher's full name
    calls: int
    untimed_calls: int  # the cost model has no class for the operator: their time is not in ns
    ns: int  # on the device, launch included; of a fallback, its transfers and the synchronisation
    flops: float  # a multiply-add counts as two
    bytes: float  # between HBM and the cores, or device and host
    ns_by_bound: Mapping[str, int]  # by what decides: memory, tensor, vector, scalar, gpsimd, latency, host

    @property
    def flops_per_s(self) -> float:
        """Over the time of its calls; 0 without one."""
        return self.flops / self.ns * 1e9 if self.ns else 0.0

    @property
    def bytes_per_s(self) -> float:
        """Over the time of its calls; 0 without one."""
        return self.bytes / self.ns * 1e9 if self.ns else 0.0


@dataclass(frozen=True)
class DeviceTime:
    """Of a period."""

    elapsed_ns: int  # on the simulated clocks of host and devices; the program's own work on the host takes none
    ops: tuple[OpTime, ...]  # what takes longest first
    peak_flops: float  # of one device in bfloat16, per second: the chip's published figure, shared by its cores
    peak_bandwidth: float  # of one device's memory, in bytes per second

    @property
    def busy_ns(self) -> int:
        """The sum of all operators, also of those that overlap."""
        return sum(op.ns for op in self.ops)

    @property
    def ns_by_bound(self) -> dict[str, int]:
        """By what decides an operator's time, the largest first."""
        total: dict[str, int] = {}
        for op in self.ops:
            for bound, ns in op.ns_by_bound.items():
                total[bound] = total.get(bound, 0) + ns
        return dict(sorted(total.items(), key=lambda item: -item[1]))

    @property
    def mfu(self) -> float:
        """Model flops utilisation: the cost model's flops over what one device's peak gives in the elapsed time."""
        flops = sum(op.flops for op in self.ops)
        return flops / (self.elapsed_ns * 1e-9 * self.peak_flops) if self.elapsed_ns else 0.0

    @property
    def bandwidth(self) -> float:
        """Bytes per second between HBM and the cores, while operators were on the device; transfers left out."""
        on_device = [op for op in self.ops if set(op.ns_by_bound) - {"host"}]
        ns = sum(op.ns for op in on_device)
        return sum(op.bytes for op in on_device) / ns * 1e9 if ns else 0.0

    @property
    def untimed(self) -> tuple[OpTime, ...]:
        """Operators without a class, whose time is not known."""
        return tuple(op for op in self.ops if op.untimed_calls)

    def minus(self, earlier: "DeviceTime") -> "DeviceTime":
        """What was counted since ``earlier``, without a clear in between."""
        before = {op.op: op for op in earlier.ops}
        return _made(
            self, self.elapsed_ns - earlier.elapsed_ns, [_combined(op, before.get(op.op), -1) for op in self.ops]
        )

    def plus(self, later: "DeviceTime") -> "DeviceTime":
        """Two periods together."""
        ops = {op.op: op for op in self.ops}
        for op in later.ops:
            ops[op.op] = _combined(op, ops.get(op.op), 1)
        return _made(self, self.elapsed_ns + later.elapsed_ns, list(ops.values()))


def read() -> DeviceTime | None:
    """Since op tracking was cleared; None with TORCH_NEURON_SIM_TIME=0. The elapsed time counts from the start."""
    if not _C.time_enabled():
        return None
    from torch_neuron_sim import hardware

    chip, lnc = hardware.chip(), _C.topology()["lnc"]
    ops = [OpTime(**row) for row in _C.time_totals()]
    whole = DeviceTime(
        _clock(),
        (),
        chip.amount("peak_bf16") * 1e9 / chip.amount("cores") * lnc,
        _C.chip()["memory_bandwidth"] * 1e9 * lnc,
    )
    return _made(whole, whole.elapsed_ns, ops)


def _clock() -> int:
    """When the host and the default streams are done, in simulated ns since the start."""
    if not _C.is_initialized():
        return 0
    return max(_C.clock_host_now(), *(_C.clock_stream_end(device, 0) for device in range(_C.device_count())))


def _made(like: DeviceTime, elapsed_ns: int, ops: list[OpTime]) -> DeviceTime:
    kept = sorted((op for op in ops if op.calls), key=lambda op: (-op.ns, op.op))
    return replace(like, elapsed_ns=elapsed_ns, ops=tuple(kept))


def _combined(op: OpTime, other: OpTime | None, sign: int) -> OpTime:
    if other is None:
        return op
    by_bound = dict(op.ns_by_bound)
    for bound, ns in other.ns_by_bound.items():
        by_bound[bound] = by_bound.get(bound, 0) + sign * ns
    return OpTime(
        op.op,
        op.calls + sign * other.calls,
        op.untimed_calls + sign * other.untimed_calls,
        op.ns + sign * other.ns,
        op.flops + sign * other.flops,
        op.bytes + sign * other.bytes,
        {bound: ns for bound, ns in by_bound.items() if ns},
    )
