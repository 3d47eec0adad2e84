"""The names of ``torch_neuronx``, and what each of them is here. This is the only list of them.

TorchNeuron snapshot, torch_neuronx/__init__.py, memory.py, streams.py, neuron.py, metrics.py, profiling.py.
"""

from importlib import import_module
from typing import Any

NAME = "torch_neuronx"

# Attribute of torch_neuronx -> the module that it is.
SUBMODULES = {
    "_C": "torch_neuron_sim.compat.extension",
    "distributed": "torch_neuron_sim.compat.distributed",
    "memory": "torch_neuron_sim.memory",
    "metrics": "torch_neuron_sim.metrics",
    "neuron": "torch_neuron_sim.neuron",
    "profiling": "torch_neuron_sim.compat.profiling",
    "python_ops": "torch_neuron_sim.compat.python_ops",
    "streams": "torch_neuron_sim.streams",
    "utils": "torch_neuron_sim.compat.utils",
}

# The module that has them -> attributes of torch_neuronx.
TOP_LEVEL = {
    "torch_neuron_sim.compat.device": ("is_neuron_runtime_initialized", "set_device"),
    "torch_neuron_sim.compat.nki": ("nki_op", "wrap_nki"),
    "torch_neuron_sim.compat.profiling": ("NeuronProfiler",),
    "torch_neuron_sim.device": (
        "_get_device_index",
        "current_device",
        "device",
        "device_count",
        "synchronize",
    ),
    "torch_neuron_sim.dynamo": ("get_dynamo_metrics", "reset_dynamo_metrics"),
    "torch_neuron_sim.hardware": ("get_device_properties",),
    "torch_neuron_sim.memory": (
        "empty_cache",
        "max_memory_allocated",
        "max_memory_reserved",
        "memory_allocated",
        "memory_reserved",
        "memory_stats",
        "memory_summary",
        "reset_accumulated_memory_stats",
        "reset_peak_memory_stats",
    ),
    "torch_neuron_sim.streams": (
        "Event",
        "Stream",
        "StreamContext",
        "current_stream",
        "default_stream",
        "set_stream",
        "stream",
    ),
    "torch_neuron_sim.tracking": ("clear_op_tracking", "get_executed_ops", "get_fallback_ops"),
}


def attributes() -> dict[str, Any]:
    """What ``torch_neuronx`` holds, without its submodules."""
    return {name: getattr(import_module(module), name) for module, names in TOP_LEVEL.items() for name in names}
