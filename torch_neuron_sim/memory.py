"""Device memory: statistics in bytes of what tensors hold and what the caching allocator keeps."""

from typing import Any

import torch

from torch_neuron_sim import _C
from torch_neuron_sim.device import Device, device_index
from torch_neuron_sim.report.text import format_bytes

_NESTED = ("allocated_bytes", "reserved_bytes", "active_bytes")
_METRICS = ("current", "peak", "allocated", "freed")


def memory_stats(device: Device = None) -> dict[str, Any]:
    """The statistics of torch.accelerator.memory_stats, e.g. ``stats["allocated_bytes.all.current"]``, and the older
    form that TorchNeuron gave them, e.g. ``stats["allocated_bytes"]["current"]``.
    """
    flat: dict[str, Any] = torch.accelerator.memory_stats(device_index(device))
    return {
        **flat,
        **{name: {metric: flat.get(f"{name}.all.{metric}", 0) for metric in _METRICS} for name in _NESTED},
        "num_alloc_retries": flat.get("num_alloc_retries", 0),
        "num_ooms": flat.get("num_ooms", 0),
        "num_tensor_frees": flat.get("allocation.all.freed", 0),
        "allocation_requests": flat.get("allocation.all.allocated", 0),
    }


def memory_allocated(device: Device = None) -> int:
    """Bytes that tensors hold."""
    return torch.accelerator.memory_allocated(device_index(device))


def max_memory_allocated(device: Device = None) -> int:
    """The most bytes that tensors held since the start or reset_peak_memory_stats()."""
    return torch.accelerator.max_memory_allocated(device_index(device))


def memory_reserved(device: Device = None) -> int:
    """Bytes that the caching allocator has taken from the device."""
    return torch.accelerator.memory_reserved(device_index(device))


def max_memory_reserved(device: Device = None) -> int:
    """The most bytes that the caching allocator had taken."""
    return torch.accelerator.max_memory_reserved(device_index(device))


def scratch_stats(device: Device = None) -> dict[str, int]:
    """Bytes that kernels use within one operator: ``current`` and ``peak``. Counted apart from what tensors hold."""
    return _C.scratch_stats(device_index(device))


def mem_get_info(device: Device = None) -> tuple[int, int]:
    """Free and total bytes of the HBM stack that the device uses."""
    return _C.memory_info(device_index(device))


def reset_peak_memory_stats(device: Device = None) -> None:
    """Sets every peak to the current value."""
    torch.accelerator.reset_peak_memory_stats(device_index(device))


def reset_accumulated_memory_stats(device: Device = None) -> None:
    """Sets the totals allocated and freed to zero."""
    torch.accelerator.reset_accumulated_memory_stats(device_index(device))


def empty_cache() -> None:
    """Gives cached blocks of all devices back."""
    _C.empty_cache()


def memory_summary(device: Device = None, abbreviated: bool = False) -> str:
    """The statistics as a table; ``abbreviated`` leaves out the two pools."""
    index = device_index(device)
    stats = memory_stats(index)
    rows: list[tuple[str, ...]] = [("Memory", "Current", "Peak", "Total allocated", "Total freed")]
    for name in _NESTED:
        for pool in ("all",) if abbreviated else ("all", "small_pool", "large_pool"):
            label = name.removesuffix("_bytes") if pool == "all" else f"  {pool.replace('_', ' ')}"
            rows.append((label, *(format_bytes(stats.get(f"{name}.{pool}.{metric}", 0)) for metric in _METRICS)))
    scratch = scratch_stats(index)
    rows.append(("scratch", format_bytes(scratch["current"]), format_bytes(scratch["peak"]), "", ""))
    lines = [f"{label:<16}{''.join(f'{cell:>17}' for cell in cells)}".rstrip() for label, *cells in rows]
    rule = "=" * max(len(line) for line in lines)
    counts = f"{stats['num_alloc_retries']} allocation retries, {stats['num_ooms']} out-of-memory errors"
    title = f"Neuron Memory Summary, Device {index}"
    return "\n".join([rule, title, rule, lines[0], "-" * len(rule), *lines[1:], rule, counts])
