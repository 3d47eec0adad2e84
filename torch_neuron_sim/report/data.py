"""The report as plain data: written with a schema version, read back with a check."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import torch

from torch_neuron_sim import __version__, coverage

if TYPE_CHECKING:
    from torch_neuron_sim.report.compilations import Compilations
    from torch_neuron_sim.report.device_time import DeviceTime
    from torch_neuron_sim.report.model import OpReport

SCHEMA = "torch_neuron_sim.op_report"
SCHEMA_VERSION = 2


def of(report: "OpReport") -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "torch_neuron_sim": __version__,
        "torch": torch.__version__,
        "instance": report.instance,
        "coverage": report.coverage,
        "coverage_unknown_ops": list(coverage.coverage_table().unknown),
        "outcome": asdict(report.outcome) if report.outcome is not None else None,
        "verdict": asdict(report.verdict),
        "totals": {route: _total(report, route) for route in ("native", "fallback", "unsupported", "float64")},
        "int64_overflows": report.int64_overflows,
        "rows": [asdict(row) for row in report.rows],
        "compilations": _compilations(report, report.compilations) if report.compilations is not None else None,
        "memory": [asdict(each) for each in report.memory],
        "time": {
            "wall_s": report.time.wall_s,
            "first_run_s": report.time.first_run_s,
            "steady_s": report.time.steady_s,
        }
        if report.time is not None
        else None,
        "device_time": _device_time(report.device_time) if report.device_time is not None else None,
        "timeline": report.timeline.to_dict() if report.timeline is not None else None,
        "advice": [asdict(each) for each in report.advice],
    }


def load(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Reads a report that to_json() wrote. OSError when the file cannot be read; ValueError, which names it, when it
    holds something else.
    """
    with open(path, encoding="utf-8") as file:
        try:
            data = json.load(file)
        except ValueError as error:  # bad JSON, or bytes that are no text
            raise ValueError(f"{os.fspath(path)}: not a JSON file ({error})") from None
    return check(data, os.fspath(path))


def check(data: Any, where: str) -> dict[str, Any]:
    """``data`` if it is a report of this schema version; else ValueError that begins with ``where``."""
    if not isinstance(data, Mapping) or data.get("schema") != SCHEMA:
        found = data.get("schema") if isinstance(data, Mapping) else type(data).__name__
        raise ValueError(f"{where}: not a report: expected a JSON object with schema {SCHEMA!r}, found {found!r}")
    version = data.get("schema_version")
    if version != SCHEMA_VERSION:
        raise ValueError(
            f"{where}: a report of schema version {version!r}; this torch_neuron_sim reads version {SCHEMA_VERSION}. "
            "Make the report again with this version"
        )
    missing = sorted(FIELDS - data.keys())
    if missing:
        raise ValueError(f"{where}: the report lacks {', '.join(missing)}")
    return dict(data)


FIELDS = frozenset(
    {
        "schema",
        "schema_version",
        "torch_neuron_sim",
        "torch",
        "instance",
        "coverage",
        "coverage_unknown_ops",
        "outcome",
        "verdict",
        "totals",
        "int64_overflows",
        "rows",
        "compilations",
        "memory",
        "time",
        "device_time",
        "timeline",
        "advice",
    }
)
"""Of every report."""


def _total(report: "OpReport", route: str) -> dict[str, int]:
    rows = [row for row in report.rows if row.route == route]
    return {
        "operators": len({row.op for row in rows}),
        "calls": sum(row.calls for row in rows),
        "bytes": sum(row.bytes for row in rows),
    }


def _compilations(report: "OpReport", compilations: "Compilations") -> dict[str, Any]:
    return {
        "distinct": compilations.distinct,
        "compiled": compilations.compiled,
        "loaded": compilations.loaded,
        "evictions": compilations.evictions,
        "dropped": compilations.dropped,
        "multiplied": [asdict(each) for each in report.multiplied],
        "keys": [asdict(key) for key in compilations.keys],
    }


def _device_time(time: "DeviceTime") -> dict[str, Any]:
    return {
        "elapsed_ns": time.elapsed_ns,
        "busy_ns": time.busy_ns,
        "ns_by_bound": time.ns_by_bound,
        "mfu": time.mfu,
        "bytes_per_s": time.bandwidth,
        "peak_flops_per_s": time.peak_flops,
        "peak_bytes_per_s": time.peak_bandwidth,
        "ops": [{**asdict(op), "flops_per_s": op.flops_per_s, "bytes_per_s": op.bytes_per_s} for op in time.ops],
    }
