// SPDX-License-Identifier: Apache-2.0
#include "runtime/spyre/operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace spyre::runtime {
namespace {

std::vector<PreProcessCompute> StepsTo(const SpyreCompute& compute) {
  return compute.origin == nullptr ? std::vector<PreProcessCompute>{} : compute.origin->steps;
}

bool SameStep(const PreProcessCompute& a, const PreProcessCompute& b) {
  if (a.index() != b.index()) return false;
  const auto same_copy = [](const auto& x, const auto& y) {
    return x.host_address == y.host_address && x.device_handle == y.device_handle &&
           x.size == y.size;
  };
  if (const auto* in = std::get_if<CopyToDevice>(&a)) {
    const auto& other = std::get<CopyToDevice>(b);
    return same_copy(*in, other) && in->correction.has_value() == other.correction.has_value();
  }
  if (const auto* out = std::get_if<CopyFromDevice>(&a)) {
    return same_copy(*out, std::get<CopyFromDevice>(b));
  }
  return std::get<DeviceLaunch>(a).device_handle == std::get<DeviceLaunch>(b).device_handle;
}

bool SameCompute(const SpyreCompute& a, const SpyreCompute& b) {
  return a.device_handle == b.device_handle && a.name == b.name &&
         a.expected_input_shapes == b.expected_input_shapes &&
         a.dimension_names == b.dimension_names && a.reduction_dims == b.reduction_dims;
}

}  // namespace

Operation::Operation(const SpyreCompute& compute) : Operation(compute, StepsTo(compute)) {}

Operation::Operation(SpyreCompute compute, std::vector<PreProcessCompute> preprocess)
    : Operation(std::move(preprocess)) {
  device_handles_.push_back(compute.device_handle);
  if (compute.origin != nullptr) {
    program_ = compute.origin->program;
    loaded_ = compute.origin->loaded;
  }
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

bool Operation::Binds(CorrectionSource::Kind kind, int index) const {
  for (const PreProcessCompute& step : preprocess_) {
    const auto* copy = std::get_if<CopyToDevice>(&step);
    if (copy == nullptr || !copy->correction) continue;
    for (const CorrectionSource& source : copy->correction->records) {
      if (source.kind == kind && source.index == index) return true;
    }
  }
  return false;
}

bool operator==(const Operation& a, const Operation& b) {
  if (a.identity() != nullptr && a.identity() == b.identity()) return true;
  if (a.compute().has_value() != b.compute().has_value()) return false;
  if (a.compute() && !SameCompute(*a.compute(), *b.compute())) return false;
  return std::equal(a.preprocess().begin(), a.preprocess().end(), b.preprocess().begin(),
                    b.preprocess().end(), SameStep);
}

std::string Describe(const Operation& operation) {
  if (operation.compute()) return fmt::format("operation '{}'", operation.compute()->name);
  return fmt::format("operation of {} preprocessing steps", operation.preprocess().size());
}

}  // namespace spyre::runtime
