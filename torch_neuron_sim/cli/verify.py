"""The verify job: does this machine's ``neuron`` device compute what its CPU computes?"""

from __future__ import annotations

import argparse
import contextlib
import copy
import math
import platform
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

from torch_neuron_sim import __version__, fallback_policy, record
from torch_neuron_sim.cli.arguments import STDOUT, BadArgument, is_writable
from torch_neuron_sim.cli.gpt import GPT, GPTConfig, Text, Trainer, build_gpt, load_text
from torch_neuron_sim.cli.progress import Progress
from torch_neuron_sim.cli.result import Result
from torch_neuron_sim.hardware import get_device_properties, hardware

DESCRIPTION = """\
Check the simulated Neuron device against the CPU of this machine.

Prints what it runs on, compares a small matmul, then trains a small GPT on real text
(Python's own standard library) from one seed on both, step by step in turn, and compares
losses and parameters. Shows the operators that fell back to CPU with the lines that
called them, the peak device memory, and the time per step next to CPU's."""

EPILOG = """\
exit code: 0 the device agrees with CPU; 1 it does not, with the reason; 2 bad argument;
130 interrupted by Ctrl-C

--device cpu compares the CPU with itself, which shows whether this machine repeats itself."""

BATCH = 16
CONTROL_STEPS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--steps", type=_count, default=60, metavar="N", help="training steps (default: %(default)s)")
    parser.add_argument(
        "--seed", type=_seed, default=0, metavar="N", help="seed of weights and batches (default: %(default)s)"
    )
    parser.add_argument(
        "--device",
        type=_device,
        default="neuron:0",
        metavar="DEVICE",
        help="neuron, neuron:N or cpu (default: %(default)s)",
    )
    parser.add_argument(
        "--json",
        type=_writable,
        metavar="FILE",
        help="write the result to FILE as JSON, too; - is stdout, and the rest goes to stderr then",
    )
    parser.add_argument("--no-progress", action="store_true", help="draw no progress bar")
    parser.add_argument("-q", "--quiet", action="store_true", help="print the verdict only, and no progress bar")


def run(args: argparse.Namespace) -> int:
    """Runs the job for arguments as ``add_arguments`` parses them; 0 if the device agrees with CPU, else 1."""
    with contextlib.redirect_stdout(sys.stderr) if args.json == STDOUT else contextlib.nullcontext():
        result = _run(args)
    if result is None:
        return 1
    if args.json == STDOUT:
        print(result.to_json())
    elif args.json is not None:
        Path(args.json).write_text(result.to_json(), encoding="utf-8")
    return 0 if result.ok else 1


def _run(args: argparse.Namespace) -> Result | None:
    """None, after a line on stderr, when the text to train on is missing."""
    device, instance, devices, hbm_bytes = _hardware(args.device)
    try:
        text = load_text()
    except FileNotFoundError as error:
        print(f"FAILED: {error}", file=sys.stderr)
        return None
    model = build_gpt(GPTConfig(len(text.characters)), args.seed)
    result = Result(
        versions={
            "torch_neuron_sim": __version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
        },
        threads=torch.get_num_threads(),
        device="cpu again" if device.type == "cpu" else str(device),
        instance=instance,
        devices=devices,
        hbm_bytes=hbm_bytes,
        steps=args.steps,
        seed=args.seed,
        model_parameters=sum(parameter.numel() for parameter in model.parameters()),
        text_characters=len(text.tokens),
    )
    if not args.quiet:
        print(result.heading(), flush=True)
    with Progress(args.steps, "training", enabled=not (args.quiet or args.no_progress)) as progress:
        compare(result, model, text, device, progress)
    if not args.quiet:
        print(result.findings())
    print(result.verdict())
    return result


