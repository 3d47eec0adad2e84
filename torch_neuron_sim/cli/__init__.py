"""The command line: ``neuron-sim``, or ``python -m torch_neuron_sim``. Without a subcommand it runs the verify job."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

import torch

from torch_neuron_sim.cli import verify

__all__ = ["main"]


class Parser(argparse.ArgumentParser):
    """A bad argument gets one line on stderr, not the usage, and exit code 2."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message}\n")


def build_parser() -> Parser:
    parser = Parser(
        prog="neuron-sim",
        description=verify.DESCRIPTION,
        epilog=verify.EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    verify.add_arguments(parser)
    parser.set_defaults(run=verify.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line ``argv`` (default: the process's own) and returns the exit code: 0, or 1 with the reason
    printed. Bad arguments raise SystemExit(2) after one line on stderr.
    """
    parser = build_parser()
    args = parser.parse_args(argv)
    try:
        return int(args.run(args))
    except verify.BadArgument as error:
        parser.error(str(error))
    except torch.OutOfMemoryError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1
