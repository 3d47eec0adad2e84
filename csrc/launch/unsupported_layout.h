// The one refusal of tensors in a layout that the device does not have.
#pragma once

#include <string>
#include <string_view>

namespace neuron::launch {

// NotImplementedError in one line. `layout` as a user knows it: Sparse, quantized.
[[noreturn]] void refuse_layout(const std::string& op, std::string_view layout);

}  // namespace neuron::launch
