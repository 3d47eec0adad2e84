#include "topology.h"

#include "environment.h"
#include "visible_cores.h"

namespace neuron::device {
namespace {

struct Instance {
  const char* name;
  const char* family;
  const char* chip;
  int devices;    // logical NeuronCores at LNC=2
  int stack_gib;  // HBM of one stack, which one logical core owns at LNC=2
};

// Neuron docs, pages on the Trn2 and Trn3 architecture and on logical NeuronCore configuration. The docs give no EC2
// names for Trn3, so these are ours. Cores and memory are those of the chip files in torch_neuron_sim/hardware.
constexpr Instance kInstances[] = {
    {"trn2.3xlarge", "trn2", "trainium2", 4, 24},      // one chip; the default
    {"trn2.48xlarge", "trn2", "trainium2", 64, 24},    // 16 chips
    {"trn2u.48xlarge", "trn2u", "trainium2", 64, 24},  // 16 chips, one server of the UltraServer
    {"trn3-gen1", "trn3", "trainium3", 64, 36},        // one server of 16 chips
    {"trn3-gen2", "trn3", "trainium3", 16, 36},        // one server of 4 chips
};

constexpr int kCoresPerChip = 8;  // physical, of Trainium2 and Trainium3
constexpr int kMaxDevices = 128;  // c10::DeviceIndex is an int8
constexpr double kMinGib = 1e-6;  // about 1 KiB
constexpr double kMaxGib = 1024;  // beyond any chip, and what one device's share of the address space can hold
constexpr double kBytesPerGib = double(size_t{1} << 30);

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

// Physical cores of one logical core. Default 2, as on Trn2 and Trn3. The second variable is what the profiler and the
// scripts of NxD Inference call it.
int logical_core_size() {
  for (const char* variable : {"NEURON_LOGICAL_NC_CONFIG", "NEURON_RT_VIRTUAL_CORE_SIZE"}) {
    const auto value = environment(variable);
    if (!value) continue;
    if (*value == "1") return 1;
    if (*value == "2") return 2;
    reject(variable, *value, "1, 2");
  }
  return 2;
}

Topology resolve() {
  const Instance& instance = find_instance();
  Topology result;
  result.lnc = logical_core_size();
  result.instance = instance.name;
  result.family = instance.family;
  result.chip = instance.chip;
  result.cores_per_chip = kCoresPerChip;
  result.devices_per_stack = 2 / result.lnc;  // two physical cores lie at each stack
  result.stack_bytes = static_cast<size_t>(instance.stack_gib) << 30;
  result.logical_cores = instance.devices * result.devices_per_stack;
  if (const auto value = environment("TORCH_NEURON_SIM_DEVICES")) {
    const auto count = parse<int>(*value);
    if (!count || *count < 1 || *count > kMaxDevices) {
      reject("TORCH_NEURON_SIM_DEVICES", *value, "a whole number from 1 to " + std::to_string(kMaxDevices));
    }
    result.logical_cores = *count;
  }
  result.chips = (result.logical_cores * result.lnc + kCoresPerChip - 1) / kCoresPerChip;
  const VisibleCores visible = visible_cores(result.logical_cores);
  result.first_core = visible.first;
  result.device_count = visible.count;
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