def compare(result: Result, model: GPT, text: Text, device: torch.device, progress: Progress) -> None:
    """Fills in ``result``: the matmul, then a training of copies of ``model`` on CPU and ``device``, in turn.

    A third copy, on the CPU again, is the control: it trains along until the CPU has repeated itself for
    CONTROL_STEPS steps, or to the end if it does not.
    """
    cpu = torch.device("cpu")
    generator = torch.Generator().manual_seed(result.seed)
    context = model.config.context
    with _observed(result, device):
        result.matmul_difference = matmul_difference(generator, device)
        trainers = {
            name: Trainer(copy.deepcopy(model), place, result.steps)
            for name, place in (("cpu", cpu), ("device", device), ("control", cpu))
        }
        losses: dict[str, list[float]] = {name: [] for name in trainers}
        seconds: dict[str, list[float]] = {name: [] for name in trainers}
        for step in range(result.steps):
            batch = text.batch(generator, BATCH, context)
            for name, trainer in trainers.items():
                start = time.perf_counter()
                losses[name].append(trainer.step(*batch))
                seconds[name].append(time.perf_counter() - start)
            if "control" in trainers:
                result.cpu_spread = max(
                    loss_difference(losses["cpu"], losses["control"]),
                    parameter_difference(trainers["cpu"].model, trainers["control"].model),
                )
                if result.cpu_spread == 0 and step + 1 >= CONTROL_STEPS:
                    del trainers["control"]
            progress.advance()
        batch = text.batch(generator, BATCH, context)
        result.accuracy = {name: trainers[name].accuracy(*batch) for name in ("cpu", "device")}
    result.losses = {name: losses[name] for name in ("cpu", "device")}
    result.max_loss_difference = loss_difference(losses["cpu"], losses["device"])
    result.max_parameter_difference = parameter_difference(trainers["cpu"].model, trainers["device"].model)
    # The fastest step: what a busy machine adds to the others says nothing about the device.
    result.seconds_per_step = {name: min(seconds[name]) for name in ("cpu", "device")}
    result.time_ratio = result.seconds_per_step["device"] / result.seconds_per_step["cpu"]
    result.judge()


def matmul_difference(generator: torch.Generator, device: torch.device) -> float:
    """The largest difference in a (64, 96) @ (96, 32) float32 product between CPU and ``device``."""
    left = torch.randn(64, 96, generator=generator)
    right = torch.randn(96, 32, generator=generator)
    return largest_difference(left @ right, (left.to(device) @ right.to(device)).cpu())


def parameter_difference(one: GPT, other: GPT) -> float:
    """The largest difference between two models' parameters, wherever these live."""
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    return max(largest_difference(a.detach().cpu(), b.detach().cpu()) for a, b in pairs)


def loss_difference(one: list[float], other: list[float]) -> float:
    return largest_difference(torch.tensor(one, dtype=torch.float64), torch.tensor(other, dtype=torch.float64))


def largest_difference(one: Tensor, other: Tensor) -> float:
    """The largest absolute difference of two CPU tensors of one shape; NaN against a number is infinitely far."""
    same = (one == other) | (one.isnan() & other.isnan())
    difference = (one.double() - other.double()).abs().nan_to_num(nan=math.inf, posinf=math.inf)
    return difference.masked_fill(same, 0.0).max().item()


@contextlib.contextmanager
def _observed(result: Result, device: torch.device) -> Iterator[None]:
    """Records fallbacks and peak memory of ``device`` into ``result``; the table replaces the warnings."""
    if device.type == "cpu":
        yield
        return
    torch.accelerator.reset_peak_memory_stats(device)
    with fallback_policy("silent"), record() as report:
        yield
    result.fallbacks = [row for row in report.sorted_rows() if row.route != "native"]
    result.peak_memory_bytes = torch.accelerator.max_memory_allocated(device)


def _hardware(name: str) -> tuple[torch.device, str | None, int | None, int | None]:
    """The device of that name, the simulated instance, its count of devices, and the bytes of HBM of the device."""
    if name == "cpu":
        return torch.device("cpu"), None, None, None
    simulated = hardware()
    # As a number, before torch.device sees it: that wraps large indices round.
    index = int(name.partition(":")[2] or 0)
    if index >= simulated.device_count:
        raise BadArgument(
            f"argument --device: there is no {name}; {simulated.instance} has {simulated.device_count} devices here"
        )
    memory = get_device_properties(index).total_memory
    return torch.device("neuron", index), simulated.instance, simulated.device_count, memory


def _count(text: str) -> int:
    if not re.fullmatch(r"[0-9]+", text) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def _seed(text: str) -> int:
    if not re.fullmatch(r"[0-9]+", text) or int(text) >= 2**64:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 2**64 - 1")
    return int(text)


def _device(text: str) -> str:
    if not re.fullmatch(r"cpu|neuron(:[0-9]+)?", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not neuron, neuron:N or cpu")
    return text


def _writable(text: str) -> str:
    if not is_writable(text):
        raise argparse.ArgumentTypeError(f"cannot write to {text!r}")
    return text
