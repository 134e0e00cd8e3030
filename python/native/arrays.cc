// SPDX-License-Identifier: Apache-2.0
#include "python/native/arrays.h"

#include "base/error.h"

namespace spyre::python {

namespace py = pybind11;

namespace {

py::module_ NumPy() { return py::module_::import("numpy"); }

}  // namespace

py::object RowsOf(const py::object& array, const py::object& dtype) {
  return NumPy().attr("ascontiguousarray")(array, dtype.attr("newbyteorder")("="));
}

py::object EmptyArray(const py::object& shape, const std::string& dtype) {
  return NumPy().attr("empty")(shape, dtype);
}

// Not every type of elements has a letter in the buffer protocol; bytes have one.
ArrayBytes BytesOf(const py::object& array, bool writable) {
  if (writable && !py::cast<bool>(array.attr("flags").attr("writeable")))
    throw BadInput("this array must not be written to (its flag WRITEABLE); give another one");
  const py::object bytes = array.attr("reshape")(-1).attr("view")("uint8");
  const py::buffer_info info = py::buffer(bytes).request(writable);
  return {info.ptr, static_cast<size_t>(info.size)};
}

}  // namespace spyre::python
