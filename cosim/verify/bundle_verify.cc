#include "cosim/bundle_verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cosim/bundle_reference.h"
#include "cosim/device_elements.h"
#include "cosim/reference_numbers.h"
#include "model/contract/error.h"
#include "model/contract/memory_map.h"

namespace spyre::cosim {
namespace {

using compiler::Bundle;
using compiler::BundleArgument;

constexpr size_t kShown = 8;  // mismatches that are listed

// argument_bytes has one entry per argument, 0 for dimensions; the pool's is found here. The LX is
// as large as the bundle needs.
BundleMemory MakeBundleMemory(const Bundle& bundle, std::vector<uint64_t> argument_bytes,
                              bool with_ideal) {
  const std::vector<compiler::ArgumentUse> uses = compiler::ArgumentUses(bundle);
  for (size_t i = 0; i < bundle.arguments.size(); ++i) {
    if (bundle.arguments[i].kind == BundleArgument::Kind::kPool)
      argument_bytes[i] = AlignUp(uses[i].bytes, kStickBytes);
  }
  uint64_t lx_bytes = 0;
  for (const compiler::SuperDsc& dsc : bundle.dscs) {
    for (const compiler::SdscTensor& tensor : dsc.tensors) {
      if (!tensor.in_lx || tensor.start.empty()) continue;
      const int64_t start = *std::max_element(tensor.start.begin(), tensor.start.end());
      const int64_t end = start + compiler::FootprintBytes(dsc, tensor);
      lx_bytes = std::max(lx_bytes, AlignUp(static_cast<uint64_t>(end), kStickBytes));
    }
  }
  if (lx_bytes > kLxBytes) {
    throw BadInput("{}: its tensors in LX need {} bytes; a core has {}", bundle.name, lx_bytes,
                   kLxBytes);
  }
  return BundleMemory(argument_bytes, kMaxCores, lx_bytes, with_ideal);
}

class BundleVerifier {
 public:
  BundleVerifier(const Workload& workload, const std::vector<HostData>& inputs, bool with_ideal)
      : workload_(workload),
        bundle_(workload.bundle->bundle),
        arguments_(TensorArguments(bundle_)),
        memory_(ReferenceMemory(workload, with_ideal)) {
    for (size_t i = 0; i < workload.tensors.size(); ++i) {
      const WorkloadTensor& tensor = workload.tensors[i];
      if (!tensor.is_input) continue;
      memory_.image(arguments_[i]) = ToDeviceImage(tensor.layout, tensor.host_format, inputs[i]);
    }
    RunBundleReference(bundle_, workload.bundle->dimensions, memory_);
  }

  Verification Compare(const std::vector<HostData>& outputs) {
    for (size_t i = 0; i < workload_.tensors.size(); ++i) {
      const WorkloadTensor& tensor = workload_.tensors[i];
      if (!tensor.is_output) continue;
      CompareBits(tensor, outputs[i],
                  FromDeviceImage(tensor.layout, tensor.host_format, memory_.image(arguments_[i])),
                  result_);
      if (memory_.has_ideal()) MeasureErrors(tensor, arguments_[i], outputs[i]);
    }
    result_.reference = fmt::format(
        "bit-exact against the SDSC files executed element by element, {} of {} elements; {}",
        result_.elements, result_.elements,
        memory_.has_ideal() ? fmt::format("error against the same in float64 over {} elements",
                                          result_.error_elements)
                            : "not compared with float64 (workload.verify = \"sample\")");
    return std::move(result_);
  }

 private:
  void MeasureErrors(const WorkloadTensor& tensor, int argument, const HostData& got) {
    const auto offsets = HostOffsets(tensor.layout);
    const int bytes = DeviceElementBytes(tensor.layout.format);
    double max_error = 0;
    double max_ideal = 0;
    std::vector<int64_t> index(tensor.shape.size(), 0);
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      int64_t at = 0;
      for (size_t d = 0; d < index.size(); ++d) at += offsets[d][index[d]];
      const double ideal = memory_.Ideal(argument, at, tensor.layout.format, bytes);
      const double value =
          HostValue(tensor.host_format, HostBits(tensor.host_format, got.data(), i));
      if (std::isfinite(ideal) && std::isfinite(value)) {
        const double error = std::fabs(value - ideal);
        ++result_.error_elements;
        max_error = std::max(max_error, error);
        max_ideal = std::max(max_ideal, std::fabs(ideal));
        const double ulp = std::max(SenUlp(ideal), std::ldexp(1, -24));
        result_.max_ulp_error = std::max(result_.max_ulp_error, error / ulp);
      }
      for (size_t d = index.size(); d-- > 0 && ++index[d] == tensor.shape[d];) index[d] = 0;
    }
    result_.max_abs_error = std::max(result_.max_abs_error, max_error);
    if (max_ideal > 0)
      result_.max_relative_error = std::max(result_.max_relative_error, max_error / max_ideal);
  }

  const Workload& workload_;
  const Bundle& bundle_;
  std::vector<int> arguments_;
  BundleMemory memory_;
  Verification result_;
};

}  // namespace

std::vector<int> TensorArguments(const Bundle& bundle) {
  std::vector<int> positions;
  for (size_t i = 0; i < bundle.arguments.size(); ++i) {
    if (bundle.arguments[i].kind == BundleArgument::Kind::kTensor)
      positions.push_back(static_cast<int>(i));
  }
  return positions;
}

BundleMemory ReferenceMemory(const Workload& workload, bool with_ideal) {
  const Bundle& bundle = workload.bundle->bundle;
  const std::vector<int> arguments = TensorArguments(bundle);
  std::vector<uint64_t> bytes(bundle.arguments.size(), 0);
  for (size_t i = 0; i < workload.tensors.size(); ++i) {
    bytes[static_cast<size_t>(arguments[i])] =
        static_cast<uint64_t>(workload.tensors[i].layout.DeviceBytes());
  }
  return MakeBundleMemory(bundle, std::move(bytes), with_ideal);
}

void CompareBits(const WorkloadTensor& tensor, const HostData& got, const HostData& expected,
                 Verification& result) {
  const DataFormat format = tensor.host_format;
  result.elements += tensor.elements();
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    const uint64_t a = HostBits(format, got.data(), i);
    const uint64_t b = HostBits(format, expected.data(), i);
    if (a == b) continue;
    const bool both_nan = std::isnan(HostValue(format, a)) && std::isnan(HostValue(format, b));
    if (both_nan) continue;
    ++result.mismatches;
    if (result.first.size() < kShown) result.first.push_back({i, a, b, tensor.name, format});
  }
}

Verification VerifyBundle(const WorkloadConfig& config, const Workload& workload,
                          const std::vector<HostData>& inputs,
                          const std::vector<HostData>& outputs) {
  return BundleVerifier(workload, inputs, config.verify != "sample").Compare(outputs);
}

}  // namespace spyre::cosim
