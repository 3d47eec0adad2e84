#include "backend/generator.h"

#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/GeneratorImpl.h>

#include <atomic>
#include <vector>

#include "backend/runtime.h"

namespace neuron::backend {
namespace {

std::atomic<RngMode> mode{RngMode::kShared};

// Draws with a CPU generator: its own, or, for a device's default generator in shared mode, the CPU's default one.
class NeuronGenerator final : public c10::GeneratorImpl {
 public:
  NeuronGenerator(c10::DeviceIndex device, at::Generator own, bool is_default)
      : GeneratorImpl(c10::Device(kNeuron, device), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
        own_(std::move(own)),
        is_default_(is_default) {}

  const at::Generator& cpu() const {
    return is_default_ && rng_mode() == RngMode::kShared ? at::detail::getDefaultCPUGenerator() : own_;
  }

  void set_current_seed(uint64_t seed) override { impl().set_current_seed(seed); }
  // CPU generators have no offset, and say so by raising; pickling a device generator asks for one.
  void set_offset(uint64_t offset) override {
    TORCH_CHECK(offset == 0, "neuron generators draw as CPU's do and have no offset; got ", offset,
                ", use get_state()");
  }
  uint64_t get_offset() const override { return 0; }
  uint64_t current_seed() const override { return impl().current_seed(); }
  uint64_t seed() override { return impl().seed(); }
  void set_state(const c10::TensorImpl& state) override { impl().set_state(state); }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override { return impl().get_state(); }
  static c10::DeviceType device_type() { return kNeuron; }

 private:
  c10::GeneratorImpl& impl() const { return *cpu().unsafeGetGeneratorImpl(); }
  // A clone continues from the state that this generator has now, but never shares it.
  NeuronGenerator* clone_impl() const override { return new NeuronGenerator(device().index(), cpu().clone(), false); }

  at::Generator own_;
  const bool is_default_;
};

}  // namespace

RngMode rng_mode() { return mode.load(std::memory_order_relaxed); }
void set_rng_mode(RngMode next) { mode = next; }

const at::Generator& default_generator(int device) {
  static const std::vector<at::Generator> generators = [] {
    std::vector<at::Generator> made;
    for (int i = 0; i < device_count(); ++i) {
      at::Generator own = at::detail::createCPUGenerator();
      own.seed();
      made.push_back(at::make_generator<NeuronGenerator>(static_cast<c10::DeviceIndex>(i), std::move(own), true));
    }
    return made;
  }();
  if (device < 0) device = current_device_index;
  check_device_index(device);
  return generators[device];
}

at::Generator new_generator(int device) {
  if (device < 0) device = current_device_index;
  check_device_index(device);
  return at::make_generator<NeuronGenerator>(static_cast<c10::DeviceIndex>(device), at::detail::createCPUGenerator(),
                                             false);
}

at::Generator cpu_generator_for(const std::optional<at::Generator>& generator, int device) {
  const at::Generator& chosen = generator.has_value() && generator->defined() ? *generator : default_generator(device);
  TORCH_CHECK(chosen.device().type() == kNeuron, "Expected a 'neuron' device type for generator but found '",
              chosen.device().type(), "'; make it with torch.Generator(device=\"neuron\")");
  return static_cast<NeuronGenerator*>(chosen.unsafeGetGeneratorImpl())->cpu();
}

}  // namespace neuron::backend
