"""The summary that a person decides from: one labelled line for each question."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torch_neuron_sim.report import text
from torch_neuron_sim.report.compilations import Compilations
from torch_neuron_sim.report.device_time import DeviceTime
from torch_neuron_sim.report.formats import format_bytes, format_seconds, format_share, plural
from torch_neuron_sim.report.peaks import DeviceMemory
from torch_neuron_sim.report.recompiles import Multiplied
from torch_neuron_sim.report.timing import Times

if TYPE_CHECKING:
    from torch_neuron_sim.report.model import OpReport

SHOWN_SHAPES = 10
"""Operators with several compile keys that text and HTML list; to_dict() has all."""

MANY_STATICS = 4
"""Distinct static arguments from which on they list an operator of which no dimension varies on its own."""

SHOWN_DEVICES = 8
"""Devices that text and HTML list, those with the highest peak; to_dict() has all."""


def title(report: "OpReport") -> str:
    return f"Operators on neuron ({report.instance}, coverage {report.coverage})"


def lines(report: "OpReport") -> list[str]:
    """``label: text``; what the report does not know has no line."""
    verdict = report.verdict
    found = [f"here: {verdict.here}"]
    if not report.rows:
        return [*found, "nothing ran"]
    found += [f"on the real device: {verdict.explanation}", f"basis: {verdict.basis}"]
    found += text.totals(report.rows)
    if report.int64_overflows:
        found.append(f"int64: {report.int64_overflows} values beyond 32 bits; the real device may narrow them")
    if report.compilations is not None:
        found.append(f"compile keys: {_keys(report.compilations)}")
    if report.memory:
        found.append(f"peak memory: {_peaks(report.memory)}")
    if report.time is not None:
        found.append(f"wall time here: {_time(report.time)}")
    if report.device_time is not None:
        found.append(f"estimated time on the device: {_device_time(report.device_time)}")
    return found


def shapes(report: "OpReport") -> list[Multiplied]:
    """The operators whose compile keys are worth a look, not those with a few keys for a few layers."""
    found = [each for each in report.multiplied if each.value_count or each.statics >= MANY_STATICS]
    return found[:SHOWN_SHAPES]


def split(found: Sequence[str]) -> list[tuple[str, str]]:
    """Label and text of each line."""
    return [(label, rest) if rest else ("", label) for label, _, rest in (line.partition(": ") for line in found)]


def _keys(compilations: Compilations) -> str:
    parts = [f"{compilations.distinct} distinct"]
    if compilations.compiled != compilations.distinct:
        parts.append(plural(compilations.compiled, "compilation"))
    if compilations.loaded:
        parts.append(f"{compilations.loaded} found on disk")
    if compilations.evictions:
        parts.append(plural(compilations.evictions, "eviction"))
    if compilations.dropped:
        parts.append(f"{compilations.dropped} of them beyond those kept for the report")
    return ", ".join(parts)


def _peaks(memory: Sequence[DeviceMemory]) -> str:
    """The devices with the highest peaks, by index."""
    chosen = sorted(memory, key=lambda each: -each.peak_bytes)[:SHOWN_DEVICES]
    parts = [_peak(each) for each in sorted(chosen, key=lambda each: each.device)]
    if len(memory) > len(chosen):
        parts.append(f"{plural(len(memory) - len(chosen), 'device')} with a lower peak")
    return "; ".join(parts)


def _peak(memory: DeviceMemory) -> str:
    stack = "" if memory.devices_per_stack == 1 else f", shared by {memory.devices_per_stack} devices"
    sampled = ", the largest of samples" if memory.sampled else ""
    capacity = format_bytes(memory.capacity_bytes)
    return f"neuron:{memory.device} {format_bytes(memory.peak_bytes)} of {capacity}{stack}{sampled}"


def _time(time: Times) -> str:
    if time.last_compilation == time.begin:
        return f"{format_seconds(time.wall_s)}, all of it steady state: no new compile key"
    first, steady = format_seconds(time.first_run_s), format_seconds(time.steady_s)
    return (
        f"{format_seconds(time.wall_s)}: first run {first} (up to the last new compile key), steady state {steady} "
        "(after it)"
    )


def _device_time(time: DeviceTime) -> str:
    busy = max(time.busy_ns, 1)
    shares = ", ".join(f"{bound} {format_share(ns, busy)}" for bound, ns in list(time.ns_by_bound.items())[:4])
    elapsed, operators = format_seconds(time.elapsed_ns / 1e9), format_seconds(time.busy_ns / 1e9)
    found = (
        f"{elapsed}, without the program's own work on the host; operators {operators} (bound by {shares}), "
        f"{format_share(time.mfu, 1)} of the peak flops of a device"
    )
    untimed = sum(op.untimed_calls for op in time.untimed)
    return f"{found}; {plural(untimed, 'call')} not in the model" if untimed else found
