"""Chip files: every constant of the cost model with its unit, source and assumption."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch_neuron_sim.hardware.units import number, quantity, unit

# What each constant measures; a chip file has exactly these.
DIMENSIONS: Mapping[str, str] = {
    "cores": "count",
    "hbm_stacks": "count",
    "hbm_stack_memory": "memory",
    "hbm_bandwidth": "bandwidth",
    "peak_fp32": "compute",
    "peak_bf16": "compute",
    "peak_fp8": "compute",
    "partitions": "count",
    "sbuf": "memory",
    "psum": "memory",
    "dma_bandwidth": "bandwidth",
    "core_peak_fp32": "compute",
    "core_peak_bf16": "compute",
    "core_peak_fp8": "compute",
    "tensor_clock": "frequency",
    "vector_clock": "frequency",
    "scalar_clock": "frequency",
    "gpsimd_clock": "frequency",
    "tensor_rows": "elements",
    "tensor_rows_fp8": "elements",
    "tensor_stationary": "elements",
    "tensor_moving": "elements",
    "tensor_fp32_passes": "ratio",
    "tensor_transpose_cycles": "cycles",
    "tensor_ramp_window": "time",
    "tensor_ramp_rate": "ratio",
    "instruction_cycles": "cycles",
    "vector_scalar_width_16bit": "width",
    "vector_scalar_width_8bit": "width",
    "vector_scalar_width": "width",
    "vector_tensor_cycles_16bit": "cycles per element",
    "vector_tensor_cycles": "cycles per element",
    "vector_reduce_width_16bit": "width",
    "vector_scan_cycles": "cycles per element",
    "reciprocal_cycles": "cycles per element",
    "exp_speedup": "ratio",
    "gpsimd_start_cycles": "cycles",
    "gpsimd_int64_passes": "ratio",
    "gpsimd_rows_per_cycle": "width",
    "topk_cycles": "cycles per element",
    "dma_latency": "time",
    "dma_saturation_bytes": "memory",
    "dma_half_rate_bytes": "memory",
    "dma_transpose_rate": "ratio",
    "host_bandwidth": "bandwidth",
    "host_latency": "time",
    "launch_latency": "time",
    "host_issue": "time",
    "synchronise": "time",
    "cold_compile": "time",
}

# What the instance decides, not the cost model.
_OF_THE_INSTANCE = ("cores", "hbm_stacks", "hbm_stack_memory")
# Quoted by others (as denominators of utilisation), used by no formula.
_QUOTED = ("peak_fp32", "peak_bf16", "peak_fp8", "psum", "core_peak_fp32", "core_peak_bf16", "core_peak_fp8")
# Combined into memory_bandwidth.
_COMBINED = ("hbm_bandwidth", "dma_bandwidth")
_RENAMED = {"sbuf": "sbuf_bytes"}
_SHIPPED = Path(__file__).parent


@dataclass(frozen=True)
class Constant:
    """One figure of a chip, as its file gives it."""

    name: str
    value: float
    unit: str
    source: str
    assumption: str | None = None  # what it presumes that no source says

    @property
    def amount(self) -> float:
        """The value in the units of the cost model: ns, bytes, GHz, bytes per ns, flop per ns."""
        return self.value * unit(self.unit, DIMENSIONS[self.name]).factor

    def __str__(self) -> str:
        return f"{self.value:g}" if self.unit in ("count", "ratio") else f"{self.value:g} {self.unit}"


@dataclass(frozen=True)
class Chip:
    """The constants of a chip."""

    name: str  # e.g. Trainium2
    core: str  # e.g. NeuronCore-v3
    constants: Mapping[str, Constant]

    def amount(self, name: str) -> float:
        """A constant in the units of the cost model. KeyError for an unknown name."""
        return self.constants[name].amount

    def model(self, lnc: int) -> dict[str, float]:
        """What the cost model takes, for devices of ``lnc`` physical cores, in its units."""
        skipped = (*_OF_THE_INSTANCE, *_QUOTED, *_COMBINED)
        values = {_RENAMED.get(name, name): self.amount(name) for name in self.constants if name not in skipped}
        values["lnc"] = float(lnc)
        # A core's DMA engines serve it alone; the stacks serve all cores at once.
        values["memory_bandwidth"] = min(
            self.amount("hbm_bandwidth") / self.amount("cores"), self.amount("dma_bandwidth")
        )
        return values

    def with_values(self, values: Mapping[str, float | str]) -> Chip:
        """The chip with other values: numbers in the unit of the constant, or texts such as ``"3 TB/s"``.

        ValueError for an unknown name, a bad value, and for the wrong unit.
        """
        constants = dict(self.constants)
        for name, value in values.items():
            if name not in constants:
                raise ValueError(f"a chip has no constant '{name}'. Legal: {', '.join(DIMENSIONS)}")
            try:
                amount, given = quantity(value) if isinstance(value, str) else (number(value), constants[name].unit)
                unit(given, DIMENSIONS[name])
            except ValueError as error:
                raise ValueError(f"chip constant '{name}': {error}") from None
            constants[name] = replace(constants[name], value=amount, unit=given, source="override", assumption=None)
        return replace(self, constants=constants)


def shipped(name: str) -> Chip:
    """A chip that comes with the package: ``trainium2`` or ``trainium3``."""
    return load(_SHIPPED / f"{name}.toml")


def load(path: str | os.PathLike[str]) -> Chip:
    """Reads a chip file. OSError when it cannot be read; ValueError, with the file's name, when it is not a complete
    chip: a constant that is missing, unknown, without source, or in the wrong unit.
    """
    try:
        return _parse(tomllib.loads(Path(path).read_text(encoding="utf-8")))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _parse(data: dict[str, Any]) -> Chip:
    unknown = data.keys() - {"name", "core", "constants"}
    if unknown:
        raise ValueError(f"unknown key '{min(unknown)}'. Legal: name, core, constants")
    name, core, tables = (data.get(key) for key in ("name", "core", "constants"))
    if not isinstance(name, str) or not isinstance(core, str) or not isinstance(tables, dict):
        raise ValueError("a chip file needs name and core, which are texts, and the table constants")
    for each in tables:
        if each not in DIMENSIONS:
            raise ValueError(f"unknown constant '{each}'. Legal: {', '.join(DIMENSIONS)}")
    missing = [each for each in DIMENSIONS if each not in tables]
    if missing:
        raise ValueError(f"constants are missing: {', '.join(missing)}")
    return Chip(name, core, {each: _constant(each, tables[each]) for each in DIMENSIONS})


def _constant(name: str, fields: object) -> Constant:
    if not isinstance(fields, dict) or fields.keys() - {"assumption"} != {"value", "unit", "source"}:
        raise ValueError(f"constant '{name}' needs value, unit and source, and may have an assumption")
    for key in fields.keys() - {"value"}:
        if not isinstance(fields[key], str) or not fields[key]:
            raise ValueError(f"constant '{name}': {key} has to be a text that is not empty")
    try:
        unit(fields["unit"], DIMENSIONS[name])
        value = number(fields["value"])
    except ValueError as error:
        raise ValueError(f"constant '{name}': {error}") from None
    return Constant(name, value, fields["unit"], fields["source"], fields.get("assumption"))
