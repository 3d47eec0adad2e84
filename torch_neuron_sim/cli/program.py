"""Runs a user's program as Python itself would, from a process that goes on afterwards."""

from __future__ import annotations

import importlib.util
import io
import os
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.abc import InspectLoader
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType, TracebackType

INTERRUPTED = 130  # what a shell reports for a program that Ctrl-C ended


class NoProgram(Exception):
    """There is nothing to run; the text is one line."""


@dataclass(frozen=True)
class Ended:
    code: int  # the exit code
    error: BaseException | None  # what ended it; SystemExit, too


@dataclass
class Program:
    """A program that was found, with what ``sys.argv`` and ``sys.path`` begin with while it runs."""

    argv: list[str]
    path_entry: str
    file: str  # what __file__ is
    spec: ModuleSpec | None  # of a module; a script has none

    def run(self) -> Ended:
        """Runs it to its end, and waits for its threads. Its errors are shown as Python shows them, without frames of
        ours.
        """
        module = self._enter()
        ended = Ended(0, None)
        try:
            exec(self._code(), module.__dict__)
        except SystemExit as error:
            ended = Ended(_exit_code(error), error)
        except BaseException as error:
            ended = _failed(error)
        try:
            _wait_for_threads()
        except KeyboardInterrupt as error:
            ended = _failed(error)
        return ended

    def _enter(self) -> ModuleType:
        """Makes the process look as if Python had been started with the program."""
        module = ModuleType("__main__")
        loader = SourceFileLoader("__main__", self.file) if self.spec is None else self.spec.loader
        package = None if self.spec is None else self.spec.parent
        module.__dict__.update(
            __file__=self.file, __cached__=None, __package__=package, __spec__=self.spec, __loader__=loader
        )
        module.__dict__["__builtins__"] = __builtins__
        sys.modules["__main__"] = module
        sys.argv[:] = self.argv
        if not sys.flags.safe_path:
            # In place of ours, which is the folder of the console script, or the working directory for python -m.
            sys.path[0] = self.path_entry
        return module

    def _code(self) -> CodeType:
        if self.spec is None:
            with io.open_code(self.file) as stream:
                return compile(stream.read(), self.file, "exec", dont_inherit=True)
        assert isinstance(self.spec.loader, InspectLoader)
        code = self.spec.loader.get_code(self.spec.name)
        assert code is not None, "find_module looked"
        return code


def find_script(name: str, arguments: Sequence[str]) -> Program:
    """``python name arguments...``; a folder with a ``__main__.py`` will do. NoProgram when there is none."""
    path = Path(name)
    file = path / "__main__.py" if path.is_dir() else path
    try:
        file.open("rb").close()
    except OSError as error:
        raise NoProgram(f"can't open file {str(file)!r}: {error.strerror}") from None
    # Links are followed for sys.path, not for __file__.
    folder = str(path.absolute()) if path.is_dir() else str(file.resolve().parent)
    return Program([name, *arguments], folder, os.path.abspath(file), None)


def find_module(name: str, arguments: Sequence[str]) -> Program:
    """``python -m name arguments...``. NoProgram when there is none."""
    if not sys.flags.safe_path:
        sys.path[0] = os.getcwd()
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            name = f"{name}.__main__"
            spec = importlib.util.find_spec(name)
    except (ImportError, ValueError) as error:
        raise NoProgram(f"cannot find module {name!r}: {error}") from None
    if spec is None:
        raise NoProgram(f"no module named {name!r}")
    if spec.origin is None or not isinstance(spec.loader, InspectLoader) or spec.loader.get_code(spec.name) is None:
        raise NoProgram(f"module {name!r} has no Python code to run")
    return Program([spec.origin, *arguments], os.getcwd(), spec.origin, spec)


def _exit_code(error: SystemExit) -> int:
    """As Python does it: a text goes to stderr, and means 1."""
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xFF
    print(error.code, file=sys.stderr)
    return 1


def _failed(error: BaseException) -> Ended:
    """Shows the error."""
    trace: TracebackType | None = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    sys.stdout.flush()
    sys.excepthook(type(error), error.with_traceback(trace), trace)
    return Ended(INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1, error)


def _wait_for_threads() -> None:
    """As Python does before it ends."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
