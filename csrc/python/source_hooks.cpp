#include "python/source_hooks.h"

#include <torch/csrc/autograd/function.h>

#include <string_view>
#include <unordered_map>

#include "launch/call_site.h"

namespace py = pybind11;

namespace neuron::python {
namespace {

using launch::CallSite;
using launch::Notice;

// Leaked: destroying a Python object after the interpreter is gone would crash.
py::object& warning_hook() {
  static auto* hook = new py::object;
  return *hook;
}

std::string package_folder(const char* package) {
  return py::module_::import(package).attr("__path__")[py::int_(0)].cast<std::string>() + "/";
}

// Frames of torch and of this package are not the user's; those of its command line are: it runs programs. Answers are
// kept by code object, which stays referenced.
bool is_library_code(PyCodeObject* code) {
  static auto* known = new std::unordered_map<PyCodeObject*, bool>;
  const auto found = known->find(code);
  if (found != known->end()) return found->second;
  static const auto* torch = new std::string(package_folder("torch"));
  static const auto* own = new std::string(package_folder("torch_neuron_sim"));
  static const auto* command_line = new std::string(*own + "cli/");
  const auto name = py::reinterpret_borrow<py::object>(code->co_filename).cast<std::string>();
  const auto is_in = [&](const std::string& folder) { return name.rfind(folder, 0) == 0; };
  const bool library = is_in("<frozen") || is_in(*torch) || (is_in(*own) && !is_in(*command_line));
  Py_INCREF(code);
  known->emplace(code, library);
  return library;
}

CallSite site_of_frame(PyFrameObject* frame, PyCodeObject* code) {
  CallSite site;
  site.file = py::reinterpret_borrow<py::object>(code->co_filename).cast<std::string>();
  site.function = py::reinterpret_borrow<py::object>(code->co_name).cast<std::string>();
  site.line = PyFrame_GetLineNumber(frame);
  return site;
}

CallSite capture() {
  if (!Py_IsInitialized()) return {};
  const py::gil_scoped_acquire gil;
  auto frame =
      py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyThreadState_GetFrame(PyThreadState_Get())));
  while (frame) {
    auto* raw = reinterpret_cast<PyFrameObject*>(frame.ptr());
    const auto code = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetCode(raw)));
    auto* raw_code = reinterpret_cast<PyCodeObject*>(code.ptr());
    if (!is_library_code(raw_code)) return site_of_frame(raw, raw_code);
    frame = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetBack(raw)));
  }
  CallSite site;
  if (const auto node = torch::autograd::get_current_node()) site.function = node->name();
  return site;
}

const char* notice_name(Notice notice) {
  switch (notice) {
    case Notice::kFallback:
      return "fallback";
    case Notice::kUnsupported:
      return "unsupported";
    case Notice::kFloat64:
      return "float64";
    case Notice::kRecompile:
      return "recompile";
  }
  return "";
}

void warn(Notice notice, const std::string& op, const std::string& reason, const CallSite& site) {
  if (!Py_IsInitialized()) return;
  const py::gil_scoped_acquire gil;
  if (const py::object& hook = warning_hook(); hook && !hook.is_none()) {
    hook(notice_name(notice), op, reason, site.file, site.line, site.function);
  }
}

}  // namespace

void install_source_hooks() { launch::install_source_hooks({&capture, &warn}); }
void set_warning_hook(py::object function) { warning_hook() = std::move(function); }

}  // namespace neuron::python
