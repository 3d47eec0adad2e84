"""The warnings that tell a user that the device does not do what the program says."""

import sys
import warnings


class FallbackWarning(UserWarning):
    """An operator ran on the CPU instead of the device."""


class UnsupportedWarning(UserWarning):
    """An operator ran that raises on the real device."""


class Float64Warning(UserWarning):
    """A native operator computed float64 as float32."""


class RecompileWarning(UserWarning):
    """An operator compiled for many shapes."""


_KINDS: dict[str, tuple[type[UserWarning], str]] = {
    "fallback": (
        FallbackWarning,
        "{op} fell back to CPU{place}: {reason}. On the device its inputs move to the host and its results back. "
        "get_fallback_ops() and op_report() of torch_neuron_sim list all such operators; fallback_policy('silent') "
        "silences this warning.",
    ),
    "unsupported": (
        UnsupportedWarning,
        "{op} is not supported by TorchNeuron{place}: {reason}. The simulator runs it, the real device raises. "
        "torch_neuron_sim.op_report() lists all such operators; fallback_policy('silent') silences this warning.",
    ),
    "float64": (
        Float64Warning,
        "{op} computes float64 as float32{place}: the device has no float64. torch_neuron_sim.op_report() lists all "
        "such operators; float64_policy('silent') silences this warning, 'exact' computes in float64.",
    ),
    "recompile": (
        RecompileWarning,
        "{op} compiles again and again{place}: {reason}. On the device each new shape takes a compilation of seconds "
        "or more; pad that dimension to one size or to a few. torch_neuron_sim.op_report() lists the shapes; "
        "recompile_limit() sets the number.",
    ),
}


def emit(kind: str, op: str, reason: str, filename: str, line: int, function: str) -> None:
    """Warns at the user's line. Without one (backward runs in a thread of its own) ``function`` names autograd's node.

    What a filter turns into an error propagates to the caller of the operator.
    """
    category, text = _KINDS[kind]
    place = "" if filename or not function else f" in {function}"
    source = filename or f"<{function or 'no Python frame'}>"
    # No registry: the operator was counted as warned about already, until op tracking is cleared.
    warnings.warn_explicit(
        text.format(op=op, place=place, reason=reason.rstrip(".")), category, source, line, module=_module_of(source)
    )


def _module_of(filename: str) -> str:
    """The name of the module that runs at the user's line, as filters by module want it."""
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_code.co_filename == filename:
            return str(frame.f_globals.get("__name__", filename))
    return filename
