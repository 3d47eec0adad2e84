"""The simulated NEFF cache: what the environment says of it, and its file, if the user asked for one.

A program is known by a hash of operator, shapes, dtypes and static arguments. The file holds nothing but such hashes,
so that a later process counts a program as found on disk instead of compiled.
"""

import atexit
import fcntl
import json
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from torch_neuron_sim import _C

FOLDER = "TORCH_NEURONX_NEFF_CACHE_DIR"
DISABLE = ("TORCH_NEURONX_NEFF_DISABLE_CACHE", "TORCH_NEURONX_DISABLE_NEFF_CACHE")
MAX_ENTRIES = "NEURON_COMPILATION_CACHE_MAX_ENTRIES"
COMPILER = ("NEURON_CC_FLAGS", "NEURON_COMPILER_OPT_LEVEL")

FILE = "torch_neuron_sim_programs.json"
SCHEMA = "torch_neuron_sim.programs"
SCHEMA_VERSION = 1


class CompileCacheWarning(UserWarning):
    """The compile cache is not kept on disk, though the user asked for it."""


@dataclass(frozen=True)
class Settings:
    folder: Path | None  # where the file is to be
    disabled: bool
    max_entries: int  # of the cache in memory; 0: no limit
    compiler: str  # what a compiled program depends on besides its key


_file: Path | None = None  # in use by this process
_compiler = ""


def settings_from_environment() -> Settings:
    """What the environment says. ValueError names the variable and its legal values."""
    limit = os.environ.get(MAX_ENTRIES) or "0"
    if not (limit.isascii() and limit.isdecimal()):
        raise ValueError(f"{MAX_ENTRIES}: {limit!r} is not a legal value. Legal: a whole number; 0 means no limit")
    folder = os.environ.get(FOLDER)
    options = [f"{name}={os.environ.get(name, '')}" for name in COMPILER]
    return Settings(
        folder=Path(folder) if folder else None,
        disabled=any(os.environ.get(name) == "1" for name in DISABLE),
        max_entries=int(limit),
        compiler="; ".join([f"torch {torch.__version__}", _C.topology()["chip"], *options]),
    )


def apply(settings: Settings) -> None:
    """Configures the cache; what an earlier process kept on disk counts as found there from now on."""
    global _file, _compiler
    _C.set_compile_cache_enabled(not settings.disabled)
    _C.set_compile_cache_max_entries(settings.max_entries)
    if settings.folder is None or settings.disabled:
        return
    try:
        found = _open(settings.folder)
    except (OSError, ValueError) as error:
        warnings.warn(f"{FOLDER}: the compile cache is not kept on disk: {error}", CompileCacheWarning, stacklevel=2)
        return
    _file, _compiler = settings.folder / FILE, settings.compiler
    _C.preload_compile_cache([int(text, 16) for text in found.get(_compiler, [])])
    atexit.register(save)


def recompile_limit(count: int) -> None:
    """Sets how many sizes of one dimension (or values of one integer argument) an operator may compile for before it
    warns, once; 32 at first, 0 for never. ValueError for anything but a whole number of at least 0.
    """
    if not isinstance(count, int) or count < 0:
        raise ValueError(
            f"recompile_limit: {count!r} is not a legal number of sizes; use a whole number, 0 for no limit"
        )
    _C.set_recompile_limit(count)


def clear() -> None:
    """Forgets the programs in memory; the counters of torch_neuron_sim.metrics keep what they have counted."""
    from torch_neuron_sim import metrics
    from torch_neuron_sim.tracking import operations

    metrics.absorb()
    with operations.recordings_kept():
        _C.clear_compile_cache()


def save() -> None:
    """Adds this process's programs to the file, if there is one."""
    if _file is None:
        return
    try:
        with _locked(_file):
            found = _read(_file)
            hashes = {*found.get(_compiler, []), *(f"{number:016x}" for number in _C.compile_cache_hashes())}
            _write(_file, {**found, _compiler: sorted(hashes)})
    except (OSError, ValueError) as error:
        warnings.warn(f"{FOLDER}: the compile cache was not written: {error}", CompileCacheWarning, stacklevel=2)


def remove_file() -> None:
    """Removes the file, if there is one; this process writes it again at its end."""
    if _file is not None:
        _file.unlink(missing_ok=True)


def _open(folder: Path) -> dict[str, list[str]]:
    """What the file in ``folder`` holds. OSError or ValueError when it cannot be used."""
    folder.mkdir(parents=True, exist_ok=True)
    artifact = next((path for pattern in ("*.neff", "*/*/*.neff") for path in folder.glob(pattern)), None)
    if artifact is not None:
        raise ValueError(f"{folder} holds compiled programs of the real device ({artifact.name}); name another folder")
    with _locked(folder / FILE):
        return _read(folder / FILE)


def _read(file: Path) -> dict[str, list[str]]:
    try:
        data: Any = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError:
        data = None
    if not isinstance(data, dict) or (data.get("schema"), data.get("schema_version")) != (SCHEMA, SCHEMA_VERSION):
        raise ValueError(f"{file} is no cache file of this version; remove it, or name another folder")
    programs: dict[str, list[str]] = data["programs"]
    return programs


def _write(file: Path, programs: dict[str, list[str]]) -> None:
    """At once: a reader sees the old file or the new one."""
    part = file.with_suffix(f".{os.getpid()}")
    try:
        part.write_text(
            json.dumps({"schema": SCHEMA, "schema_version": SCHEMA_VERSION, "programs": programs}, indent=1) + "\n",
            encoding="utf-8",
        )
        part.replace(file)
    except OSError:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    """One process at a time. OSError in a folder that cannot be written to."""
    with file.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
