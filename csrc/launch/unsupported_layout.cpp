#include "launch/unsupported_layout.h"

#include <c10/util/Exception.h>

namespace neuron::launch {

void refuse_layout(const std::string& op, std::string_view layout) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, op, ": ", layout,
                              " tensors are not supported on neuron; use a dense tensor (.to_dense() or "
                              ".dequantize()), or do this step on CPU (.cpu()) and move the dense result");
}

}  // namespace neuron::launch
