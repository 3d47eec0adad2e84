"""What ran where, and what the user wants to happen when it is not the device."""

from torch_neuron_sim.tracking.operations import clear_op_tracking, get_executed_ops, get_fallback_ops, record
from torch_neuron_sim.tracking.policies import fallback_policy, float64_policy, rng_mode
from torch_neuron_sim.tracking.warnings import FallbackWarning, Float64Warning, RecompileWarning, UnsupportedWarning

__all__ = [
    "FallbackWarning",
    "Float64Warning",
    "RecompileWarning",
    "UnsupportedWarning",
    "clear_op_tracking",
    "fallback_policy",
    "float64_policy",
    "get_executed_ops",
    "get_fallback_ops",
    "record",
    "rng_mode",
]
