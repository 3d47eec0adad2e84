"""What the verify job found: its verdict, its text and its JSON. It needs no device."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from typing import Any

from torch_neuron_sim.report import OpRow, text

SCHEMA_VERSION = 1
SPREAD_FACTOR = 4.0
CURVE_ENDS = 3


@dataclass
class Result:
    """Figures of one run. Sizes in bytes, seconds for the fastest step, losses in nats per character.

    In dictionaries, "cpu" is the reference and "device" what is compared with it. When that is the CPU once more,
    ``device`` is "cpu again", and ``instance``, ``devices``, ``hbm_bytes`` and ``peak_memory_bytes`` are None.
    """

    versions: dict[str, str]
    threads: int
    device: str
    instance: str | None
    devices: int | None
    hbm_bytes: int | None
    steps: int
    seed: int
    model_parameters: int
    text_characters: int
    matmul_difference: float = math.nan
    losses: dict[str, list[float]] = field(default_factory=dict)
    accuracy: dict[str, float] = field(default_factory=dict)
    max_loss_difference: float = math.nan
    max_parameter_difference: float = math.nan
    cpu_spread: float = math.nan
    tolerance: float = math.nan
    fallbacks: list[OpRow] = field(default_factory=list)
    peak_memory_bytes: int | None = None
    seconds_per_step: dict[str, float] = field(default_factory=dict)
    time_ratio: float = math.nan
    ok: bool = False
    reason: str = "the run did not finish"

    def judge(self) -> None:
        """Sets ``tolerance``, ``ok`` and ``reason`` from the differences.

        The simulator runs CPU's own kernels on the same values, so where the CPU repeats itself (``cpu_spread`` is 0)
        nothing but equality will do. Where it does not, the device may differ by a few times as much as CPU runs do;
        accuracy, which jumps by whole characters, then says nothing.
        """
        self.tolerance = SPREAD_FACTOR * self.cpu_spread
        found = {
            "matmul": self.matmul_difference,
            "losses": self.max_loss_difference,
            "parameters": self.max_parameter_difference,
        }
        if self.tolerance == 0:
            found["accuracy"] = abs(self.accuracy["cpu"] - self.accuracy["device"])
        wrong = [f"{name} by {value:.3g}" for name, value in found.items() if not value <= self.tolerance]
        self.ok = not wrong
        self.reason = ""
        if wrong:
            self.reason = f"{self.device} differs from cpu (tolerance {self.tolerance:.3g}): {', '.join(wrong)}"
            pairs = zip(self.losses["cpu"], self.losses["device"], strict=True)
            step = next((i for i, (cpu, device) in enumerate(pairs, 1) if cpu != device), None)
            if step is not None:
                self.reason += f"; first at step {step}"

    def to_json(self) -> str:
        """The fields with a ``schema_version``. Infinity and NaN, which JSON does not have, are written as strings."""
        return json.dumps(_plain({"schema_version": SCHEMA_VERSION, **asdict(self)}), indent=2, allow_nan=False) + "\n"

    def heading(self) -> str:
        """What the job runs on and what it is going to do."""
        if self.instance is None or self.hbm_bytes is None:
            where = "no simulated device: the CPU is compared with itself"
        else:
            memory = f"{self.devices} devices with {self.hbm_bytes / 2**30:g} GiB of HBM each"
            where = f"simulated {self.instance}: {memory}; this run is on {self.device}"
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        model = f"GPT of {self.model_parameters:,} parameters, {self.text_characters:,} characters of Python source"
        return f"{versions}, {self.threads} CPU threads\n{where}\n{model}, {self.steps} steps, seed {self.seed}\n"

    def findings(self) -> str:
        """Everything measured, for a reader; the verdict comes apart, from ``verdict``."""
        if self.cpu_spread == 0:
            why = "the CPU repeats itself bit for bit here, and the device runs the CPU's kernels"
        else:
            why = f"{SPREAD_FACTOR:g} times the difference between two runs on the CPU"
        cpu, device = self.accuracy["cpu"], self.accuracy["device"]
        lines = [
            f"small matmul: largest difference {self.matmul_difference:.3g}",
            "",
            *self._curves(),
            f"accuracy on a fresh batch: cpu {cpu:.1%}, {self.device} {device:.1%}",
            f"largest difference in losses: {self.max_loss_difference:.3g}",
            f"largest difference in parameters: {self.max_parameter_difference:.3g}",
            f"tolerance {self.tolerance:.3g}: {why}",
            "",
        ]
        if self.peak_memory_bytes is not None:
            lines += [self.fallback_table(), "", f"peak device memory {text.format_bytes(self.peak_memory_bytes)}"]
        cpu, device = (1e3 * self.seconds_per_step[name] for name in ("cpu", "device"))
        lines += [f"fastest step: cpu {cpu:.1f} ms, {self.device} {device:.1f} ms, ratio {self.time_ratio:.2f}", ""]
        return "\n".join(lines)

    def _curves(self) -> list[str]:
        """Both loss curves side by side, their ends only."""
        lines = [f"{'step':>6} {'cpu loss':>14} {self.device + ' loss':>16}"]
        for i, (cpu, device) in enumerate(zip(self.losses["cpu"], self.losses["device"], strict=True)):
            if i < CURVE_ENDS or i >= self.steps - CURVE_ENDS:
                lines.append(f"{i + 1:>6} {cpu:>14.6f} {device:>16.6f}")
            elif i == CURVE_ENDS:
                lines.append(f"{'...':>6}")
        return lines

    def fallback_table(self) -> str:
        """The operators that did not run on the device, or not in their dtype, each with the lines that called it."""
        if not self.fallbacks:
            return "every operator ran on the device, none fell back to CPU"
        return text.render(text.totals(self.fallbacks), self.fallbacks)

    def verdict(self) -> str:
        return f"OK: {self.device} agrees with cpu" if self.ok else f"FAILED: {self.reason}"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
