"""Runs each case in a forked child, so that a crash or a hang names its case and no other is harmed."""

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
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import IO, Any

from harness.cases import Case


@dataclass
class _Child:
    case: Case
    pid: int
    pipe: int
    faults: IO[bytes]
    started: float
    output: bytearray = field(default_factory=bytearray)


def _start(case: Case) -> _Child:
    read, write = os.pipe()
    faults = tempfile.TemporaryFile()  # noqa: SIM115  closed when the child is done
    pid = os.fork()
    if pid:
        os.close(write)
        return _Child(case, pid, read, faults, time.monotonic())
    status = 1
    try:
        faulthandler.enable(faults, all_threads=False)
        report = json.dumps(case.run().to_json()).encode()
        while report:
            report = report[os.write(write, report) :]
        status = 0
    except BaseException:  # a forked child may not return into its parent's stack
        faults.write(traceback.format_exc()[-1500:].encode())
        faults.flush()
    finally:
        os._exit(status)


def _failure(name: str, text: str) -> dict[str, Any]:
    return {name: {"samples": 1, "failed": 1, "failures": [text]}}


def _finish(child: _Child, hung: bool) -> dict[str, Any]:
    os.close(child.pipe)
    if hung:
        os.kill(child.pid, signal.SIGKILL)
    _, status = os.waitpid(child.pid, 0)
    child.faults.seek(0)
    text = child.faults.read().decode(errors="replace")[:2000]
    child.faults.close()
    if hung:
        kinds = _failure("hang", text or "no answer in time")
    elif status:
        kinds = _failure("crash", f"wait status {status}: {text}")
    else:
        kinds = json.loads(child.output)
    return {"seconds": round(time.monotonic() - child.started, 3), "kinds": kinds}


def run(cases: Iterable[Case], jobs: int, timeout_s: float, done: Callable[[Case, dict[str, Any]], None]) -> None:
    """Runs the cases, ``jobs`` at a time; calls ``done`` with each case and its result."""
    waiting = iter(cases)
    gc.freeze()  # a collection in a child would touch, and so copy, all that it shares with its parent
    running: dict[int, _Child] = {}
    with selectors.DefaultSelector() as selector:
        while True:
            while len(running) < jobs and (case := next(waiting, None)) is not None:
                child = _start(case)
                running[child.pipe] = child
                selector.register(child.pipe, selectors.EVENT_READ)
            if not running:
                return
            for key, _ in selector.select(timeout=1.0):
                child = running[key.fd]
                chunk = os.read(key.fd, 1 << 16)
                child.output += chunk
                if not chunk:
                    selector.unregister(key.fd)
                    done(running.pop(key.fd).case, _finish(child, hung=False))
            for pipe, child in list(running.items()):
                if time.monotonic() - child.started > timeout_s:
                    selector.unregister(pipe)
                    done(running.pop(pipe).case, _finish(child, hung=True))
