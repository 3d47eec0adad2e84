// The hook by which launch asks Python for a source line and a warning. Launch itself knows no Python.
#pragma once

#include <string>

namespace neuron::launch {

struct CallSite {
  std::string file;  // empty when no user frame is on the stack
  int line = 0;
  std::string function;  // of the frame; without a frame, autograd's current node
  bool operator==(const CallSite& other) const {
    return line == other.line && file == other.file && function == other.function;
  }
};

enum class Notice { kFallback, kUnsupported, kFloat64, kRecompile };

struct SourceHooks {
  CallSite (*capture)();
  // May throw (a warning turned into an error); nothing on the device has changed yet.
  void (*warn)(Notice notice, const std::string& op, const std::string& reason, const CallSite& site);
};

void install_source_hooks(SourceHooks hooks);
const SourceHooks& source_hooks();

}  // namespace neuron::launch
