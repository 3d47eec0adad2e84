"""Runs cases in forked children, so that a crash or a hang names its case and no other is harmed."""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import selectors
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from harness.cases import Case

Done = Callable[[Case, dict[str, Any]], None]


@dataclass
class _Child:
    cases: list[Case]  # that it has yet to give a result for
    pid: int
    pipe: int
    faults: IO[bytes]
    since: float  # when it began with the first of them
    output: bytearray = field(default_factory=bytearray)


def _run(cases: Sequence[Case], pipe: int) -> None:
    for case in cases:
        began = time.monotonic()
        result = case.run().to_json()
        line = json.dumps({"seconds": round(time.monotonic() - began, 3), **result}).encode() + b"\n"
        while line:
            line = line[os.write(pipe, line) :]


def _start(cases: Sequence[Case]) -> _Child:
    read, write = os.pipe()
    faults = tempfile.TemporaryFile()  # noqa: SIM115  closed when the child is done
    pid = os.fork()
    if pid:
        os.close(write)
        return _Child(list(cases), pid, read, faults, time.monotonic())
    status = 1
    try:
        faulthandler.enable(faults, all_threads=False)
        _run(cases, write)
        status = 0
    except BaseException:  # a forked child may not return into its parent's stack
        faults.write(traceback.format_exc()[-1500:].encode())
        faults.flush()
    finally:
        os._exit(status)


def _read(child: _Child, chunk: bytes, done: Done) -> None:
    child.output += chunk
    *lines, child.output = child.output.split(b"\n")
    for line in lines:
        done(child.cases.pop(0), json.loads(line))
        child.since = time.monotonic()


def _finish(child: _Child, hung: bool, done: Done) -> list[Case]:
    """Takes leave of a child. Returns the cases that it did not come to, after one that crashed or hung."""
    os.close(child.pipe)
    if hung:
        os.kill(child.pid, signal.SIGKILL)
    _, status = os.waitpid(child.pid, 0)
    child.faults.seek(0)
    text = child.faults.read().decode(errors="replace")[:2000]
    child.faults.close()
    if not child.cases:
        return []
    name, text = ("hang", text or "no answer in time") if hung else ("crash", f"wait status {status}: {text}")
    kind = {"samples": 1, "failed": 1, "failures": [text], "relaxed": {}}
    seconds = round(time.monotonic() - child.since, 3)
    done(child.cases[0], {"seconds": seconds, "kinds": {name: kind}, "operators": {}})
    return child.cases[1:]


def run(groups: Iterable[Sequence[Case]], jobs: int, timeout_s: float, done: Done) -> None:
    """Runs the cases, each group in one child, ``jobs`` at a time; calls ``done`` with each case and its result."""
    waiting = iter(groups)
    left: list[list[Case]] = []  # by children that crashed
    gc.freeze()  # a collection in a child would touch, and so copy, all that it shares with its parent
    running: dict[int, _Child] = {}
    with selectors.DefaultSelector() as selector:

        def end(pipe: int, hung: bool) -> None:
            selector.unregister(pipe)
            if rest := _finish(running.pop(pipe), hung, done):
                left.append(rest)

        while True:
            while len(running) < jobs and (cases := left.pop() if left else next(waiting, None)) is not None:
                child = _start(cases)
                running[child.pipe] = child
                selector.register(child.pipe, selectors.EVENT_READ)
            if not running:
                return
            for key, _ in selector.select(timeout=1.0):
                chunk = os.read(key.fd, 1 << 16)
                _read(running[key.fd], chunk, done)
                if not chunk:
                    end(key.fd, hung=False)
            for pipe in [pipe for pipe, child in running.items() if time.monotonic() - child.since > timeout_s]:
                end(pipe, hung=True)
