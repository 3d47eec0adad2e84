"""What was handed to the backend ``neuron``, and which warnings it has given."""

from dataclasses import dataclass, field


class CompileWarning(UserWarning):
    """What torch.compile(backend="neuron") was given runs eagerly, and may not compile on the real device."""


@dataclass
class Statistics:
    graphs: int = 0
    operators: int = 0
    refused_graphs: int = 0
    warned: set[str] = field(default_factory=set)  # texts of the warnings given


statistics = Statistics()


def get_dynamo_metrics() -> dict[str, int]:
    """Counts since the start or reset_dynamo_metrics(): ``graphs`` handed to the backend ``neuron``, the ``operators``
    in them (each once a graph), and ``graphs_that_would_fail``, those on which the real compile fails. TorchNeuron's
    own keys are not published; these are ours.
    """
    return {
        "graphs": statistics.graphs,
        "operators": statistics.operators,
        "graphs_that_would_fail": statistics.refused_graphs,
    }


def reset_dynamo_metrics() -> None:
    """Sets the counts to zero, and lets each CompileWarning come again."""
    statistics.graphs = statistics.operators = statistics.refused_graphs = 0
    statistics.warned.clear()
