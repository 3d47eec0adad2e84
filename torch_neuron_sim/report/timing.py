"""How long a program ran here: until the last compilation, and after it."""

from dataclasses import dataclass

from torch_neuron_sim import _C


@dataclass(frozen=True)
class Times:
    """Nanoseconds of one steady clock."""

    begin: int  # the first device operator of the process, or the begin of the block
    last_compilation: int  # when the last new compile key appeared; begin if none did
    end: int

    @property
    def wall_s(self) -> float:
        """Seconds on the machine that ran the simulator; so are the others."""
        return (self.end - self.begin) / 1e9

    @property
    def first_run_s(self) -> float:
        """On the real device this part contains the compilations."""
        return (self.last_compilation - self.begin) / 1e9

    @property
    def steady_s(self) -> float:
        """After the last new compile key."""
        return (self.end - self.last_compilation) / 1e9

    def until_now(self) -> "Times":
        """The same begin. A compilation before it is not of this period."""
        stats = _C.compile_cache_stats()
        return Times(self.begin, max(self.last_compilation, stats["last_compilation_ns"]), stats["now_ns"])


def now() -> int:
    return _C.compile_cache_stats()["now_ns"]


def starting_at(begin: int) -> Times:
    return Times(begin, begin, begin)


def of_process() -> Times | None:
    """From the first device operator to now; None before there was one."""
    begin = _C.compile_cache_stats()["first_op_ns"]
    return starting_at(begin).until_now() if begin > 0 else None
