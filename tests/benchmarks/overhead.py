"""What the simulator costs: the same statements on CPU and on ``neuron``, in turn, in one process and one thread.

    python tests/benchmarks/overhead.py [--json FILE] [--only NAME] [--rounds N] [--device DEVICE]

Each row is the fastest of many short batches, against a target. A missed target is marked, not an error: exit code 0.
The ledger is on, as it always is. A ratio under 0.9 is marked as well: the device cannot be faster than the CPU whose
kernels it runs, so such a figure has to be explained before it is believed.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import mmap
import os
import subprocess
import sys
import timeit
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

import torch_neuron_sim
from torch_neuron_sim.cli.gpt import GPTConfig, Trainer, build_gpt, load_text

SCHEMA_VERSION = 1
BATCH_SECONDS = 2e-3
CASE_SECONDS = 6.0
FEWEST_ROUNDS = 15
SUSPICIOUS = 0.9
MEMORY_STEPS = 12
IMPORT_RUNS = 7
HUGE_PAGE = 2 * 2**20

Names = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A statement, timed over names that ``setup`` makes for a device; ``target`` is the largest ratio to accept."""

    name: str
    target: float
    statement: str
    setup: Callable[[torch.device], Names]
    grad: bool = False


@dataclass(frozen=True)
class Row:
    """A finding. ``cpu`` and ``device`` in ``unit``; ``value``, their ratio (or, without a CPU side, the device's
    figure), is what ``target`` bounds."""

    name: str
    unit: str
    cpu: float | None
    device: float
    value: float
    target: float

    @property
    def mark(self) -> str:
        if self.value > self.target:
            return "MISSED"
        return "ok, but under 0.9: explain" if self.cpu is not None and self.value < SUSPICIOUS else "ok"


def place(tensor: Tensor, device: torch.device) -> Tensor:
    """``tensor`` on ``device``. On the CPU, a large one gets huge pages, because the device's memory has them."""
    if device.type != "cpu" or tensor.nbytes < HUGE_PAGE:
        return tensor.to(device)
    memory = mmap.mmap(-1, tensor.nbytes + HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_HUGEPAGE)
    aligned = torch.frombuffer(memory, dtype=torch.uint8)
    aligned = aligned[-aligned.data_ptr() % HUGE_PAGE :][: tensor.nbytes]
    return aligned.view(tensor.dtype).view(tensor.shape).copy_(tensor)


def operands(**shapes: tuple[int, ...]) -> Callable[[torch.device], Names]:
    """Float32 tensors in [0, 1) of the given shapes, equal on every device."""

    def setup(device: torch.device) -> Names:
        generator = torch.Generator().manual_seed(0)
        return {name: place(torch.rand(shape, generator=generator), device) for name, shape in shapes.items()}

    return setup


def embedding_operands(device: torch.device) -> Names:
    return {"indices": torch.tensor([3, 1, 2, 0]).to(device), **operands(weight=(16, 8))(device)}


def sort_operands(device: torch.device) -> Names:
    indices = place(torch.zeros(1_000_000, dtype=torch.int64), device)
    return {"indices": indices, **operands(a=(1_000_000,), values=(1_000_000,))(device)}


def mlp(device: torch.device) -> Names:
    """A small classifier and its Adam step; foreach is spelled out, as its default depends on the device."""
    names = operands(x=(16, 32))(device)
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 8)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), foreach=True)

    def step() -> None:
        optimizer.zero_grad()
        model(names["x"]).square().mean().backward()
        optimizer.step()

    return {"step": step}


def lstm(device: torch.device) -> Names:
    names = operands(x=(16, 8, 64))(device)
    model = nn.LSTM(64, 64).to(device)

    def step() -> None:
        model.zero_grad()
        model(names["x"])[0].sum().backward()

    return {"step": step}


def lstm_of_cells(device: torch.device) -> Names:
    """The CPU without oneDNN, whose layer for whole sequences PyTorch asks of no other device."""
    step = lstm(device)["step"]

    def step_of_cells() -> None:
        torch._C._set_mkldnn_enabled(False)  # torch.backends.mkldnn.flags() costs ten times as much
        step()
        torch._C._set_mkldnn_enabled(True)

    return {"step": step_of_cells if device.type == "cpu" else step}


def lstm_cell(device: torch.device) -> Names:
    names = operands(x=(8, 64), h=(8, 64), c=(8, 64))(device)
    model = nn.LSTMCell(64, 64).to(device)

    def step() -> None:
        model.zero_grad()
        hidden, cell = model(names["x"], (names["h"], names["c"]))
        (hidden + cell).sum().backward()

    return {"step": step}


