"""``python -m torch_neuron_sim run script.py``: runs a program as it is, and reports what happened."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from torch_neuron_sim import compat, coverage, report, tracking
from torch_neuron_sim.cli.arguments import STDOUT, BadArgument, is_writable
from torch_neuron_sim.cli.program import NoProgram, Program, find_module, find_script
from torch_neuron_sim.compat.cuda import MapCuda
from torch_neuron_sim.tracking import policies

USAGE = """neuron-sim run [options] script.py [args ...]
       neuron-sim run [options] -m module [args ...]"""

DESCRIPTION = """\
Run a PyTorch program that uses the device neuron, unchanged, and report what ran where.

The program sees its own arguments, name, path and exit code. `import torch_neuronx` works in
it. The report is written when the program ends, also by an error, sys.exit() or Ctrl-C."""

EPILOG = """\
exit code: that of the program; 1 if it ended well but the report could not be written;
2 bad argument

Options after the program's name are the program's own."""

STDERR = ""


@dataclass(frozen=True)
class Output:
    kind: str  # one of report.KINDS
    target: str  # a path, STDOUT, or STDERR


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--coverage", metavar="TABLE", help="coverage table: a shipped name, all, or a path (see docs/environment.md)"
    )
    for policy in policies.POLICIES:
        parser.add_argument(_option(policy), choices=policy.values, help=f"as {policy.variable}")
    parser.add_argument(
        "--report",
        choices=report.KINDS,
        action="append",
        help="kind of report (default: text, or json or html by the suffix of --output); may be repeated",
    )
    parser.add_argument(
        "--output",
        metavar="FILE",
        action="append",
        help="where the report goes, in the order of several --report; - is stdout (default: stderr)",
    )
    parser.add_argument("--compare", metavar="OLD.json", help="also say what changed since an earlier JSON report")
    parser.add_argument(
        "--map-cuda", action="store_true", help='let the device name "cuda" mean neuron; says at the end what it did'
    )
    parser.add_argument("-m", dest="module", action="store_true", help="the program is a module, as for python -m")
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="script.py [args ...]", help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Runs the program that ``args`` name, and returns its exit code."""
    outputs = _outputs(args.report or [], args.output or [])
    earlier = _earlier(args.compare)
    program = _find(args)
    _configure(args)
    pid = os.getpid()
    with tracking.record() as found, MapCuda() if args.map_cuda else contextlib.nullcontext() as mapping:
        ended = program.run()
    if os.getpid() != pid:
        return ended.code  # a process that the program forked, and which came back here
    found.outcome = report.Outcome.of(ended.error)
    written = _write_reports(found, outputs, earlier, mapping)
    return ended.code if ended.code or written else 1


def _find(args: argparse.Namespace) -> Program:
    if not args.program:
        raise BadArgument(f"no {'module' if args.module else 'script'} to run is given")
    name, *arguments = args.program
    try:
        return find_module(name, arguments) if args.module else find_script(name, arguments)
    except NoProgram as error:
        raise BadArgument(str(error)) from None


def _configure(args: argparse.Namespace) -> None:
    """Applies the options, and leaves them in the environment for processes that the program starts."""
    if args.coverage is not None:
        try:
            coverage.load_coverage(args.coverage)
        except ValueError as error:
            raise BadArgument(f"argument --coverage: {error}") from None
        shipped = args.coverage in coverage.names()
        os.environ[coverage.VARIABLE] = args.coverage if shipped else os.path.abspath(args.coverage)
    for policy in policies.POLICIES:
        value = getattr(args, _option(policy).removeprefix("--"))
        if value is not None:
            policy.set(value)
            os.environ[policy.variable] = value
    compat.install_alias()
    os.environ[compat.VARIABLE] = "1"


def _option(policy: policies.Policy) -> str:
    """``--fallback`` for TORCH_NEURON_SIM_FALLBACK."""
    return f"--{policy.variable.removeprefix('TORCH_NEURON_SIM_').lower()}"


def _outputs(kinds: list[str], targets: list[str]) -> list[Output]:
    if len(targets) > max(len(kinds), 1):
        raise BadArgument(f"argument --output: {len(targets)} files for {max(len(kinds), 1)} report")
    if not kinds:
        suffix = Path(targets[0]).suffix.removeprefix(".") if targets else ""
        kinds = [suffix if suffix in report.KINDS else "text"]
    for target in targets:
        if not is_writable(target):
            raise BadArgument(f"argument --output: cannot write to {target!r}")
    # The program may change the working directory.
    absolute = [target if target == STDOUT else os.path.abspath(target) for target in targets]
    absolute += [STDERR] * (len(kinds) - len(absolute))
    return [Output(kind, target) for kind, target in zip(kinds, absolute, strict=True)]


def _earlier(path: str | None) -> dict[str, Any] | None:
    try:
        return None if path is None else report.load(path)
    except OSError as error:
        raise BadArgument(f"argument --compare: cannot read {path!r}: {error.strerror}") from None
    except ValueError as error:
        raise BadArgument(f"argument --compare: {error}") from None


def _write_reports(
    found: report.OpReport, outputs: list[Output], earlier: dict[str, Any] | None, mapping: MapCuda | None
) -> bool:
    """False, after one line on stderr for each, if some could not be written."""
    written = True
    with contextlib.suppress(OSError):  # what the program printed comes first; main() flushes again, and tells
        sys.stdout.flush()
    for output in outputs:
        try:
            with _stream(output.target) as stream:
                print(report.render(found, output.kind), file=stream)
                if earlier is not None and output.kind == "text":
                    print(f"\n{found.compare(earlier)}", file=stream)
        except OSError as error:
            print(f"neuron-sim run: error: cannot write the report: {error.strerror}", file=sys.stderr)
            written = False
    if earlier is not None and all(output.kind != "text" for output in outputs):
        print(found.compare(earlier), file=sys.stderr)
    if mapping is not None:
        print(mapping.summary(), file=sys.stderr)
    return written


@contextlib.contextmanager
def _stream(target: str) -> Iterator[TextIO]:
    if target in (STDOUT, STDERR):
        stream = sys.stdout if target == STDOUT else sys.stderr
        yield stream
        stream.flush()
        return
    with open(target, "w", encoding="utf-8") as file:
        yield file
