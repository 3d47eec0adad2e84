"""Decides whether the device can be provided in this process, and what happens when it cannot.

An explicit import raises. While torch imports itself nothing may: there the package steps aside and leaves
``sys.modules``, so that an explicit import later on starts afresh and raises.
"""

import importlib
import importlib.machinery
import importlib.metadata
import sys
import warnings
from pathlib import Path

import torch

_PACKAGE = "torch_neuron_sim"
_EXTENSION = f"{_PACKAGE}._C"

_refusal: Exception | None = None


class RealProductInstalled(ImportError):
    """TorchNeuron itself is installed; it and the simulator both are the device ``neuron``."""


def start() -> bool:
    """Provides the device, once. False when torch is being imported and has to do without it."""
    global _refusal
    try:
        if not _is_registered():
            _check()
            from torch_neuron_sim import registration

            registration.register()
    except Exception as error:
        if not _torch_is_importing():
            _end_command_line(error)
            raise
        _refusal = error
        return False
    return True


def finish_autoload() -> None:
    """Steps aside if start() could not provide the device: silently for TorchNeuron, else with a warning."""
    if _refusal is None:
        return
    for name in list(sys.modules):
        # The extension cannot be initialised twice in a process.
        if name == _PACKAGE or (name.startswith(_PACKAGE + ".") and name != _EXTENSION):
            del sys.modules[name]
    if not isinstance(_refusal, RealProductInstalled):
        reason = str(_refusal) if isinstance(_refusal, ImportError | ValueError) else repr(_refusal)
        warnings.warn(f"torch_neuron_sim steps aside, there is no device 'neuron': {reason}", stacklevel=3)


def _end_command_line(error: Exception) -> None:
    """Ends ``python -m torch_neuron_sim`` and ``neuron-sim`` with one line: there is no code of a user's to trace."""
    # While Python looks for the module of -m, and imports its package, the first argument is "-m".
    module = sys.argv[:1] == ["-m"] and {f"-m{_PACKAGE}", _PACKAGE} & set(sys.orig_argv)
    script = sys.argv and Path(sys.argv[0]).name == "neuron-sim"
    if isinstance(error, ImportError | ValueError) and (module or script):
        print(f"neuron-sim: error: {error}", file=sys.stderr)
        raise SystemExit(2)


def _torch_is_importing() -> bool:
    """Whether ``import torch`` is still on its way; the import system keeps this mark for its own errors."""
    return bool(getattr(torch.__spec__, "_initializing", False))


def _is_registered() -> bool:
    module = getattr(torch, "neuron", None)
    return getattr(module, "__name__", None) == f"{_PACKAGE}.neuron"


def _check() -> None:
    _refuse_real_product()
    _refuse_other_torch()
    _refuse_other_backend()
    _load_extension()


def _refuse_real_product() -> None:
    # Looks at the path, not at import hooks: the alias by which `import torch_neuronx` means the simulator is one.
    spec = importlib.machinery.PathFinder.find_spec("torch_neuronx")
    found = spec is not None and spec.origin is not None
    if not found:
        try:
            importlib.metadata.distribution("torch-neuronx")
        except importlib.metadata.PackageNotFoundError:
            return
    raise RealProductInstalled(
        "torch_neuronx is installed, and it provides the device 'neuron' itself: uninstall it (pip uninstall "
        "torch-neuronx), or use torch_neuron_sim in an environment without it"
    )


def _refuse_other_torch() -> None:
    try:
        from torch_neuron_sim._build_info import TORCH_VERSION
    except ModuleNotFoundError:
        raise ImportError(
            f"{Path(__file__).parent} is a source tree without the compiled extension: run Python from another "
            "directory to use the installed package, or build in place with 'python setup.py build_ext --inplace'"
        ) from None
    built, found = (".".join(version.split(".")[:2]) for version in (TORCH_VERSION, torch.__version__))
    if built != found:
        raise ImportError(
            f"torch_neuron_sim was built for torch {built}, but torch {torch.__version__} is installed: install torch "
            f"{built}, or build again for this torch with 'pip install --no-build-isolation .'"
        )


def _refuse_other_backend() -> None:
    name = torch._C._get_privateuse1_backend_name()
    if name not in ("privateuseone", "neuron") or hasattr(torch, "neuron"):
        raise ImportError(
            f"another backend has already registered itself as the device '{name}', and a process can have only one "
            "(PrivateUse1): uninstall that backend, or do not import it here"
        )


def _load_extension() -> None:
    try:
        importlib.import_module(_EXTENSION)
    except ImportError as error:
        raise ImportError(
            f"the compiled extension of torch_neuron_sim does not load ({error}): install the package again against "
            "this torch with 'pip install --no-build-isolation .'"
        ) from error
