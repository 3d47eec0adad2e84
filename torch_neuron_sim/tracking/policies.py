"""Process-wide choices: what happens on a fallback, what becomes of float64, where random numbers come from.

Each is a function: called with a value it sets, and what it returns restores the previous value at the end of a
``with`` block; called without one it returns the value in force. They hold for all threads, because backward runs in
others.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, overload

from torch_neuron_sim import _C


@dataclass(frozen=True)
class Policy:
    name: str  # of the public function
    variable: str  # of the environment
    values: tuple[str, ...]  # the first is the default
    read: Callable[[], str]
    write: Callable[[str], None]

    def set(self, value: str) -> "PolicyChange":
        self.check(value, self.name)
        change = PolicyChange(self, self.read())
        self.write(value)
        return change

    def from_environment(self) -> str:
        value = os.environ.get(self.variable) or self.values[0]
        self.check(value, self.variable)
        return value

    def check(self, value: str, where: str) -> None:
        if value not in self.values:
            raise ValueError(f"{where}: {value!r} is not a legal value. Legal: {', '.join(self.values)}")


@dataclass(frozen=True)
class PolicyChange:
    """A policy was set; as a context manager, puts the previous value back."""

    policy: Policy
    previous: str

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.policy.write(self.previous)


_FALLBACK = Policy(
    "fallback_policy",
    "TORCH_NEURON_SIM_FALLBACK",
    ("warn", "silent", "error"),
    _C.fallback_policy,
    _C.set_fallback_policy,
)
_FLOAT64 = Policy(
    "float64_policy",
    "TORCH_NEURON_SIM_FLOAT64",
    ("warn", "silent", "error", "exact"),
    _C.float64_policy,
    _C.set_float64_policy,
)
_RNG = Policy("rng_mode", "TORCH_NEURON_SIM_RNG", ("shared", "device"), _C.rng_mode, _C.set_rng_mode)

POLICIES = (_FALLBACK, _FLOAT64, _RNG)

# What an argument is that was not given: None, which a caller's variable may hold by mistake, is no legal value.
_NOT_GIVEN: Any = object()


def environment_values() -> dict[Policy, str]:
    """What the environment asks for, or the default. ValueError names the variable and its legal values."""
    return {policy: policy.from_environment() for policy in POLICIES}


@overload
def fallback_policy() -> str: ...
@overload
def fallback_policy(policy: str) -> PolicyChange: ...
def fallback_policy(policy: str = _NOT_GIVEN) -> str | PolicyChange:
    """What happens when an operator does not run on the device: ``warn`` (once for each operator), ``silent``, or
    ``error`` (RuntimeError before it runs). ValueError for anything else.
    """
    return _FALLBACK.read() if policy is _NOT_GIVEN else _FALLBACK.set(policy)


@overload
def float64_policy() -> str: ...
@overload
def float64_policy(policy: str) -> PolicyChange: ...
def float64_policy(policy: str = _NOT_GIVEN) -> str | PolicyChange:
    """What native operators do with float64: compute it as float32 and widen the result, with a warning (``warn``) or
    without (``silent``); raise RuntimeError (``error``); or compute in float64, which the device cannot (``exact``).
    ValueError for anything else.
    """
    return _FLOAT64.read() if policy is _NOT_GIVEN else _FLOAT64.set(policy)


@overload
def rng_mode() -> str: ...
@overload
def rng_mode(mode: str) -> PolicyChange: ...
def rng_mode(mode: str = _NOT_GIVEN) -> str | PolicyChange:
    """Where sampling on the device draws from: the CPU's default generator, as on TorchNeuron (``shared``), or a stream
    of each device's own (``device``; seed after choosing it). ValueError for anything else.
    """
    return _RNG.read() if mode is _NOT_GIVEN else _RNG.set(mode)
