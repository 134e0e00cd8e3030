#include "runtime/spyre/operation.h"

#include <fmt/format.h>

#include <utility>

#include "model/contract/error.h"

namespace spyre::runtime {

Operation::Operation(SpyreCompute compute) : Operation(std::move(compute), {}) {}

Operation::Operation(SpyreCompute compute, std::vector<PreProcessCompute> preprocess)
    : Operation(std::move(preprocess)) {
  device_handles_.push_back(compute.device_handle);
  compute_ = std::move(compute);
}

Operation::Operation(std::vector<PreProcessCompute> preprocess)
    : preprocess_(std::move(preprocess)) {
  for (const PreProcessCompute& step : preprocess_) {
    if (const auto* launch = std::get_if<DeviceLaunch>(&step)) {
      device_handles_.push_back(launch->device_handle);
    }
  }
}

std::string Describe(const Operation& operation) {
  if (operation.compute()) return fmt::format("operation '{}'", operation.compute()->name);
  return fmt::format("operation of {} preprocessing steps", operation.preprocess().size());
}

}  // namespace spyre::runtime
