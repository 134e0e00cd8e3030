// SPDX-License-Identifier: Apache-2.0
// The module that the public compiler writes around its kernels: Python of any kind, with one
// async_compile.sdsc('name', [...]) for each kernel. Only these calls are looked at.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "runtime/compiler/op_spec/python_source.h"

namespace spyre::compiler {

struct WrapperCall {
  size_t offset;  // where the call begins
  std::string kernel;
};

// The call of the kernel `kernel`; "": of the only one. Nothing: the text has no such call and is a
// bare list of operations. Throws BadInput, with the names that there are, where it is unclear.
std::optional<WrapperCall> FindKernel(const PySource& source, const std::string& kernel);

}  // namespace spyre::compiler
