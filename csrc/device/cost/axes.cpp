#include "device/cost/axes.h"

#include "device/cost/traffic.h"

namespace neuron::device::cost {

Axes axes_of(const Operand& operand, std::span<const int64_t> dims) {
  const auto rank = static_cast<int64_t>(operand.sizes.size());
  int64_t last = rank - 1;
  while (last > 0 && operand.sizes[static_cast<size_t>(last)] == 1) --last;
  Axes result;
  result.all = numel(operand);
  const auto along = [&](int64_t dim) {
    const auto size = static_cast<double>(operand.sizes[static_cast<size_t>(dim)]);
    (dim == last ? result.last : result.others) *= size;
  };
  if (dims.empty()) {
    for (int64_t dim = 0; dim < rank; ++dim) along(dim);
  }
  for (int64_t dim : dims) {
    if (dim < 0) dim += rank;
    if (dim >= 0 && dim < rank) along(dim);
  }
  return result;
}

}  // namespace neuron::device::cost
