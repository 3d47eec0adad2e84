"""The dynamo backend ``neuron``: eager execution, and a warning that says so."""

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import torch
import torch._dynamo.config
from torch._inductor import list_mode_options

from torch_neuron_sim import coverage
from torch_neuron_sim.dynamo import graph_ops
from torch_neuron_sim.dynamo.errors import refuse
from torch_neuron_sim.dynamo.statistics import CompileWarning, statistics

_NOT_USER_CODE = (str(Path(torch.__file__).parent), str(Path(__file__).parents[1]))


def pass_through(
    graph: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Callable[..., Any]:
    """Returns the graph itself, after one CompileWarning for each set of operators that the real compile fails on.

    ``mode`` may be any that PyTorch knows and, like ``options``, changes nothing. RuntimeError for another mode, and
    for ``dynamic=True``: the Neuron backend compiles fixed shapes only (a comment in transformers' trainer.py).
    """
    if not torch._dynamo.config.assume_static_by_default:  # what dynamic=True sets
        refuse(
            "torch.compile(backend='neuron', dynamic=True): the Neuron backend compiles fixed shapes only. Pass "
            "dynamic=False, and pad or bucket inputs whose shapes vary"
        )
    if mode is not None and mode not in list_mode_options():
        legal = ", ".join(list_mode_options())
        refuse(f"torch.compile(backend='neuron', mode={mode!r}): unknown mode. Legal: {legal}")
    operators = graph_ops.operators(graph, example_inputs)
    missing = graph_ops.not_native(operators)
    symbolic = any(isinstance(value, torch.SymInt) for value in example_inputs)
    statistics.graphs += 1
    statistics.operators += len(operators)
    statistics.refused_graphs += bool(missing or symbolic)
    _warn(_text(missing, symbolic, options))
    return graph.forward


def _text(missing: Sequence[str], symbolic: bool, options: Mapping[str, Any] | None) -> str:
    parts = ["torch.compile(backend='neuron'): nothing is compiled, the captured graph runs eagerly, op by op."]
    if missing:
        parts.append(
            f"The real compile fails on {', '.join(missing)}: not native by the coverage table "
            f"{coverage.coverage_name()}."
        )
    if symbolic:
        parts.append("It fails on the graph's dynamic shapes, too: pass dynamic=False.")
    if options:
        parts.append(f"Ignored options: {', '.join(map(str, options))}.")
    return " ".join(parts)


def _warn(text: str) -> None:
    """Once for each text until reset_dynamo_metrics(), at the user's line."""
    if text in statistics.warned:
        return
    frame: FrameType = sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_NOT_USER_CODE):
        frame = frame.f_back
    place = frame.f_code.co_filename
    warnings.warn_explicit(text, CompileWarning, place, frame.f_lineno, module=frame.f_globals.get("__name__"))
    statistics.warned.add(text)
