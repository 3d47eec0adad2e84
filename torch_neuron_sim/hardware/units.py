"""Units of the constants in chip files, and what they measure."""

from __future__ import annotations

import math
import re
from typing import NamedTuple


class Unit(NamedTuple):
    dimension: str
    factor: float  # in the units of the cost model: ns, bytes, cycles, elements, and products of these


UNITS = {
    "ns": Unit("time", 1),
    "us": Unit("time", 1e3),
    "ms": Unit("time", 1e6),
    "s": Unit("time", 1e9),
    "B": Unit("memory", 1),
    "KiB": Unit("memory", 2**10),
    "MiB": Unit("memory", 2**20),
    "GiB": Unit("memory", 2**30),
    "MHz": Unit("frequency", 1e-3),
    "GHz": Unit("frequency", 1),
    "GB/s": Unit("bandwidth", 1),
    "TB/s": Unit("bandwidth", 1e3),
    "TFLOPS": Unit("compute", 1e3),  # flop/ns
    "cycles": Unit("cycles", 1),
    "elements": Unit("elements", 1),
    "elements/cycle": Unit("width", 1),
    "cycles/element": Unit("cycles per element", 1),
    "count": Unit("count", 1),
    "ratio": Unit("ratio", 1),
}


def unit(name: str, dimension: str) -> Unit:
    """The unit of that name. ValueError unless it measures ``dimension``."""
    found = UNITS.get(name)
    if found is None or found.dimension != dimension:
        legal = ", ".join(each for each, unit in UNITS.items() if unit.dimension == dimension)
        raise ValueError(f"unit '{name}' does not measure {dimension}. Legal: {legal}")
    return found


def number(value: object) -> float:
    """A finite number of at least 0, as float. ValueError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise ValueError(f"{value!r} is not a finite number of at least 0")
    return float(value)


def quantity(text: str) -> tuple[float, str]:
    """Value and unit of a text such as ``"3 TB/s"``. ValueError when it is none."""
    match = re.fullmatch(r"\s*([0-9.eE+-]+)\s*([A-Za-z/]+)\s*", text)
    try:
        if match is None:
            raise ValueError
        return number(float(match[1])), match[2]
    except ValueError:
        raise ValueError(f"{text!r} is not a number and a unit, as in '3 TB/s'") from None
