"""Makes PyTorch know the device: its name, its module, its operators and the policies that the environment asks for."""

import torch
from torch.utils.backend_registration import generate_methods_for_privateuse1_backend, rename_privateuse1_backend

from torch_neuron_sim import (
    _C,
    _shutdown,
    batching,
    data_parallel,
    dlpack,
    dynamo,
    flops,
    multiprocessing,
    printing,
    profiler,
)
from torch_neuron_sim.compat import distributed
from torch_neuron_sim.composites import COMPOSITES


def register() -> None:
    """Registers the device ``neuron``; at most once in a process.

    Whatever the environment can get wrong is looked at first, before PyTorch is told anything: ValueError names the
    variable and its legal values.
    """
    _C.topology()
    _C.time_enabled()
    from torch_neuron_sim import compat, compile_cache, coverage
    from torch_neuron_sim.coverage import compute_dtypes, costs
    from torch_neuron_sim.hardware import active
    from torch_neuron_sim.tracking import policies, warnings

    values = policies.environment_values()
    table = coverage.table_from_environment()
    cache_settings = compile_cache.settings_from_environment()
    alias = compat.alias_from_environment()

    active.install()
    coverage.apply(table)
    compute_dtypes.apply()
    _C.set_unrecorded(coverage.UNRECORDED)
    operators = _operator_names()
    _C.register_ops(operators)
    costs.install([*operators, *_C.hand_registered()])
    _C.register_nested_ops(_nested_operator_names())
    _C.set_warning_hook(warnings.emit)
    for policy, value in values.items():
        policy.write(value)
    compile_cache.apply(cache_settings)

    rename_privateuse1_backend("neuron")
    from torch_neuron_sim import neuron

    torch._register_device_module("neuron", neuron)  # type: ignore[no-untyped-call]
    generate_methods_for_privateuse1_backend(
        for_tensor=True, for_module=True, for_packed_sequence=False, for_storage=True
    )
    printing.install()
    multiprocessing.install()
    dlpack.install()
    dynamo.install()
    flops.install()
    batching.install()
    profiler.install()
    distributed.install()
    data_parallel.install()
    if alias:
        compat.install_alias()
    _shutdown.install()


def _operator_names() -> list[str]:
    """The operators that run through the generic launch: those of aten that have a CPU kernel, and COMPOSITES.

    Operators of other libraries reach it through the backend fallback. What this torch lacks, the launch leaves out.
    """
    by_hand = set(_C.hand_registered())
    with_cpu_kernel = torch._C._dispatch_get_registrations_for_dispatch_key("CPU")
    return sorted(
        {name for name in (*with_cpu_kernel, *COMPOSITES) if name.startswith("aten::") and name not in by_hand}
    )


def _nested_operator_names() -> list[str]:
    """The operators that CPU has a kernel for nested tensors for."""
    names = torch._C._dispatch_get_registrations_for_dispatch_key("NestedTensorCPU")
    return sorted(name for name in names if name.startswith("aten::"))
