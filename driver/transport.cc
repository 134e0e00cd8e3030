// SPDX-License-Identifier: Apache-2.0
#include "driver/transport.h"

#include "base/error.h"

namespace spyre::driver {

FunctionClaim::FunctionClaim(Transport& transport, FunctionId function)
    : transport_(transport), function_(function) {
  const std::lock_guard<std::mutex> lock(transport_.claims_mutex_);
  if (!transport_.claims_.insert(function_).second) {
    throw BadInput(
        "function {} is open already in this process, and a function has one owner; use that one, "
        "close it first, or open another function",
        function_);
  }
}

FunctionClaim::~FunctionClaim() {
  const std::lock_guard<std::mutex> lock(transport_.claims_mutex_);
  transport_.claims_.erase(function_);
}

}  // namespace spyre::driver
