"""Forked processes: refused with advice after the parent has used the device, free to use it before."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

RunPython = Callable[..., "subprocess.CompletedProcess[str]"]

# `in_child(function)`: what the function returns in a forked process, or the error that it raised there, as text.
IN_CHILD = """
import os, torch, torch_neuron_sim
torch_neuron_sim.fallback_policy("silent")
def in_child(function):
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            answer = str(function())
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(writing, answer.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        answer = pipe.read()
    assert os.waitpid(pid, 0)[1] == 0
    return answer
"""


def test_device_used_before_the_fork_is_refused_after_it(fresh_python: RunPython) -> None:
    code = """
tensor = torch.arange(4., device="neuron", requires_grad=True)
plain = tensor.detach()
uses = {
    "allocate": lambda: torch.ones(3, device="neuron"),
    "empty": lambda: torch.empty(0, device="neuron"),
    "move": lambda: torch.ones(3).to("neuron"),
    "add": lambda: plain + 1,
    "in place": lambda: plain.add_(1),
    "fallback": lambda: plain.sort(),
    "list": lambda: torch._foreach_add_([plain], 1),
    "random": lambda: torch.rand(3, device="neuron"),
    "copy to the host": lambda: plain.cpu(),
    "item": lambda: plain[0].item(),
    "backward": lambda: (tensor * 2).sum().backward(),
    "init": torch.neuron.init,
    "properties": torch.neuron.get_device_properties,
}
answers = {name: in_child(use) for name, use in uses.items()}
refusal = "RuntimeError: Cannot re-initialize Neuron runtime in forked subprocess"
other = {name: text for name, text in answers.items() if not (text.startswith(refusal) and "'spawn'" in text)}
assert not other, other
assert in_child(torch.neuron._is_in_bad_fork) == "True"
"""
    done = fresh_python(IN_CHILD + code)
    assert done.returncode == 0, done.stderr


def test_parent_is_unaffected(fresh_python: RunPython) -> None:
    code = """
tensor = torch.arange(4., device="neuron")
allocated = torch.neuron.memory_allocated()
def child():
    global tensor
    del tensor  # what a child frees stays with the parent
    torch.manual_seed(1), torch.neuron.empty_cache()
for _ in range(3):
    assert in_child(child) == "None"
assert not torch.neuron._is_in_bad_fork()
assert (tensor + 1).tolist() == [1, 2, 3, 4]
assert torch.neuron.memory_allocated() == allocated
"""
    done = fresh_python(IN_CHILD + code)
    assert done.returncode == 0, done.stderr


def test_a_child_that_leaves_the_device_alone_works(fresh_python: RunPython) -> None:
    """As workers of a DataLoader do: they seed torch, make CPU tensors and end in an orderly way."""
    code = """
import torch.utils.data
tensor = torch.ones(3, device="neuron")
loader = torch.utils.data.DataLoader(range(8), batch_size=2, num_workers=2, multiprocessing_context="fork")
assert torch.cat([batch.to("neuron") for batch in loader]).sum() == 28
def host_work():
    return torch.neuron.device_count(), torch.manual_seed(3).initial_seed(), (torch.ones(2) + 1).tolist()
answer = in_child(host_work)
assert answer == str((torch.neuron.device_count(), 3, [2.0, 2.0])), answer
"""
    done = fresh_python(IN_CHILD + code)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_fork_before_first_use_gives_both_a_device(fresh_python: RunPython) -> None:
    code = """
def use():
    tensor = torch.arange(4., device="neuron", requires_grad=True)
    (tensor * tensor).sum().backward()
    return tensor.grad.tolist()
# Asking is no use.
assert torch.accelerator.is_available() and torch.accelerator.device_count() == torch.neuron.device_count() >= 1
assert torch.accelerator.current_accelerator().type == "neuron" and torch.neuron.current_device() == 0
expected = [0.0, 2.0, 4.0, 6.0]
assert in_child(use) == str(expected)
assert in_child(torch.neuron._is_in_bad_fork) == "False"
assert use() == expected
assert in_child(torch.neuron._is_in_bad_fork) == "True"
"""
    done = fresh_python(IN_CHILD + code)
    assert done.returncode == 0, done.stderr


def test_fork_while_other_threads_allocate_does_not_hang(fresh_python: RunPython) -> None:
    code = """
import threading
stop = threading.Event()
def allocate():
    while not stop.is_set():
        torch.ones(300, device="neuron")
threads = [threading.Thread(target=allocate) for _ in range(2)]
for thread in threads: thread.start()
torch.ones(1, device="neuron")
for _ in range(20):
    answer = in_child(lambda: torch.neuron.empty_cache())
    assert answer == "None", answer
stop.set()
for thread in threads: thread.join()
assert torch.ones(3, device="neuron").sum() == 3
"""
    done = fresh_python(IN_CHILD + code)
    assert done.returncode == 0, done.stderr


def test_spawned_process_has_a_device(fresh_python: RunPython) -> None:
    """As the error advises. The child is started by ``-c``, so it can import only what a module holds."""
    code = """
import multiprocessing, torch, torch_neuron_sim
torch.ones(3, device="neuron")
with multiprocessing.get_context("spawn").Pool(1) as pool:
    assert pool.apply(torch.neuron.device_count) == torch.neuron.device_count()
    properties = pool.apply(torch.neuron.get_device_properties)
    assert properties == torch.neuron.get_device_properties()
"""
    done = fresh_python(code)
    assert done.returncode == 0, done.stderr
