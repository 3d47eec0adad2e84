#include "visible_cores.h"

#include <optional>
#include <string>
#include <string_view>

#include "environment.h"

namespace neuron::device {
namespace {

constexpr const char* kVisible = "NEURON_RT_VISIBLE_CORES";
constexpr const char* kCount = "NEURON_RT_NUM_CORES";

// "3" or "3-5", as first and last.
std::optional<std::pair<int, int>> parse_range(std::string_view text) {
  const size_t dash = text.find('-');
  const auto first = parse<int>(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse<int>(text.substr(dash + 1));
  if (!first || !last || *first < 0 || *last < *first) return std::nullopt;
  return std::pair(*first, *last);
}

// Neuron docs, nrt-developer-guide: an index, an inclusive range, a list, or a mix of these ("3-5,6"); the cores must
// follow each other in ascending order.
std::optional<VisibleCores> parse_cores(std::string_view text) {
  std::optional<VisibleCores> cores;
  while (true) {
    const size_t comma = text.find(',');
    const auto range = parse_range(text.substr(0, comma));
    if (!range) return std::nullopt;
    if (cores && range->first != cores->first + cores->count) return std::nullopt;
    if (!cores) cores = VisibleCores{range->first, 0};
    cores->count += range->second - range->first + 1;
    if (comma == std::string_view::npos) return cores;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

VisibleCores visible_cores(int logical_cores) {
  const std::string last = std::to_string(logical_cores - 1);
  if (const auto value = environment(kVisible)) {
    const auto cores = parse_cores(*value);
    if (!cores || cores->first + cores->count > logical_cores) {
      reject(kVisible, *value,
             "logical NeuronCores of the instance, which are 0 to " + last +
                 ": an index, a range, or a list of these, contiguous and ascending, for example 0, 0-" + last +
                 " or 0-1,2");
    }
    return *cores;
  }
  if (const auto value = environment(kCount)) {
    const auto count = parse<int>(*value);
    if (!count || *count < 0 || *count > logical_cores) {
      reject(kCount, *value,
             "a number of logical NeuronCores, of which the instance has " + std::to_string(logical_cores) +
                 "; 0 means all");
    }
    if (*count > 0) return {0, *count};
  }
  return {0, logical_cores};
}

}  // namespace neuron::device
