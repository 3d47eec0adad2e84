"""Every public name of TorchNeuron's eager mode is there, by the name under which its snapshot has it."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest

MEMORY = """
memory_stats memory_allocated max_memory_allocated memory_reserved max_memory_reserved memory_summary
reset_peak_memory_stats reset_accumulated_memory_stats empty_cache
"""
STREAMS = "Stream Event stream current_stream default_stream set_stream"

NAMES = {
    "torch_neuronx": f"""
        is_neuron_runtime_initialized device_count current_device set_device get_device_properties synchronize
        get_fallback_ops get_executed_ops clear_op_tracking {STREAMS} StreamContext device {MEMORY}
        get_dynamo_metrics reset_dynamo_metrics nki_op wrap_nki NeuronProfiler _get_device_index __version__
        distributed neuron profiling python_ops memory streams metrics utils _C
        """,
    "torch_neuronx.neuron": f"""
        is_initialized is_available init device_count current_device set_device device synchronize _is_in_bad_fork
        get_device_name get_device_properties get_amp_supported_dtype is_bf16_supported manual_seed manual_seed_all seed
        seed_all initial_seed get_rng_state set_rng_state {STREAMS} wait_stream wait_event record_event query {MEMORY}
        memory _sleep get_dynamo_metrics reset_dynamo_metrics _lazy_init
        """,
    "torch_neuronx.memory": MEMORY,
    "torch_neuronx.streams": f"{STREAMS} StreamContext",
    "torch_neuronx.metrics": """
        is_enabled set_enabled get_counter_names get_counter_value get_metric_names get_metric_data report
        report_filtered clear_counters clear_metrics clear_all get_compilation_metrics
        """,
    "torch_neuronx.profiling": "NeuronProfiler",
    "torch_neuronx.distributed": "",
    "torch_neuronx.python_ops": "",
    "torch_neuronx.utils": "",
    "torch_neuronx._C": """
        version _get_compilation_cache_stats _clear_compilation_cache _clear_compilation_memory_cache _log_executed_op
        _log_offloaded_op
        """,
}
CLASSES = {
    "torch_neuronx.Stream": """
        stream_id device_index device_type device priority query synchronize wait_event wait_stream record_event
        """,
    "torch_neuronx.Event": "record wait query synchronize elapsed_time device",
    "torch_neuronx.NeuronProfiler": "start stop is_active get_pytorch_trace export_pytorch_trace __enter__ __exit__",
}


@pytest.mark.parametrize("module", NAMES)
def test_module_has_its_names(alias: None, module: str) -> None:
    found = importlib.import_module(module)
    assert [name for name in NAMES[module].split() if not hasattr(found, name)] == []


@pytest.mark.parametrize("path", CLASSES)
def test_class_has_its_names(torch_neuronx: ModuleType, path: str) -> None:
    module, _, name = path.rpartition(".")
    instance = getattr(importlib.import_module(module), name)()
    assert [attribute for attribute in CLASSES[path].split() if not hasattr(instance, attribute)] == []
