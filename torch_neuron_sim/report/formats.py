"""Numbers and paths as people read them."""

import os

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def format_bytes(count: int) -> str:
    """Bytes in the largest binary unit that leaves a number of at least 1."""
    power = min(max(count.bit_length() - 1, 0) // 10, len(_UNITS) - 1)
    return f"{count} B" if power == 0 else f"{count / 1024**power:.1f} {_UNITS[power]}"


def format_seconds(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} us"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"


def format_share(part: float, whole: float) -> str:
    """``part`` of ``whole`` in per cent; what is not nothing does not become 0, and what is not all not 100."""
    share = 100 * part / whole
    if 0 < share < 0.1:
        return "<0.1 %"
    if 99.9 < share < 100:
        return ">99.9 %"
    return f"{share:.1f} %"


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def relative(path: str) -> str:
    """A path below the current directory without the directory, any other as it is."""
    try:
        here = os.path.join(os.getcwd(), "")
    except FileNotFoundError:  # the current directory was removed
        return path
    return path.removeprefix(here)
