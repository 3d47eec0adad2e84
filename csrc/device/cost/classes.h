// One function for each class of op. Each returns the work of the engines and the traffic; latency, ramp and total come
// from estimate(). Empty tensors do not get here.
#pragma once

#include "device/cost/chip.h"
#include "device/cost/work.h"

namespace neuron::device::cost {

// To the host, with no part of the device in it.
Estimate host(const Work& work, const Chip& chip);
// The output alone moves.
Estimate fill(const Work& work, const Chip& chip);
// Inputs are read, outputs written; a permuted side is transposed.
Estimate copy(const Work& work, const Chip& chip);
// A copy whose input is transposed, whatever its strides say (pixel_shuffle).
Estimate transpose(const Work& work, const Chip& chip);

Estimate unary(const Work& work, const Chip& chip);
// Without two inputs of more than one element it is unary.
Estimate binary(const Work& work, const Chip& chip);
// As the passes say.
Estimate elementwise(const Work& work, const Chip& chip);
Estimate transcendental(const Work& work, const Chip& chip);
// A reciprocal and a product, on the Vector engine.
Estimate division(const Work& work, const Chip& chip);
// On GpSimd.
Estimate power(const Work& work, const Chip& chip);
// iota and affine_select, on GpSimd.
Estimate affine(const Work& work, const Chip& chip);

// Along the last dimension on the Vector engine; along others over partitions, by the Tensor engine.
Estimate reduction(const Work& work, const Chip& chip);
Estimate scan(const Work& work, const Chip& chip);
// One pass over HBM. Along a dimension that is not the last, with a transpose each way.
Estimate softmax(const Work& work, const Chip& chip);
Estimate norm(const Work& work, const Chip& chip);

// Inputs: a (.., M, K), b (.., K, N), as torch.matmul takes them; then what is added.
Estimate matmul(const Work& work, const Chip& chip);
// Inputs: x (.., K), weight (N, K), bias.
Estimate linear(const Work& work, const Chip& chip);
// Inputs: grad_output (.., N), x (.., K), weight (N, K). Outputs: the gradients of x, weight, bias; absent ones are
// free.
Estimate linear_backward(const Work& work, const Chip& chip);
// Inputs: input (B, C, ..), weight, bias. As a matmul over patches that are made on chip.
Estimate convolution(const Work& work, const Chip& chip);
// Inputs: grad_output, input, weight. Outputs: the gradients of input, weight, bias.
Estimate convolution_backward(const Work& work, const Chip& chip);
// Inputs: query (B, H, S, D), key (B, h, T, D), value (B, h, T, E), bias. The scores stay on chip; a causal mask saves
// nothing.
Estimate attention(const Work& work, const Chip& chip);
// Inputs: grad_output, query, key, value, and what the forward pass left. Recomputes the scores.
Estimate attention_backward(const Work& work, const Chip& chip);

// Inputs: source, indices. A descriptor for each row, or element, that moves.
Estimate gather(const Work& work, const Chip& chip);
// Inputs: destination, values, indices.
Estimate scatter(const Work& work, const Chip& chip);
// Along `dims`, `count` largest or all.
Estimate sort(const Work& work, const Chip& chip);

}  // namespace neuron::device::cost
