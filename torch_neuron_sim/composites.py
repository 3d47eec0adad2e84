"""Operators that PyTorch would decompose, but for which TorchNeuron registers a kernel under the operator's own name.

TorchNeuron snapshot, python_ops. They are registered here too, so that they are recorded under these names. Left out:

- what allocates or copies (``clone``, ``_to_copy``, ``contiguous``, ``new_empty``): recorded as the copies they make;
- what the decomposition makes differentiable (CompositeImplicitAutograd: ``rms_norm``, ``index_select_backward``,
  ``value_selecting_reduction_backward``): a kernel of its own would cut PyTorch's autograd. The three such operators in
  the list return indices or truth values;
- out= forms of ``batch_norm_stats`` and the like, which have no CPU kernel to run.
"""

_FOREACH_OVERLOADS = {
    "add": ("List", "Scalar", "ScalarList", "Tensor"),
    "div": ("List", "Scalar", "ScalarList", "Tensor"),
    "mul": ("List", "Scalar", "ScalarList", "Tensor"),
    "sub": ("List", "Scalar", "ScalarList"),
}
_FOREACH_FORMS = ("aten::_foreach_{0}.{1}", "aten::_foreach_{0}_.{1}", "aten::_foreach_{0}.{1}_out")

COMPOSITES: tuple[str, ...] = (
    *(
        form.format(base, overload)
        for base, overloads in _FOREACH_OVERLOADS.items()
        for overload in overloads
        for form in _FOREACH_FORMS
    ),
    "aten::_foreach_norm.Scalar",
    "aten::_foreach_norm.Scalar_out",
    "aten::_fused_rms_norm",
    "aten::_grouped_mm",
    "aten::_native_multi_head_attention.out",
    "aten::abs",
    "aten::arange",
    "aten::argsort.stable",
    "aten::bitwise_left_shift.Scalar_Tensor",
    "aten::bitwise_left_shift.Scalar_Tensor_out",
    "aten::bitwise_left_shift.Tensor_Scalar",
    "aten::bitwise_left_shift.Tensor_Scalar_out",
    "aten::bitwise_right_shift.Scalar_Tensor",
    "aten::bitwise_right_shift.Scalar_Tensor_out",
    "aten::bitwise_right_shift.Tensor_Scalar",
    "aten::bitwise_right_shift.Tensor_Scalar_out",
    "aten::conj_physical_",  # its device-neutral kernel calls the function of a device that it knows
    "aten::constant_pad_nd",
    "aten::dot.out",
    "aten::embedding",
    "aten::embedding_dense_backward.out",
    "aten::eye",
    "aten::eye.m",
    "aten::flip.out",
    "aten::full",
    "aten::full.out",
    "aten::isfinite",
    "aten::isinf",
    "aten::kaiser_window",  # its device-neutral kernel has a function for each device that it knows
    "aten::kaiser_window.beta",
    "aten::kaiser_window.periodic",
    "aten::logical_and",
    "aten::logical_not",
    "aten::logical_or",
    "aten::logical_xor",
    "aten::mean",
    "aten::mean.dtype_out",
    "aten::mode.values",  # its device-neutral kernel lists the devices that it takes
    "aten::mul.Scalar",
    "aten::mul.Scalar_out",
    "aten::mv",
    "aten::mv.out",
    "aten::native_layer_norm.out",
    "aten::native_layer_norm_backward.out",
    "aten::one_hot",
    "aten::ones",
    "aten::ones.out",
    "aten::ones_like",
    "aten::relu.out",
    "aten::repeat",
    "aten::scalar_tensor",
    "aten::select_backward",
    "aten::slice_backward",
    "aten::stack",
    "aten::stack.out",
    "aten::sub.Scalar",
    "aten::sub.Scalar_out",
    "aten::sum",
    "aten::zeros",
    "aten::zeros.out",
)
