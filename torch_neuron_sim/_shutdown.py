"""Waits, when the interpreter ends, until autograd's device threads are idle.

PyTorch's engine runs backward for a device in a thread of its own, which lets go of the finished graph after it has
told the caller so. Letting go needs the GIL; a thread that asks for it once the interpreter is being finalised is ended
by force, inside C++ code that may not be left so, and the process aborts. A script that ends right after ``backward()``
would do that now and then.
"""

import atexit
import time
from pathlib import Path

_THREAD_NAMES = "pt_autograd_"
_LIMIT_S = 2.0
_POLL_S = 0.001


def _busy() -> bool:
    """Whether one of the engine's device threads is running, by Linux's /proc/self/task/*/stat."""
    for task in Path("/proc/self/task").iterdir():
        try:
            _, _, rest = (task / "stat").read_text().partition("(")
        except OSError:  # the thread has just ended
            continue
        name, _, rest = rest.rpartition(")")
        if name.startswith(_THREAD_NAMES) and rest.split()[0] != "S":
            return True
    return False


def wait_for_autograd() -> None:
    """Returns when the threads were idle twice in a row; sleeping gives them the GIL. At most two seconds."""
    idle, end = 0, time.monotonic() + _LIMIT_S
    while idle < 2 and time.monotonic() < end:
        time.sleep(_POLL_S)
        idle = 0 if _busy() else idle + 1


def install() -> None:
    """Registers the wait to run at exit, before the interpreter is finalised."""
    atexit.register(wait_for_autograd)
