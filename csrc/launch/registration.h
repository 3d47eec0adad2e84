// What is registered with PyTorch's dispatcher, and by whom.
#pragma once

#include <string>
#include <vector>

namespace neuron::launch {

std::string qualified_name(const char* name, const char* overload);

// Operators that C++ registers with a kernel of their own; the generic registration leaves them out.
void note_registered_by_hand(std::string qualified);
const std::vector<std::string>& registered_by_hand();

// Registers the boxed launch for aten operators, of dense tensors or of nested ones; returns the names that this torch
// does not know.
std::vector<std::string> register_boxed(const std::vector<std::string>& names);
std::vector<std::string> register_boxed_nested(const std::vector<std::string>& names);

}  // namespace neuron::launch
