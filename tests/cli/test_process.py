"""The command line as a process: signals, full devices, bad environment, programs that start processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "torch_neuron_sim"]


def finish(arguments: list[str], env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        arguments, capture_output=True, text=True, timeout=600, check=False, env={**os.environ, **(env or {})}
    )


@pytest.mark.parametrize("arguments", [[], ["run", "script.py"]])
def test_a_bad_environment_value_is_one_line(arguments: list[str]) -> None:
    done = finish([*COMMAND, *arguments], env={"TORCH_NEURON_SIM_FALLBACK": "never"})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "neuron-sim: error: TORCH_NEURON_SIM_FALLBACK: 'never' is not a legal value. Legal: warn, silent, error\n"
    )


def test_a_full_output_device_is_one_line() -> None:
    with open("/dev/full", "w") as full:
        command = [*COMMAND, "--steps", "1", "--device", "cpu", "--no-progress"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert done.stderr == "neuron-sim: error: cannot write the output: No space left on device\n"


def test_ctrl_c_ends_the_verify_job_with_one_line() -> None:
    command = [*COMMAND, "--steps", "100000", "--device", "cpu", "--no-progress"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()  # its heading: the job has begun
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == "neuron-sim: interrupted\n"


def test_ctrl_c_ends_a_program_as_python_would_and_the_report_is_written(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import time, torch\ntorch.ones(2, device='neuron')\nprint('ready', flush=True)\ntime.sleep(60)\n"
    )
    command = [*COMMAND, "run", str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    trace, _, report = err.partition("KeyboardInterrupt\n")
    # The program's own frame alone; the signal may come before it sleeps.
    assert trace.startswith(f'Traceback (most recent call last):\n  File "{script}", line ')
    assert trace.count('File "') == 1
    assert "aten::ones" in report


def test_a_program_with_processes_of_its_own(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        """
import multiprocessing, os, pickle, sys
import torch, torch_neuron_sim
import torch_neuronx

class Mine:
    pass

def work(queue):
    queue.put(torch.full((2,), 3.0, device="neuron").square().sum().item() + torch_neuronx.device_count())

if __name__ == "__main__":
    assert isinstance(pickle.loads(pickle.dumps(Mine())), Mine)
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=work, args=(queue,))
    process.start()
    process.join(300)
    print(queue.get(timeout=60), flush=True)
    if os.fork() == 0:
        sys.exit(9)
    print("child", os.waitstatus_to_exitcode(os.wait()[1]))
    print(torch.ones(2, device="neuron").argmax().item())
"""
    )
    done = finish([*COMMAND, "run", "--coverage", "all", str(script)])
    assert done.returncode == 0, done.stderr
    assert done.stdout == "22.0\nchild 9\n0\n"
    assert done.stderr.count("coverage all") == 1, "the forked process writes no report"
    assert "Warning" not in done.stderr
