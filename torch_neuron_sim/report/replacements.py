"""Operators without a native kernel that others, which have one, can stand in for."""

from typing import NamedTuple


class Replacement(NamedTuple):
    text: str  # what to write instead, and where it differs
    ops: tuple[str, ...]  # that it needs, by the dispatcher's full name


REPLACEMENTS = {
    "aten::argmax": Replacement("x.max(dim).indices gives the same where there are no ties", ("aten::max.dim",)),
    "aten::argmin": Replacement(
        "(-x).max(dim).indices gives the same where there are no ties", ("aten::neg", "aten::max.dim")
    ),
    "aten::maximum": Replacement(
        "torch.where(a > b, a, b) gives the same without NaN and ties", ("aten::gt.Tensor", "aten::where.self")
    ),
    "aten::minimum": Replacement(
        "torch.where(a < b, a, b) gives the same without NaN and ties", ("aten::lt.Tensor", "aten::where.self")
    ),
    "aten::mse_loss": Replacement(
        "(input - target).pow(2).mean() gives the same, up to rounding",
        ("aten::sub.Tensor", "aten::pow.Tensor_Scalar", "aten::mean"),
    ),
    "aten::leaky_relu": Replacement(
        "torch.where(x > 0, x, x * slope) gives the same",
        ("aten::gt.Scalar", "aten::mul.Tensor", "aten::where.self"),
    ),
    "aten::hardtanh": Replacement("x.clamp(low, high) gives the same", ("aten::clamp",)),
    "aten::log2": Replacement(
        "x.log() * (1 / math.log(2)) gives the same, up to rounding", ("aten::log", "aten::mul.Tensor")
    ),
    "aten::log10": Replacement(
        "x.log() * (1 / math.log(10)) gives the same, up to rounding", ("aten::log", "aten::mul.Tensor")
    ),
    "aten::tan": Replacement(
        "x.sin() / x.cos() gives the same, up to rounding", ("aten::sin", "aten::cos", "aten::div.Tensor")
    ),
    "aten::baddbmm": Replacement(
        "torch.bmm(a, b) + input gives the same, up to rounding", ("aten::bmm", "aten::add.Tensor")
    ),
}
