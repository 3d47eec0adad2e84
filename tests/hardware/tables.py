"""The tables of docs/hardware.md: constants, and published figures next to what the model says.

``python tests/hardware/tables.py`` prints them; with ``--write`` they replace those in the document.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from torch_neuron_sim import _C
from torch_neuron_sim.hardware import chips

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "hardware.md"
CHIPS = ("trainium2", "trainium3")


@dataclass(frozen=True)
class Point:
    """A published figure. ``low`` and ``high`` are equal unless a range was published."""

    what: str
    source: str
    low: float  # ns
    high: float
    modelled: float  # ns
    bound: bool = False  # the model leaves out what the figure includes, and has to be below

    @property
    def errors(self) -> tuple[float, float]:
        """Of the model relative to the figure; against the high end, then the low one."""
        return self.modelled / self.high - 1, self.modelled / self.low - 1


@dataclass(frozen=True)
class Model:
    """A decoder on ``devices`` devices in tensor parallel, one token for each of ``rows`` sequences."""

    name: str
    source: str
    milliseconds: float  # per token
    devices: int
    rows: int
    layers: int
    width: int
    heads: int
    kv_heads: int
    head_width: int
    hidden: int
    vocabulary: int

    def products(self) -> Iterator[tuple[int, int, int]]:
        """(how often, K, N) of the products with weights, on one device."""
        heads = max(self.heads // self.devices, 1) * self.head_width
        kv = max(self.kv_heads // self.devices, 1) * self.head_width
        hidden = self.hidden // self.devices
        yield self.layers, self.width, heads
        yield 2 * self.layers, self.width, kv
        yield self.layers, heads, self.width
        yield 2 * self.layers, self.width, hidden
        yield self.layers, hidden, self.width
        yield 1, self.width, self.vocabulary // self.devices


MODELS = (
    Model("Llama 3.3 70B, 64 devices", "trn2-llama3.3-70b-tutorial", 19.6, 64, 1, 80, 8192, 64, 8, 128, 28672, 128256),
    Model(
        "Llama 3.1 405B, 64 devices",
        "trn2-llama3.1-405b-speculative-tutorial",
        37.9, 64, 1, 126, 16384, 128, 8, 128, 53248, 128256,
    ),
    Model("Qwen3-32B, 64 devices", "sd-inference-tutorial", 10.7, 64, 1, 64, 5120, 64, 8, 128, 25600, 151936),
    Model("Llama 3.1 8B, 8 devices", "tutorial-eagle3 llama-3-1", 10.52, 8, 2, 32, 4096, 32, 8, 128, 14336, 128256),
)  # fmt: skip


def points() -> list[Point]:
    """Published figures of single devices, and what the model of Trainium2 says. Leaves another chip in force."""
    _C.set_chip(chips.shipped("trainium2").model(1))
    one = ((1,), "float32", ())
    tile = ((128, 512), "bfloat16", ())
    add, add_tile = (_C.estimate("binary", [x, x], [x], {"arithmetic": 1}) for x in (one, tile))
    factors = [((128, 128), "bfloat16", ()), tile]
    found = [
        Point("small add kernel, one element", "nrtpy tutorial-validate-benchmark", 3000, 4100, add["total_ns"]),
        Point("the same, one tile of 128 x 512 bf16", "same", 3000, 4100, add_tile["total_ns"]),
        Point(
            "matmul 128 x 128 x 512 bf16, Tensor engine",
            "nki trainium2_arch (512 columns at 2.4 GHz)",
            213,
            213,
            _C.estimate("matmul", factors, [tile])["tensor_ns"],
        ),
    ]
    _C.set_chip(chips.shipped("trainium2").model(2))
    for model in MODELS:
        time = sum(count * _product(model.rows, k, n) for count, k, n in model.products())
        published = 1e6 * model.milliseconds
        found.append(Point(f"decode step of {model.name}", model.source, published, published, time, bound=True))
    return found


def _product(m: int, k: int, n: int) -> float:
    x, weight, result = (((*size,), "bfloat16", ()) for size in ((m, k), (n, k), (m, n)))
    return _C.estimate("linear", [x, weight, None], [result])["total_ns"]


def _time(ns: float) -> str:
    for unit, size in (("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.2f} {unit}"
    return f"{ns:.0f} ns"


def points_table() -> str:
    lines = ["| published | figure | model | error | source |", "|---|---|---|---|---|"]
    for point in points():
        figure = _time(point.low) if point.low == point.high else f"{_time(point.low)} to {_time(point.high)}"
        low, high = (f"{100 * error + 0.0:+.0f}%" for error in point.errors)
        error = low if low == high else f"{low} to {high}"
        note = " (lower bound)" if point.bound else ""
        lines.append(
            f"| {point.what} | {figure} | {_time(point.modelled)}{note} | {error} | Neuron docs, {point.source} |"
            if point.source != "same"
            else f"| {point.what} | {figure} | {_time(point.modelled)}{note} | {error} | same |"
        )
    return "\n".join(lines)


def constants_table() -> str:
    first, second = (chips.shipped(name) for name in CHIPS)
    lines = [f"| constant | {first.name} | {second.name} | source |", "|---|---|---|---|"]
    for name in chips.DIMENSIONS:
        one, two = first.constants[name], second.constants[name]
        source = one.source if one.source == two.source else f"{one.source}; {two.source}"
        lines.append(f"| `{name}` | {one} | {two} | {source} |")
    return "\n".join(lines)


def assumptions_table() -> str:
    first, second = (chips.shipped(name) for name in CHIPS)
    lines = ["| constant | value | assumption |", "|---|---|---|"]
    for name in chips.DIMENSIONS:
        one, two = first.constants[name], second.constants[name]
        if one.assumption or two.assumption:
            value = str(one) if str(one) == str(two) else f"{one}; {two}"
            lines.append(f"| `{name}` | {value} | {one.assumption or two.assumption} |")
    return "\n".join(lines)


TABLES = {"constants": constants_table, "points": points_table, "assumptions": assumptions_table}


def blocks(text: str) -> dict[str, str]:
    """The generated tables that a document holds, by name."""
    found = re.findall(r"<!-- table: (\w+) -->\n\n(.*?)\n\n<!-- end -->", text, flags=re.DOTALL)
    return dict(found)


def write() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    for name, table in TABLES.items():
        start, end = f"<!-- table: {name} -->\n", "\n<!-- end -->"
        before, _, rest = text.partition(start)
        text = f"{before}{start}\n{table()}\n{end}{rest.partition(end)[2]}"
    DOCUMENT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        write()
    else:
        print("\n\n".join(table() for table in TABLES.values()))
