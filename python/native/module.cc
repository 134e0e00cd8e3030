// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/build_info/build_info.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "python/native/bindings.h"

namespace spyre::python {

namespace py = pybind11;

void AddErrors(py::module_& /*module*/) {
  py::register_exception_translator([](std::exception_ptr thrown) {
    if (!thrown) return;
    try {
      std::rethrow_exception(std::move(thrown));
    } catch (const Interruption& error) {
      PyErr_SetString(PyExc_KeyboardInterrupt, error.what());
    } catch (const Error& error) {
      const char* const name = error.kind() == ErrorKind::kBadInput      ? "BadInput"
                               : error.kind() == ErrorKind::kDeviceFault ? "DeviceFault"
                                                                         : "InternalError";
      const py::object type = py::module_::import("spyre_cosim.errors").attr(name);
      const py::object exception =
          type(error.what(), error.subject(), error.value(), error.remedy());
      PyErr_SetObject(type.ptr(), exception.ptr());
    }
  });
}

PYBIND11_MODULE(_native, module) {
  module.doc() = "The native half of spyre_cosim; use the names of the package instead.";
  module.attr("version") = ThisBuild().version;
  module.attr("commit") = ThisBuild().commit;
  AddErrors(module);
  AddTransport(module);
  AddDevice(module);
  AddRuntime(module);
  AddSession(module);
}

}  // namespace spyre::python
