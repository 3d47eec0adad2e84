"""Lets a script written for CUDA run on ``neuron`` for a first look: the device name "cuda" means neuron.

Device names and devices are replaced where PyTorch's functions take them, by a TorchFunctionMode; functions of
``torch.cuda`` that ``torch.neuron`` has as well, and a few classes that keep the name of a device, are replaced for
callers outside torch. Tensors say ``neuron:0``: a script that compares names of devices takes another branch here.
"""

import functools
import inspect
import re
import sys
from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import Any

import torch
import torch.overrides
from torch.amp.autocast_mode import autocast
from torch.amp.grad_scaler import GradScaler
from torch.overrides import TorchFunctionMode

# Names of torch.cuda that torch.neuron has, too.
CLASSES = ("Event", "Stream")
FUNCTIONS = (
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "empty_cache",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
)

_CUDA = re.compile(r"cuda(:[0-9]+)?")


class MapCuda(TorchFunctionMode):
    """Within the ``with`` block and in its thread, "cuda" means neuron. ``mapped`` counts what was replaced, by name.

    ``torch.cuda`` and the classes are replaced for all threads.
    """

    def __init__(self) -> None:
        super().__init__()
        self.mapped: Counter[str] = Counter()
        self._originals: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> "MapCuda":
        self._replace_functions()
        self._replace_others()
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, traceback)  # type: ignore[no-untyped-call]
        for owner, name, original in reversed(self._originals):
            setattr(owner, name, original)
        self._originals.clear()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is torch.Tensor.cuda:
            return self._tensor_cuda(*args, **kwargs)
        if func == _IS_CUDA:
            return args[0].device.type == "neuron"
        args = tuple(self._device(value, func) for value in args)
        return func(*args, **{key: self._device(value, func) for key, value in kwargs.items()})

    def _device(self, value: Any, where: Any) -> Any:
        """Replaces and counts. ``where`` is the function that takes the value, or its name."""
        replaced = _replaced(value)
        if replaced is not value:
            self.mapped[where if isinstance(where, str) else _name(where)] += 1
        return replaced

    def _tensor_cuda(
        self,
        tensor: torch.Tensor,
        device: Any = None,
        non_blocking: bool = False,
        memory_format: torch.memory_format = torch.preserve_format,
    ) -> torch.Tensor:
        self.mapped["Tensor.cuda"] += 1
        if isinstance(device, int):
            device = torch.device("neuron", device)
        device = torch.device("neuron") if device is None else _replaced(device)
        return tensor.to(device, non_blocking=non_blocking, memory_format=memory_format)

    def _replace_functions(self) -> None:
        neuron = torch.get_device_module("neuron")
        for name in CLASSES:
            self._replace(torch.cuda, name, getattr(neuron, name))
        for name in FUNCTIONS:
            self._replace(torch.cuda, name, self._chosen(getattr(torch.cuda, name), getattr(neuron, name), name))

    def _chosen(self, original: Any, ours: Any, name: str) -> Callable[..., Any]:
        """Ours for the script and the libraries it uses; torch itself goes on asking about CUDA."""

        @functools.wraps(original, updated=())
        def choose(*args: Any, **kwargs: Any) -> Any:
            if _called_by_torch():
                return original(*args, **kwargs)
            self.mapped[f"torch.cuda.{name}"] += 1
            return ours(*map(_replaced, args), **{key: _replaced(value) for key, value in kwargs.items()})

        return choose

    def _replace_others(self) -> None:
        """What takes the name of a device, and is unknown to the mode."""
        for owner, parameter in ((autocast, "device_type"), (GradScaler, "device")):
            self._replace(owner, "__init__", self._named(owner.__init__, parameter, f"torch.amp.{owner.__name__}"))
        self._replace(torch, "Generator", self._generator())
        self._replace(torch, "load", self._named(torch.load, "map_location", "torch.load", self._restore))

    def _named(self, original: Callable[..., Any], parameter: str, where: str, default: Any = None) -> Any:
        """The same, with ``parameter`` replaced if it names CUDA, and by ``default`` if it is None."""
        signature = inspect.signature(original)

        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            value = self._device(bound.arguments[parameter], where)
            bound.arguments[parameter] = default if value is None else value
            return original(*bound.args, **bound.kwargs)

        return call

    def _restore(self, storage: Any, location: str) -> Any:
        """Where torch.load puts a storage that was saved at ``location``."""
        place = self._device(location, "torch.load")
        return torch.serialization.default_restore_location(storage, place)  # type: ignore[no-untyped-call]

    def _generator(self) -> type:
        """Stands in for torch.Generator, which is final in all but name."""
        original, replace = torch.Generator, self._device

        class Kind(type):
            def __instancecheck__(cls, instance: Any) -> bool:
                return isinstance(instance, original)

        class Generator(metaclass=Kind):
            def __new__(cls, device: Any = "cpu") -> Any:
                return original(device=replace(device, "torch.Generator"))

        return Generator

    def _replace(self, owner: Any, name: str, value: Any) -> None:
        self._originals.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    def summary(self) -> str:
        """What was replaced, one line."""
        if not self.mapped:
            return '--map-cuda: nothing asked for "cuda"'
        counts = ", ".join(f"{name} ({count})" for name, count in self.mapped.items())
        return f'--map-cuda: "cuda" was taken for neuron in {counts}'


_IS_CUDA = torch.Tensor.is_cuda.__get__  # type: ignore[attr-defined]


def _replaced(value: Any) -> Any:
    """The same value, unless it is a device, or the name of one, that means CUDA."""
    if not (isinstance(value, str | torch.device) and _CUDA.fullmatch(str(value))):
        return value
    name = str(value).replace("cuda", "neuron")
    return name if isinstance(value, str) else torch.device(name)


def _called_by_torch() -> bool:
    """Whether the caller of the caller is torch itself."""
    module = str(sys._getframe(2).f_globals.get("__name__", ""))
    return module == "torch" or module.startswith("torch.")


def _name(func: Any) -> str:
    if func is torch._C._nn._parse_to:
        return "Module.to"
    return (torch.overrides.resolve_name(func) or f"torch.{func.__name__}").replace("torch.Tensor.", "Tensor.")
