// SPDX-License-Identifier: Apache-2.0
// What the tests of the SDK do with a card, as torch-spyre does it: parameters are made, launched
// and destroyed at once.
#pragma once

#include <gtest/gtest.h>

#include <flex/flex.hpp>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace spyre::sdk_test {

inline std::shared_ptr<flex::RuntimeContext> Open() {
  std::shared_ptr<flex::RuntimeContext> context;
  flex::initializeRuntime(&context, 0);
  return context;
}

inline flex::CompositeAddress Memory(flex::RuntimeContext& context, size_t bytes,
                                     flex::MemoryType type = flex::MemoryType::Tensor) {
  return context.getAllocator()->allocate(
      bytes, flex::AllocationDirective(flex::PlacementPolicy::Bind, {0}, std::nullopt, type));
}

using Conversion = std::shared_ptr<data_conversion_info>;

inline void CopyTo(flex::RuntimeStream& stream, const void* host,
                   const flex::CompositeAddress& device, Conversion conversion = nullptr) {
  flex::DmaParams* const params = flex::createDmaParams(
      const_cast<void*>(host), device.total_size(), true, &device, std::move(conversion));
  const std::unique_ptr<flex::DmaParams, void (*)(flex::DmaParams*)> owner(params,
                                                                           flex::destroyDmaParams);
  stream.launchOperationH2D(params);
}

inline void CopyFrom(flex::RuntimeStream& stream, void* host, const flex::CompositeAddress& device,
                     Conversion conversion = nullptr) {
  flex::DmaParams* const params =
      flex::createDmaParams(host, device.total_size(), false, &device, std::move(conversion));
  const std::unique_ptr<flex::DmaParams, void (*)(flex::DmaParams*)> owner(params,
                                                                           flex::destroyDmaParams);
  stream.launchOperationD2H(params);
}

inline void Fill(flex::RuntimeStream& stream, const flex::CompositeAddress& device, double value,
                 DataFormats format) {
  stream.fillAsync(&device, value, format, true);
}

inline void Callback(flex::RuntimeStream& stream, bool barrier, void* argument,
                     std::function<void(void*)> function) {
  flex::HostCallbackParams* const params =
      flex::createHostCallbackParams(std::move(function), argument, barrier);
  const std::unique_ptr<flex::HostCallbackParams, void (*)(flex::HostCallbackParams*)> owner(
      params, flex::destroyHostCallbackParams);
  stream.launchOperationHostCallback(params);
}

// The text of what `call` throws; "" if nothing.
template <typename Call>
std::string ErrorOf(const Call& call) {
  try {
    call();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

}  // namespace spyre::sdk_test
