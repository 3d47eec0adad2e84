"""Writes docs/api.md from signatures, docstrings and the comments of dataclass fields.

    python tests/docs/api_reference.py

All of it is read from the source, so a module whose library is not installed (Lightning) has its place, too.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "api.md"

INTRODUCTION = """\
# API reference

Made from the docstrings by `python tests/docs/api_reference.py`. Names that begin with an underscore, and those that
are not here, may change without notice. Sizes are in bytes unless their name says otherwise. A `Device` is an index, a
name such as `"neuron:1"`, or a `torch.device`; None, and a device without an index, mean the current one; an index out
of range is a ValueError.
"""


@dataclass(frozen=True)
class Section:
    """A module of the page: its ``__all__``, or ``names``, each as ``name`` or ``submodule.name``."""

    module: str
    text: str
    names: tuple[str, ...] = ()
    title: str = ""  # else the module's name


SECTIONS = (
    Section("torch_neuron_sim", "Tracking, policies and reports."),
    Section(
        "torch_neuron_sim.neuron",
        "The device module, as on TorchNeuron; `torch_neuron_sim.neuron` is the same.",
        title="torch.neuron",
    ),
    Section("torch_neuron_sim.testing", "For tests of your own: [testing.md](testing.md).", ("parity.assert_parity",)),
    Section(
        "torch_neuron_sim.testing.plugin",
        'The pytest plugin, by `pytest_plugins = ["torch_neuron_sim.testing.plugin"]`. Besides the fixture it has the '
        "marker `no_fallback`, or `no_fallback(allow=[names])`.",
        ("neuron_device",),
    ),
    Section("torch_neuron_sim.hardware", "The simulated instance and its constants: [hardware.md](hardware.md)."),
    Section("torch_neuron_sim.metrics", "Counters of the simulated compile cache, as on TorchNeuron."),
    Section(
        "torch_neuron_sim.report",
        "Reading reports, and what an `OpReport` holds: [report.md](report.md).",
        (
            "data.load",
            "rows.OpRow",
            "rows.CallSite",
            "outcome.Outcome",
            "verdict.Verdict",
            "compilations.Compilations",
            "compilations.CompileKey",
            "compilations.TensorKey",
            "recompiles.Multiplied",
            "peaks.DeviceMemory",
            "timing.Times",
            "device_time.DeviceTime",
            "device_time.OpTime",
            "timeline.Timeline",
            "advice.Advice",
            "compare.Comparison",
            "compare.Change",
        ),
    ),
    Section("torch_neuron_sim.integrations.lightning", "Needs the package `lightning`.", ("NeuronStrategy",)),
)

# By which the package fills its objects, or which say nothing that the class does not.
LEFT_OUT = {
    "Chip": ("model", "with_values"),
    "Compilations": ("minus", "plus"),
    "CompileKey": ("identity",),
    "DeviceTime": ("minus", "plus"),
    "NeuronStrategy": ("setup_environment",),
    "OpReport": ("add", "empty", "heading", "of_process"),
    "OpRow": ("key",),
    "Outcome": ("of",),
    "Times": ("until_now",),
}


@dataclass(frozen=True)
class Definition:
    """A function or class in its source."""

    node: ast.FunctionDef | ast.ClassDef
    lines: list[str]  # of its file

    @property
    def text(self) -> str:
        found = ast.get_docstring(self.node)
        if not found:
            raise ValueError(f"{self.node.name} has no docstring")
        return found

    @property
    def functions(self) -> dict[str, ast.FunctionDef]:
        return {child.name: child for child in self.node.body if isinstance(child, ast.FunctionDef)}


def page() -> str:
    return "\n".join([INTRODUCTION, *(part for section in SECTIONS for part in _section(section))])


def names(section: Section) -> Iterator[tuple[str, str]]:
    """Module and name of everything in a section."""
    if section.names:
        for name in section.names:
            submodule, _, last = f"{section.module}.{name}".rpartition(".")
            yield submodule, last
        return
    module = importlib.import_module(section.module)
    for name in module.__all__:
        found = getattr(module, name)
        if not name.startswith("_") and not inspect.ismodule(found):
            yield found.__module__, found.__name__


def _section(section: Section) -> Iterator[str]:
    yield f"## {section.title or section.module}\n\n{section.text}\n"
    for module, name in names(section):
        yield from _entry(_find(module, name))


def _find(module: str, name: str) -> Definition:
    file = ROOT.joinpath(*module.split("."))
    source = (file / "__init__.py" if file.is_dir() else file.with_suffix(".py")).read_text(encoding="utf-8")
    # The last one: overloads come before what they describe.
    found = [
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name
    ]
    if not found:
        raise ValueError(f"{module} does not define {name}")
    return Definition(found[-1], source.splitlines())


def _entry(found: Definition) -> Iterator[str]:
    node = found.node
    if isinstance(node, ast.FunctionDef):
        yield f"### `{node.name}{_signature(node)}`\n\n{_markdown(found.text)}\n"
        return
    maker = found.functions.get("__init__") or found.functions.get("__new__")
    made_with = _signature(maker, bound=True) if maker else _bases(node)
    members = [*_fields(found), *_methods(found)]
    yield f"### `class {node.name}{made_with}`\n\n{_markdown(found.text)}\n"
    if members:
        yield "\n".join(members) + "\n"


def _bases(node: ast.ClassDef) -> str:
    return f"({', '.join(ast.unparse(base) for base in node.bases)})" if node.bases else ""


def _fields(found: Definition) -> Iterator[str]:
    """What a dataclass holds, with the comments that follow the fields."""
    for child in found.node.body:
        if isinstance(child, ast.AnnAssign) and isinstance(child.target, ast.Name):
            assert child.end_lineno is not None
            comment = found.lines[child.end_lineno - 1].partition("  # ")[2]
            about = f": {_markdown(comment)}" if comment else ""
            yield f"- `{child.target.id}: {_annotation(child.annotation)}`{about}"


def _methods(found: Definition) -> Iterator[str]:
    for name, method in found.functions.items():
        if name.startswith("_") or name in LEFT_OUT.get(found.node.name, ()):
            continue
        text = ast.get_docstring(method)
        if not text:
            raise ValueError(f"{found.node.name}.{name} has no docstring")
        is_property = any(isinstance(each, ast.Name) and each.id == "property" for each in method.decorator_list)
        bound = not any(isinstance(each, ast.Name) and each.id == "staticmethod" for each in method.decorator_list)
        shown = f"{name}: {_annotation(method.returns)}" if is_property else name + _signature(method, bound=bound)
        yield f"- `{shown}`: {_one_line(_markdown(text))}"


def _signature(node: ast.FunctionDef, bound: bool = False) -> str:
    """``bound``: without the first parameter, which is self or cls."""
    copy = ast.parse(ast.unparse(node)).body[0]
    assert isinstance(copy, ast.FunctionDef)
    parameters = copy.args
    if bound:
        del (parameters.posonlyargs or parameters.args)[0]
    for each in _parameters(parameters):
        if each.annotation is not None:
            each.annotation = ast.parse(_annotation(each.annotation), mode="eval").body
    # A private default stands for "not given".
    private = [isinstance(each, ast.Name) and each.id.startswith("_") for each in parameters.defaults]
    parameters.defaults = [
        ast.Constant(...) if hide else each for each, hide in zip(parameters.defaults, private, strict=True)
    ]
    is_maker = node.name in ("__init__", "__new__")
    returns = "" if is_maker or node.returns is None else f" -> {_annotation(node.returns)}"
    return f"({re.sub('=', ' = ', ast.unparse(parameters))}){returns}"


def _parameters(parameters: ast.arguments) -> Iterable[ast.arg]:
    yield from (*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs)
    yield from (each for each in (parameters.vararg, parameters.kwarg) if each is not None)


def _annotation(node: ast.expr | None) -> str:
    """Without the quotes of forward references."""
    assert node is not None
    return ast.unparse(node).replace("'", "") if isinstance(node, ast.Constant) else ast.unparse(node)


def _markdown(text: str) -> str:
    """Docstring markup as Markdown: literals, and the lists under Args and Raises."""
    lines: list[str] = []
    for line in text.replace("``", "`").splitlines():
        entry = re.fullmatch(r" {4}(\w[\w, ]*): (.*)", line)
        if line in ("Args:", "Raises:"):
            lines += [line, ""]
        elif entry is not None:
            lines.append(f"- `{entry[1]}`: {entry[2]}")
        else:
            lines.append(re.sub(r"^ {8}", "  ", line))
    return "\n".join(lines)


def _one_line(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
