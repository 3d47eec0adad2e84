// Environment variables: read, checked, and refused by name.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace neuron::device {

// An empty value counts as not set.
std::optional<std::string> environment(const char* variable);

// Throws std::invalid_argument that names the variable, the value and the legal values.
[[noreturn]] void reject(const char* variable, const std::string& value, const std::string& legal);

// 1 or true, 0 or false; anything else is rejected.
bool environment_flag(const char* variable, bool by_default);

// The whole text as a number. Independent of the locale.
template <typename Number>
std::optional<Number> parse(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace neuron::device
