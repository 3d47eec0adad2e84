#include "topology.h"

#include <charconv>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string_view>

namespace neuron::device {
namespace {

struct Instance {
  const char* name;
  const char* chip;
  int devices;    // logical NeuronCores at LNC=2
  int stack_gib;  // HBM of one stack, which one logical core owns at LNC=2
};

// Neuron docs, pages on the Trn2 and Trn3 architecture and on logical NeuronCore configuration. The docs give no EC2
// names for Trn3, so these are ours; 36 GiB is the documented memory of a Trn3 UltraServer divided by its logical
// cores, 24 GiB the documented figure.
constexpr Instance kInstances[] = {
    {"trn2.3xlarge", "trn2", 4, 24},      // one chip; the default
    {"trn2.48xlarge", "trn2", 64, 24},    // 16 chips
    {"trn2u.48xlarge", "trn2u", 64, 24},  // 16 chips, one server of the UltraServer
    {"trn3-gen1", "trn3", 64, 36},        // one server of 16 chips
    {"trn3-gen2", "trn3", 16, 36},        // one server of 4 chips
};

constexpr int kMaxDevices = 128;  // c10::DeviceIndex is an int8
constexpr double kMinGib = 1e-6;  // about 1 KiB
constexpr double kMaxGib = 1024;  // beyond any chip, and what one device's share of the address space can hold
constexpr double kBytesPerGib = double(size_t{1} << 30);

// An empty value counts as not set.
std::optional<std::string> environment(const char* variable) {
  const char* value = std::getenv(variable);
  if (!value || !*value) return std::nullopt;
  return value;
}

[[noreturn]] void reject(const char* variable, const std::string& value, const std::string& legal) {
  throw std::invalid_argument(std::string(variable) + "='" + value + "' is not valid. Legal values: " + legal + ".");
}

// The whole text as a number. Independent of the locale.
template <typename Number>
std::optional<Number> parse(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

const Instance& find_instance() {
  const auto value = environment("TORCH_NEURON_SIM_INSTANCE");
  if (!value) return kInstances[0];
  for (const Instance& instance : kInstances) {
    if (*value == instance.name) return instance;
  }
  std::string legal;
  for (const Instance& instance : kInstances) legal += (legal.empty() ? "" : ", ") + std::string(instance.name);
  reject("TORCH_NEURON_SIM_INSTANCE", *value, legal);
}

// Physical cores of one logical core. Default 2, as on Trn2 and Trn3.
int logical_core_size() {
  const auto value = environment("NEURON_LOGICAL_NC_CONFIG");
  if (!value) return 2;
  if (*value == "1") return 1;
  if (*value == "2") return 2;
  reject("NEURON_LOGICAL_NC_CONFIG", *value, "1, 2");
}

Topology resolve() {
  const Instance& instance = find_instance();
  const int devices_per_stack = logical_core_size() == 1 ? 2 : 1;
  Topology result;
  result.instance = instance.name;
  result.chip = instance.chip;
  result.device_count = instance.devices * devices_per_stack;
  result.devices_per_stack = devices_per_stack;
  result.stack_bytes = static_cast<size_t>(instance.stack_gib) << 30;
  if (const auto value = environment("TORCH_NEURON_SIM_DEVICES")) {
    const auto count = parse<int>(*value);
    if (!count || *count < 1 || *count > kMaxDevices) {
      reject("TORCH_NEURON_SIM_DEVICES", *value, "a whole number from 1 to " + std::to_string(kMaxDevices));
    }
    result.device_count = *count;
  }
  if (const auto value = environment("TORCH_NEURON_SIM_HBM_GIB")) {
    const auto gib = parse<double>(*value);
    if (!gib || !(*gib >= kMinGib && *gib <= kMaxGib)) {
      reject("TORCH_NEURON_SIM_HBM_GIB", *value,
             "a number of GiB from 0.000001 to 1024, fractions allowed, for example 24 or 0.25");
    }
    result.stack_bytes = static_cast<size_t>(*gib * kBytesPerGib);
  }
  return result;
}

// No row of the table may go over the limit when LNC=1 doubles it.
constexpr bool table_fits() {
  for (const Instance& instance : kInstances) {
    if (2 * instance.devices > kMaxDevices) return false;
  }
  return true;
}
static_assert(table_fits());

}  // namespace

const Topology& topology() {
  static const Topology resolved = resolve();
  return resolved;
}

std::vector<std::string> instance_names() {
  std::vector<std::string> names;
  for (const Instance& instance : kInstances) names.emplace_back(instance.name);
  return names;
}

}  // namespace neuron::device
