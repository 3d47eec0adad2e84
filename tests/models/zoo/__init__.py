"""Small models of every kind that people train, in plain ``torch.nn``: nothing here knows which device it runs on."""

from . import language, structured, vision

CASES = {**structured.CASES, **vision.CASES, **language.CASES}
