"""The error for what is not compiled. It needs ``torch._dynamo``, which shortens its traceback to the user's part."""

import inspect
from typing import NoReturn

from torch._dynamo.exc import ShortenTraceback


class NotCompiledError(ShortenTraceback):
    """torch.compile cannot do this for the device ``neuron``. A RuntimeError, as all of torch._dynamo's are."""


def refuse(text: str) -> NoReturn:
    raise NotCompiledError(text, first_useful_frame=inspect.currentframe())
