"""How a program, or a block of one, ended."""

from dataclasses import dataclass

COMPLETED, RAISED, EXITED = "completed", "raised", "exited"


@dataclass(frozen=True)
class Outcome:
    """How it ended."""

    kind: str  # completed, raised, or exited: by sys.exit()
    type: str = ""  # of the exception, e.g. torch.OutOfMemoryError; only for raised
    message: str = ""  # of the exception, or what sys.exit() was given instead of a number
    exit_code: int | None = None  # only for exited

    @classmethod
    def of(cls, error: BaseException | None) -> "Outcome":
        """The outcome of code that raised ``error``, or nothing (None). SystemExit becomes ``exited``."""
        if error is None:
            return cls(COMPLETED)
        if isinstance(error, SystemExit):
            if error.code is None or isinstance(error.code, int):
                return cls(EXITED, exit_code=int(error.code or 0))
            return cls(EXITED, message=str(error.code), exit_code=1)  # the interpreter prints it, and exits with 1
        kind = type(error)
        name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
        return cls(RAISED, type=name, message=str(error))

    @property
    def ok(self) -> bool:
        """Completed, or exit code 0."""
        return self.kind == COMPLETED or (self.kind == EXITED and self.exit_code == 0)

    def __str__(self) -> str:
        if self.kind == COMPLETED:
            return "completed"
        if self.kind == EXITED:
            return f"exit code {self.exit_code}" + (f": {_first_line(self.message)}" if self.message else "")
        return f"raised {self.type}" + (f": {_first_line(self.message)}" if self.message else "")


def _first_line(message: str) -> str:
    return message.strip().partition("\n")[0]
