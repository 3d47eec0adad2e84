"""The module ``torch.neuron``: what PyTorch and programs call on the device."""

from typing import Any

from torch_neuron_sim import amp, memory, random, streams
from torch_neuron_sim.amp import get_amp_supported_dtype, is_bf16_supported
from torch_neuron_sim.device import (
    _get_device_index,
    _is_in_bad_fork,
    _sleep,
    current_device,
    device,
    device_count,
    device_of,
    get_device_name,
    init,
    is_available,
    is_initialized,
    set_device,
    synchronize,
)
from torch_neuron_sim.device import init as _lazy_init
from torch_neuron_sim.dynamo import get_dynamo_metrics, reset_dynamo_metrics
from torch_neuron_sim.hardware import get_device_properties
from torch_neuron_sim.memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_stats,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
    scratch_stats,
)
from torch_neuron_sim.random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from torch_neuron_sim.streams import (
    Event,
    Stream,
    StreamContext,
    current_stream,
    default_stream,
    query,
    record_event,
    set_stream,
    stream,
    wait_event,
    wait_stream,
)

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "_get_device_index",
    "_is_in_bad_fork",
    "_lazy_init",
    "_sleep",
    "amp",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_amp_supported_dtype",
    "get_device_name",
    "get_device_properties",
    "get_dynamo_metrics",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "query",
    "random",
    "record_event",
    "reset_accumulated_memory_stats",
    "reset_dynamo_metrics",
    "reset_peak_memory_stats",
    "scratch_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "streams",
    "synchronize",
    "wait_event",
    "wait_stream",
]


def __getattr__(name: str) -> Any:
    if name == "default_generators":
        return random.default_generators()
    if name == "_initialized":  # read by torch.utils.checkpoint
        return is_initialized()
    raise AttributeError(f"module 'torch.neuron' has no attribute {name!r}")
