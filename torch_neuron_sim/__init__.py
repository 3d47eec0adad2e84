"""Runs PyTorch programs written for AWS Trainium (TorchNeuron, eager mode) on a CPU machine.

Once torch is imported, ``device="neuron"`` works and ``torch.neuron`` is the device module: torch loads this package by
itself. An explicit import does the same where ``TORCH_DEVICE_BACKEND_AUTOLOAD=0`` forbids that, and raises when the
device cannot be provided: ImportError for the wrong torch, for an installed ``torch_neuronx`` and for a package without
its extension; ValueError for an environment variable with a bad value.
"""

import sys
from importlib.machinery import PathFinder
from pathlib import Path

__version__ = "0.1.0"

if PathFinder.find_spec(f"{__name__}._C", __path__) is None:
    # This is the source tree, which Python finds first when it runs in the repository. It has no extension unless built
    # in place: the parts come from the installed package then.
    _root = Path(__file__).resolve().parent.parent
    _installed = PathFinder.find_spec(__name__, [entry for entry in sys.path if Path(entry).resolve() != _root])
    if _installed is not None and _installed.submodule_search_locations is not None:
        __path__ = list(_installed.submodule_search_locations)


def _autoload() -> None:
    """What torch calls at the end of its own import."""
    from torch_neuron_sim import _startup

    _startup.finish_autoload()


# Imports this package again, through _autoload, which therefore has to exist by now.
import torch  # noqa: E402, F401

from torch_neuron_sim import _startup  # noqa: E402

if _startup.start():
    from torch_neuron_sim import hardware, neuron
    from torch_neuron_sim.compat import install_alias
    from torch_neuron_sim.compile_cache import recompile_limit
    from torch_neuron_sim.coverage import coverage_name, load_coverage
    from torch_neuron_sim.dynamo import CompileWarning
    from torch_neuron_sim.report import OpReport, op_report
    from torch_neuron_sim.tracking import (
        FallbackWarning,
        Float64Warning,
        RecompileWarning,
        UnsupportedWarning,
        clear_op_tracking,
        fallback_policy,
        float64_policy,
        get_executed_ops,
        get_fallback_ops,
        record,
        rng_mode,
    )

__all__ = [
    "CompileWarning",
    "FallbackWarning",
    "Float64Warning",
    "OpReport",
    "RecompileWarning",
    "UnsupportedWarning",
    "clear_op_tracking",
    "coverage_name",
    "fallback_policy",
    "float64_policy",
    "get_executed_ops",
    "get_fallback_ops",
    "hardware",
    "install_alias",
    "load_coverage",
    "neuron",
    "op_report",
    "recompile_limit",
    "record",
    "rng_mode",
]
