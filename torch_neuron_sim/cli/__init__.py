"""The command line: ``neuron-sim``, or ``python -m torch_neuron_sim``. Without a subcommand it runs the verify job."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import torch

from torch_neuron_sim.cli import info, run, verify
from torch_neuron_sim.cli.arguments import BadArgument
from torch_neuron_sim.cli.program import INTERRUPTED

__all__ = ["main"]

PROGRAM = "neuron-sim"

# Name of a subcommand -> the module with DESCRIPTION, EPILOG, add_arguments() and run().
COMMANDS = {"info": info, "run": run}


class Parser(argparse.ArgumentParser):
    """A bad argument gets one line on stderr, not the usage, and exit code 2."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message}\n")


def build_parser(command: str | None = None) -> Parser:
    """The parser of a subcommand, or of the verify job."""
    module = verify if command is None else COMMANDS[command]
    parser = Parser(
        prog=PROGRAM if command is None else f"{PROGRAM} {command}",
        usage=getattr(module, "USAGE", None),
        description=module.DESCRIPTION,
        epilog=module.EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    module.add_arguments(parser)
    parser.set_defaults(run=module.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line ``argv`` (default: the process's own) and returns the exit code: 0, 1 with the reason
    printed, 130 after Ctrl-C, or that of the program that ``run`` ran. Bad arguments raise SystemExit(2) after one line
    on stderr.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    command = arguments.pop(0) if arguments and arguments[0] in COMMANDS else None
    parser = build_parser(command)
    args = parser.parse_args(arguments)
    try:
        code = int(args.run(args))
        sys.stdout.flush()
        return code
    except BadArgument as error:
        parser.error(str(error))
    except torch.OutOfMemoryError as error:
        return _fail(f"{parser.prog}: {error}", 1)
    except KeyboardInterrupt:
        return _fail(f"{parser.prog}: interrupted", INTERRUPTED)
    except BrokenPipeError:
        _give_up_stdout()
        return 1
    except OSError as error:
        _give_up_stdout()
        return _fail(f"{parser.prog}: error: cannot write the output: {error.strerror}", 1)


def _fail(text: str, code: int) -> int:
    print(text, file=sys.stderr)
    return code


def _give_up_stdout() -> None:
    """What is left in its buffer cannot be written; Python would try once more at its end, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
