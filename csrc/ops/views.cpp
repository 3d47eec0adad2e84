// Views: new tensors over the same storage. No kernel runs.
#include <ATen/core/Tensor.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <torch/library.h>

#include "launch/coverage.h"
#include "launch/ledger.h"
#include "launch/registration.h"

namespace neuron::ops {
namespace {

template <auto function, class = decltype(function)>
struct RecordedView;

// PyTorch's device-neutral view function, counted under the op's name.
template <auto function, class... A>
struct RecordedView<function, at::Tensor (*)(A...)> {
  static at::Tensor call(A... arguments) {
    // TorchNeuron copies through the host for two of them, without recording it.
    if (entry->route == launch::Route::kNative) launch::ledger::count_native(*entry);
    return function(std::forward<A>(arguments)...);
  }
  static void register_in(torch::Library& library, const char* name) {
    const std::string qualified = std::string("aten::") + name;
    entry = &launch::operator_entry(qualified);
    library.impl(name, TORCH_FN(call));
    launch::note_registered_by_hand(qualified);
  }
  inline static launch::OperatorEntry* entry = nullptr;
};

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  RecordedView<&at::native::view>::register_in(library, "view");
  RecordedView<&at::native::_reshape_alias>::register_in(library, "_reshape_alias");
  RecordedView<&at::native::as_strided_tensorimpl>::register_in(library, "as_strided");
  RecordedView<&at::native::unfold>::register_in(library, "unfold");
  RecordedView<&at::native::view_as_real>::register_in(library, "view_as_real");
  RecordedView<&at::native::view_as_complex>::register_in(library, "view_as_complex");
}

}  // namespace
}  // namespace neuron::ops