def gpt(device: torch.device) -> Names:
    """The model and the batch size of the main job; one batch, so that every step does the same."""
    text = load_text()
    model = build_gpt(GPTConfig(len(text.characters)), seed=0)
    inputs, targets = text.batch(torch.Generator().manual_seed(0), 16, model.config.context)
    return {"trainer": Trainer(model, device, steps=1000), "inputs": inputs, "targets": targets}


TINY, BOXED, VIEW, LARGE = 1.25, 1.6, 1.1, 1.03
FEW, MATRIX = (8,), (8, 8)
MILLION, SQUARE, IMAGES = (1_000_000,), (1024, 1024), (8, 32, 56, 56)

CASES = [
    Case("add", TINY, "torch.add(a, b)", operands(a=FEW, b=FEW)),
    Case("mul", TINY, "torch.mul(a, b)", operands(a=FEW, b=FEW)),
    Case("relu", TINY, "torch.relu(a)", operands(a=FEW)),
    Case("sum", TINY, "torch.sum(a)", operands(a=FEW)),
    Case("softmax", TINY, "torch.softmax(a, -1)", operands(a=FEW)),
    Case("embedding", TINY, "functional.embedding(indices, weight)", embedding_operands),
    Case("cumsum", TINY, "torch.cumsum(a, 0)", operands(a=FEW)),
    Case("boxed erfinv", BOXED, "torch.erfinv(a)", operands(a=FEW)),
    Case("boxed trunc", BOXED, "torch.trunc(a)", operands(a=FEW)),
    Case("boxed logical_and", BOXED, "torch.logical_and(a, b)", operands(a=FEW, b=FEW)),
    Case("boxed floor (fallback)", 2.0, "torch.floor(a)", operands(a=FEW)),
    Case("view transpose", VIEW, "a.transpose(0, 1)", operands(a=MATRIX)),
    Case("view slice", VIEW, "a[1:5]", operands(a=MATRIX)),
    Case("view view", VIEW, "a.view(-1)", operands(a=MATRIX)),
    Case("view expand", VIEW, "a.expand(4, 8)", operands(a=FEW)),
    Case("view permute", VIEW, "a.permute(1, 0)", operands(a=MATRIX)),
    Case("add 1M out=", LARGE, "torch.add(a, b, out=c)", operands(a=MILLION, b=MILLION, c=MILLION)),
    Case("mm 1024 out=", LARGE, "torch.mm(a, b, out=c)", operands(a=SQUARE, b=SQUARE, c=SQUARE)),
    Case("conv2d 8x32x56x56", LARGE, "functional.conv2d(x, w, padding=1)", operands(x=IMAGES, w=(32, 32, 3, 3))),
    Case("sort 1M out= (fallback)", 1.1, "torch.sort(a, out=(values, indices))", sort_operands),
    Case("MLP Adam step", 1.2, "step()", mlp, grad=True),
    Case("LSTM step", 1.15, "step()", lstm, grad=True),
    Case("LSTM step, CPU without oneDNN", 1.15, "step()", lstm_of_cells, grad=True),
    Case("LSTMCell step", 1.15, "step()", lstm_cell, grad=True),
    Case("GPT step", 1.05, "trainer.step(inputs, targets)", gpt, grad=True),
]


def keep_cpu_memory() -> None:
    """Tells glibc to keep freed memory, as the device's allocator does: a CPU that pays page faults for every large
    result would make the device look faster than it is."""
    libc = ctypes.CDLL(None)
    trim_threshold, mmap_threshold = -1, -3
    libc.mallopt(trim_threshold, 2**31 - 1)
    libc.mallopt(mmap_threshold, 32 * 2**20)


def measure(case: Case, device: torch.device, rounds: int) -> Row:
    """The fastest batch of each device; batches alternate, and so does which device goes first."""
    timers, fastest = [], [float("inf"), float("inf")]
    with torch.set_grad_enabled(case.grad):
        for place in (torch.device("cpu"), device):
            names = {"torch": torch, "functional": functional, **case.setup(place)}
            timers.append(timeit.Timer(case.statement, globals=names))
        for timer in timers:
            timer.timeit(3)
        count, elapsed = 1, timers[0].timeit(1)
        while elapsed < BATCH_SECONDS / 2:
            count *= 2
            elapsed = timers[0].timeit(count)
        count = max(1, round(count * BATCH_SECONDS / elapsed))
        batch = max(elapsed, BATCH_SECONDS)
        for round_index in range(min(rounds, max(FEWEST_ROUNDS, int(CASE_SECONDS / (2 * batch))))):
            for which in (0, 1) if round_index % 2 == 0 else (1, 0):
                fastest[which] = min(fastest[which], timers[which].timeit(count) / count)
    cpu, neuron = (1e6 * seconds for seconds in fastest)
    return Row(case.name, "us", cpu, neuron, neuron / cpu, case.target)


