// Random numbers. The real product samples with the CPU generator, so the default generator of a device acts on the
// CPU's default generator ("shared" mode); "device" mode gives every device a stream of its own.
#pragma once

#include <ATen/core/Generator.h>

#include <optional>

namespace neuron::backend {

enum class RngMode { kShared, kDevice };
RngMode rng_mode();
void set_rng_mode(RngMode mode);

const at::Generator& default_generator(int device);
at::Generator new_generator(int device);

// The CPU generator that a kernel must draw from when the caller passed `generator` (or none) for work on `device`.
// RuntimeError when it is a generator of another device type.
at::Generator cpu_generator_for(const std::optional<at::Generator>& generator, int device);

}  // namespace neuron::backend
