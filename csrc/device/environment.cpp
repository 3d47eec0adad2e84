#include "environment.h"

#include <cstdlib>
#include <stdexcept>

namespace neuron::device {

std::optional<std::string> environment(const char* variable) {
  const char* value = std::getenv(variable);
  if (!value || !*value) return std::nullopt;
  return value;
}

void reject(const char* variable, const std::string& value, const std::string& legal) {
  throw std::invalid_argument(std::string(variable) + "='" + value + "' is not valid. Legal values: " + legal + ".");
}

bool environment_flag(const char* variable, bool by_default) {
  const auto value = environment(variable);
  if (!value) return by_default;
  if (*value == "1" || *value == "true" || *value == "True") return true;
  if (*value == "0" || *value == "false" || *value == "False") return false;
  reject(variable, *value, "0, 1");
}

}  // namespace neuron::device
