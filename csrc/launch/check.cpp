#include "launch/check.h"

#include <c10/util/Exception.h>

#include "launch/nested.h"
#include "launch/unsupported_layout.h"

namespace neuron::launch {

void throw_two_devices(const std::string& op, c10::Device first, c10::Device second) {
  TORCH_CHECK(false, "Expected all tensors to be on the same device, but found at least two devices, ", first, " and ",
              second, "! (when ", op, " was called; move the tensors to one device with .to())");
}

void throw_unsupported_layout(const std::string& op, c10::Layout layout) { refuse_layout(op, c10::str(layout)); }

void throw_unsupported_layout(const std::string& op, const c10::TensorImpl* tensor) {
  // A quantized tensor's layout is strided.
  if (tensor->key_set().has(c10::DispatchKey::Quantized)) refuse_layout(op, "quantized");
  throw_unsupported_layout(op, tensor->layout());
}

void ArgumentCheck::see(const at::Tensor& tensor, const PlannedArgument& planned) {
  if (!tensor.defined()) return;
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  if (is_neuron(impl) || (is_on_neuron(impl) && is_nested(impl))) {
    nested_ |= is_nested(impl);
    const c10::Device device = impl->device();
    if (host_.has_value()) throw_two_devices(entry_.name, device, *host_);
    if (device_ < 0) device_ = device.index();
    if (device_ != device.index()) {
      throw_two_devices(entry_.name, {backend::kNeuron, static_cast<c10::DeviceIndex>(device_)}, device);
    }
    dtypes_ |= dtype_bit(tensor.scalar_type());
    return;
  }
  if (is_on_neuron(impl)) throw_unsupported_layout(entry_.name, impl);
  if (planned.host_allowed || (ArgumentScan::is_cpu_scalar(impl) && !planned.written)) return;
  if (impl->layout() != c10::kStrided) throw_unsupported_layout(entry_.name, impl);
  if (!host_.has_value()) host_ = impl->device();
  if (device_ >= 0) finish();
}

void ArgumentCheck::finish() const {
  if (!host_.has_value()) return;
  const auto index = static_cast<c10::DeviceIndex>(device_ < 0 ? backend::current_device_index : device_);
  throw_two_devices(entry_.name, {backend::kNeuron, index}, *host_);
}

}  // namespace neuron::launch
