// SPDX-License-Identifier: Apache-2.0
// Arrays of NumPy. They are asked and made in Python and read by the buffer protocol, because the
// structures behind pybind11's own arrays differ between versions of NumPy: a module that was built
// for one of them would read nothing of the arrays of another, and say nothing. With Python's lock.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace spyre::python {

// An array of `dtype` in the byte order of this machine, by rows without gaps: `array` itself where
// it is that already, else a copy with the same values.
pybind11::object RowsOf(const pybind11::object& array, const pybind11::object& dtype);
pybind11::object EmptyArray(const pybind11::object& shape, const std::string& dtype);

// The memory of such an array, for as long as the array lives. Throws Error(kBadInput) if it is to
// be written and must not be.
struct ArrayBytes {
  void* data = nullptr;
  size_t size = 0;
};
ArrayBytes BytesOf(const pybind11::object& array, bool writable);

}  // namespace spyre::python