def in_subprocess(*command: str, **environment: str) -> float:
    """The number that a fresh Python process prints; -P keeps the source tree from hiding the installed package."""
    done = subprocess.run(
        [sys.executable, "-P", *command], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed with exit code {done.returncode}:\n{done.stderr}")
    return float(done.stdout)


PEAK_MEMORY = """
import sys, torch, torch_neuron_sim
from torch_neuron_sim.cli.gpt import GPTConfig, Trainer, build_gpt, load_text
torch.set_num_threads(1)
text, generator = load_text(), torch.Generator().manual_seed(0)
model = build_gpt(GPTConfig(len(text.characters)), seed=0)
trainer = Trainer(model, torch.device(sys.argv[1]), steps=int(sys.argv[2]))
for _ in range(int(sys.argv[2])):
    trainer.step(*text.batch(generator, 16, model.config.context))
# Not ru_maxrss: that begins with what the process that starts this one has used.
print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024)
"""

IMPORT_TIME = """
import time, torch
start = time.perf_counter()
import torch_neuron_sim
print(1e3 * (time.perf_counter() - start))
"""


def measure_memory(device: torch.device, rounds: int) -> Row:
    """Peak host memory (resident set) of the GPT's training, a process for each device."""
    cpu, neuron = (in_subprocess("-c", PEAK_MEMORY, name, str(MEMORY_STEPS)) for name in ("cpu", str(device)))
    return Row("GPT peak host memory", "MiB", cpu, neuron, neuron / cpu, 1.1)


def measure_import(device: torch.device, rounds: int) -> Row:
    """``import torch_neuron_sim`` after torch, without autoload; the fastest of several processes."""
    fastest = min(in_subprocess("-c", IMPORT_TIME, TORCH_DEVICE_BACKEND_AUTOLOAD="0") for _ in range(IMPORT_RUNS))
    return Row("import after torch", "ms", None, fastest, fastest, 150.0)


def measurements() -> dict[str, Callable[[torch.device, int], Row]]:
    """By name, in the order of the table."""
    timed = {case.name: lambda device, rounds, case=case: measure(case, device, rounds) for case in CASES}
    return {**timed, "GPT peak host memory": measure_memory, "import after torch": measure_import}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to FILE as JSON, too")
    parser.add_argument("--only", default="", metavar="NAME", help="run the cases whose name contains NAME")
    parser.add_argument(
        "--rounds", type=int, default=100, metavar="N", help="batches per device (default: %(default)s)"
    )
    parser.add_argument(
        "--device", type=torch.device, default="neuron:0", help="what to compare (default: %(default)s)"
    )
    args = parser.parse_args()
    if args.rounds < 1:
        parser.error(f"argument --rounds: {args.rounds} is not above 0")
    chosen = {name: call for name, call in measurements().items() if args.only.lower() in name.lower()}
    if not chosen:
        parser.error(f"argument --only: no case is called like {args.only!r}; there are: {', '.join(measurements())}")
    torch.set_num_threads(1)
    keep_cpu_memory()
    print(f"{'case':<30} {'cpu':>12} {args.device!s:>12}       ratio  target")
    rows = []
    with torch_neuron_sim.fallback_policy("silent"):
        for call in chosen.values():
            row = call(args.device, args.rounds)
            rows.append({**asdict(row), "mark": row.mark})
            cpu = "" if row.cpu is None else f"{row.cpu:.2f}"
            value = f"{'':>7}" if row.cpu is None else f"{row.value:>7.3f}"
            print(f"{row.name:<30} {cpu:>12} {row.device:>12.2f} {row.unit:<3} {value} {row.target:>7g}  {row.mark}")
            sys.stdout.flush()
    if args.json is not None:
        data = {
            "schema_version": SCHEMA_VERSION,
            "torch": torch.__version__,
            "torch_neuron_sim": torch_neuron_sim.__version__,
            "device": str(args.device),
            "rounds": args.rounds,
            "rows": rows,
        }
        args.json.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
