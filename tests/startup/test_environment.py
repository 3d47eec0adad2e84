"""Bad values of environment variables: the error names the variable and what is legal, and torch itself goes on."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

RunPython = Callable[..., "subprocess.CompletedProcess[str]"]

INSTANCES = ("trn2.3xlarge", "trn2.48xlarge", "trn2u.48xlarge", "trn3-gen1", "trn3-gen2")

# Variable: a bad value, and the legal ones that the error has to name.
BAD = {
    "TORCH_NEURON_SIM_COVERAGE": ("snapshot-1999", ("snapshot-2026-04", "all", "path")),
    "TORCH_NEURON_SIM_FALLBACK": ("loud", ("warn", "silent", "error")),
    "TORCH_NEURON_SIM_FLOAT64": ("true", ("warn", "silent", "error", "exact")),
    "TORCH_NEURON_SIM_RNG": ("philox", ("shared", "device")),
    "TORCH_NEURON_SIM_INSTANCE": ("trn1.2xlarge", INSTANCES),
    "TORCH_NEURON_SIM_DEVICES": ("0", ("1", "128")),
    "TORCH_NEURON_SIM_HBM_GIB": ("24GB", ("GiB", "0.25")),
    "NEURON_LOGICAL_NC_CONFIG": ("4", ("1", "2")),
}

# What an explicit import raises, the second time as the first; torch is without the device.
REFUSED = """
import torch
texts = set()
for _ in range(2):
    assert (torch.ones(3) + 1).tolist() == [2, 2, 2]
    assert not hasattr(torch, "neuron") and torch.accelerator.current_accelerator() is None
    try:
        import torch_neuron_sim
    except ValueError as error:
        texts.add(str(error))
    else:
        raise AssertionError("imported")
(text,) = texts
print(text)
"""

# The same, then with a legal value.
CORRECTED = """
import os
os.environ.pop({variable!r})
import torch_neuron_sim
assert torch.ones(3, device="neuron").sum() == 3
"""


def names_variable_value_and_legal_values(text: str, variable: str) -> None:
    value, legal = BAD[variable]
    for each in (variable, value, *legal):
        assert each in text


@pytest.mark.parametrize("variable", BAD)
def test_bad_value_is_a_value_error_that_names_what_is_legal(fresh_python: RunPython, variable: str) -> None:
    done = fresh_python(REFUSED, {variable: BAD[variable][0]})
    assert done.returncode == 0, done.stderr
    names_variable_value_and_legal_values(done.stdout, variable)


# One that C++ reads, one that Python reads, one that names a file.
@pytest.mark.parametrize(
    "variable", ["TORCH_NEURON_SIM_DEVICES", "TORCH_NEURON_SIM_FALLBACK", "TORCH_NEURON_SIM_COVERAGE"]
)
def test_bad_value_is_a_warning_under_autoload_and_torch_goes_on(autoloading_python: RunPython, variable: str) -> None:
    done = autoloading_python(REFUSED, {variable: BAD[variable][0]})
    assert done.returncode == 0, done.stderr
    (warning,) = (line for line in done.stderr.splitlines() if "Warning" in line)
    for text in (warning, done.stdout):
        names_variable_value_and_legal_values(text, variable)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("TORCH_NEURON_SIM_DEVICES", "129"),
        ("TORCH_NEURON_SIM_DEVICES", "-1"),
        ("TORCH_NEURON_SIM_DEVICES", "2.5"),
        ("TORCH_NEURON_SIM_DEVICES", "two"),
        ("TORCH_NEURON_SIM_HBM_GIB", "0"),
        ("TORCH_NEURON_SIM_HBM_GIB", "-24"),
        ("TORCH_NEURON_SIM_HBM_GIB", "nan"),
        ("TORCH_NEURON_SIM_HBM_GIB", "inf"),
        ("TORCH_NEURON_SIM_HBM_GIB", "1025"),
        ("TORCH_NEURON_SIM_FALLBACK", "WARN"),
        ("TORCH_NEURON_SIM_INSTANCE", "TRN2.3XLARGE"),
    ],
)
def test_bad_value_is_a_value_error_and_may_be_corrected(fresh_python: RunPython, variable: str, value: str) -> None:
    done = fresh_python(REFUSED + CORRECTED.format(variable=variable), {variable: value})
    assert done.returncode == 0, done.stderr
    assert variable in done.stdout
    assert value in done.stdout


def test_coverage_file_with_a_bad_line_is_named_with_variable_and_line(fresh_python: RunPython, tmp_path: Path) -> None:
    table = tmp_path / "mine.tsv"
    table.write_text("op\troute\trecorded_as\trefuses\tsource\naten::no_such_op\tnative\t\t\tme\n")
    done = fresh_python(REFUSED, {"TORCH_NEURON_SIM_COVERAGE": str(table)})
    assert done.returncode == 0, done.stderr
    for text in ("TORCH_NEURON_SIM_COVERAGE", f"{table}:2", "aten::no_such_op"):
        assert text in done.stdout


def test_legal_values_are_in_force_and_empty_ones_are_the_defaults(fresh_python: RunPython) -> None:
    code = """
import torch_neuron_sim as sim
print(sim.coverage_name(), sim.fallback_policy(), sim.float64_policy(), sim.rng_mode(), sim.neuron.device_count(),
      sim.neuron.get_device_properties().total_memory)
"""
    values = {
        "TORCH_NEURON_SIM_COVERAGE": "all",
        "TORCH_NEURON_SIM_FALLBACK": "silent",
        "TORCH_NEURON_SIM_FLOAT64": "exact",
        "TORCH_NEURON_SIM_RNG": "device",
        "TORCH_NEURON_SIM_DEVICES": "2",
        "TORCH_NEURON_SIM_HBM_GIB": "0.5",
    }
    assert fresh_python(code, values).stdout.split() == ["all", "silent", "exact", "device", "2", str(2**29)]
    defaults = ["snapshot-2026-04", "warn", "warn", "shared", "4", str(24 * 2**30)]
    assert fresh_python(code, dict.fromkeys(values, "")).stdout.split() == defaults
