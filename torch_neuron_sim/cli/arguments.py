"""What the subcommands share in reading their arguments."""

from __future__ import annotations

import os
from pathlib import Path

STDOUT = "-"


class BadArgument(ValueError):
    """An argument that parses but cannot be used; the text is one line."""


def is_writable(target: str) -> bool:
    """Whether a file can be written, or made, there; STDOUT always is."""
    path = Path(target)
    return target == STDOUT or not (path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK))
