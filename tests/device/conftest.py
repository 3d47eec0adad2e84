"""Fresh processes, for what a process decides once: the instance that it simulates, and limits that it runs under."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
import torch

import torch_neuron_sim

# Imports torch once, and forks a process for each request, which has yet to import torch_neuron_sim.
_SERVER = """
import json, os, signal, sys, traceback
import torch
for line in sys.stdin:
    request = json.loads(line)
    pid = os.fork()
    if pid == 0:
        os.environ.update(request["env"])
        for descriptor, path in ((1, request["out"]), (2, request["err"])):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), descriptor)
        signal.alarm(60)
        status = 0
        try:
            exec(request["code"], {"__name__": "__main__"})
        except BaseException:
            traceback.print_exc()
            status = 1
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""

FreshPython = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def fresh_python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FreshPython]:
    """``fresh_python(code, env={...})``: runs code where torch is imported, torch_neuron_sim is not, and no variable
    chooses an instance but those given. Returns the completed process; its return code is -n when signal n ended it.
    """
    directory = tmp_path_factory.mktemp("fresh_python")
    package = Path(torch_neuron_sim.__file__).parent.parent
    ours = ("TORCH_NEURON_SIM_", "NEURON_", "TORCH_NEURONX_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    environment |= {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "PYTHONSAFEPATH": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(package), *filter(None, [environment.get("PYTHONPATH")])])
    with subprocess.Popen(
        [sys.executable, "-c", _SERVER], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        requests, answers, count = server.stdin, server.stdout, 0

        def run(code: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
            nonlocal count
            count += 1
            out, err = directory / f"{count}.out", directory / f"{count}.err"
            request = {"code": code, "env": dict(env or {}), "out": str(out), "err": str(err)}
            requests.write(json.dumps(request) + "\n")
            requests.flush()
            status = int(answers.readline())
            return subprocess.CompletedProcess(code, status, out.read_text(), err.read_text())

        yield run


@pytest.fixture(autouse=True)
def _empty_caches() -> Iterator[None]:
    torch.neuron.init()  # before that, torch.accelerator has no statistics to give
    torch.neuron.empty_cache()
    yield
    torch.neuron.empty_cache()
