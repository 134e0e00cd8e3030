// SPDX-License-Identifier: Apache-2.0
// Kernels of one operation on rows of sticks, one for each size that is asked for: additions of
// what comes from other cards, and copies on the card. Compiled and loaded when first asked for.
// One thread at a time. Errors: those of compiler and runtime.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/flex/device_handle.h"
#include "runtime/flex/runtime_context.h"
#include "runtime/spyre/kernel_set.h"
#include "runtime/spyre/spyre_stream.h"

namespace spyre::sdk {

class SizedKernels {
 public:
  // operation: "add", "copy", by the names of docs/operations.md. context: must outlive this.
  SizedKernels(flex::RuntimeContext& context, std::string operation)
      : context_(context), operation_(std::move(operation)) {}

  // Enqueues it on the default stream: places of `bytes` each, whole sticks, inputs first.
  void Launch(const std::vector<flex::DeviceHandle>& places, uint64_t bytes);

 private:
  const runtime::KernelSet& KernelOf(uint64_t bytes);

  flex::RuntimeContext& context_;
  const std::string operation_;
  std::map<uint64_t, runtime::KernelSet> kernels_;  // by size
};

}  // namespace spyre::sdk
