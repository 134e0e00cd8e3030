// SPDX-License-Identifier: Apache-2.0
#include "cosim/verify/bundle_verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/ranges.h"
#include "cosim/reference/bundle_reference.h"
#include "cosim/reference/device_elements.h"
#include "cosim/verify/error_meter.h"
#include "model/contract/memory_map.h"

namespace spyre::cosim {
namespace {

using compiler::Bundle;
using compiler::BundleArgument;

// argument_bytes has one entry per argument, 0 for dimensions; the pool's is found here, and what
// the bundle reads behind an argument is added. The LX is as large as the bundle needs.
BundleMemory MakeBundleMemory(const Bundle& bundle, std::vector<uint64_t> argument_bytes,
                              bool with_ideal) {
  const std::vector<compiler::ArgumentUse> uses = compiler::ArgumentUses(bundle);
  for (size_t i = 0; i < bundle.arguments.size(); ++i) {
    if (bundle.arguments[i].kind == BundleArgument::Kind::kDimension) continue;
    argument_bytes[i] = std::max(argument_bytes[i], AlignUp(uses[i].bytes, kStickBytes));
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

void PutInputs(const LaunchedBundle& launched, const std::vector<HostData>& inputs,
               BundleMemory& memory) {
  const std::vector<int> arguments = TensorArguments(launched.bundle);
  for (size_t i = 0; i < launched.tensors.size(); ++i) {
    const WorkloadTensor& tensor = launched.tensors[i];
    if (!tensor.is_input) continue;
    const std::vector<uint8_t> image = ToDeviceImage(tensor.layout, tensor.host_format, inputs[i]);
    std::copy(image.begin(), image.end(), memory.image(arguments[i]).begin());
  }
}

// Elements of an operand in SEN169_FP16, and how many of them are no numbers.
struct OperandCount {
  int64_t elements = 0, beyond = 0;
};
OperandCount CountBeyond(const compiler::SuperDsc& dsc, const StepOperand& operand,
                         const BundleMemory& memory) {
  OperandCount count;
  if (operand.format != DataFormat::kSen169Fp16) return count;
  std::vector<int> dims;
  for (size_t d = 0; d < operand.walks.size(); ++d)
    if (operand.walks[d]) dims.push_back(static_cast<int>(d));
  for (const StepOperand::Place& place : operand.place) {
    const std::vector<uint8_t>& image = memory.image(place.image);
    ForEachIndex(dsc, dims, [&](const std::vector<int64_t>& index) {
      const int64_t at = place.start + OffsetAt(operand, index);
      if (at < 0 || at + operand.bytes > static_cast<int64_t>(image.size())) return;
      const uint32_t bits = LoadBits(image.data() + at, operand.bytes);
      ++count.elements;
      if (!std::isfinite(DeviceValue(operand.format, bits))) ++count.beyond;
    });
  }
  return count;
}

class BundleVerifier {
 public:
  BundleVerifier(const LaunchedBundle& launched, const std::vector<HostData>& inputs,
                 bool with_ideal)
      : tensors_(launched.tensors),
        arguments_(TensorArguments(launched.bundle)),
        memory_(ReferenceMemory(launched, with_ideal)) {
    PutInputs(launched, inputs, memory_);
    RunBundleReference(launched.bundle, launched.dimensions, memory_);
  }

  Verification Compare(const std::vector<HostData>& outputs, double tolerance) {
    result_.tolerance = tolerance;
    for (size_t i = 0; i < tensors_.size(); ++i) {
      const WorkloadTensor& tensor = tensors_[i];
      if (!tensor.is_output) continue;
      CompareBits(tensor, outputs[i],
                  FromDeviceImage(tensor.layout, tensor.host_format, memory_.image(arguments_[i])),
                  result_);
      if (memory_.has_ideal()) MeasureErrors(tensor, arguments_[i], outputs[i]);
    }
    result_.reference = fmt::format(
        "bit-exact against the SDSC files executed element by element, {} of {} elements",
        result_.elements, result_.elements);
    return std::move(result_);
  }

 private:
  void MeasureErrors(const WorkloadTensor& tensor, int argument, const HostData& got) {
    const auto offsets = HostOffsets(tensor.layout);
    const int bytes = DeviceElementBytes(tensor.layout.format);
    ErrorMeter meter;
    std::vector<int64_t> index(tensor.shape.size(), 0);
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      int64_t at = 0;
      for (size_t d = 0; d < index.size(); ++d) at += offsets[d][index[d]];
      const double ideal = memory_.Ideal(argument, at, tensor.layout.format, bytes);
      const double value =
          HostValue(tensor.host_format, HostBits(tensor.host_format, got.data(), i));
      meter.Add(value, ideal, ErrorMeter::kNoLimit, i);
      for (size_t d = index.size(); d-- > 0 && ++index[d] == tensor.shape[d];) index[d] = 0;
    }
    meter.AddTo(result_, tensor.name);
  }

  const std::vector<WorkloadTensor>& tensors_;
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

BundleMemory ReferenceMemory(const LaunchedBundle& launched, bool with_ideal) {
  const Bundle& bundle = launched.bundle;
  const std::vector<int> arguments = TensorArguments(bundle);
  std::vector<uint64_t> bytes(bundle.arguments.size(), 0);
  for (size_t i = 0; i < launched.tensors.size(); ++i) {
    bytes[static_cast<size_t>(arguments[i])] =
        static_cast<uint64_t>(launched.tensors[i].layout.DeviceBytes());
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
    if (result.first.size() < kShownMismatches)
      result.first.push_back({i, a, b, tensor.name, format});
  }
}

std::string FirstOverflow(const LaunchedBundle& launched, const std::vector<HostData>& inputs) {
  BundleMemory memory = ReferenceMemory(launched, false);
  PutInputs(launched, inputs, memory);
  std::string found;
  bool within = true;  // the operands of the step at hand
  RunBundleReference(
      launched.bundle, launched.dimensions, memory, [&](const BoundStep& step, bool done) {
        if (!found.empty()) return;
        if (!done) {
          within = AllFit(step.inputs, [&](const auto& operand) {
            return CountBeyond(*step.dsc, operand, memory).beyond == 0;
          });
          return;
        }
        if (!within) return;
        const OperandCount results = CountBeyond(*step.dsc, step.output, memory);
        if (results.beyond > 0) {
          found = fmt::format("{} is the first whose results are beyond SEN169_FP16, {} of {}",
                              step.name, results.beyond, results.elements);
        }
      });
  return found;
}

Verification VerifyBundle(const LaunchedBundle& launched, const std::vector<HostData>& inputs,
                          const std::vector<HostData>& outputs, const CheckOptions& options) {
  Verification result =
      BundleVerifier(launched, inputs, !options.sample).Compare(outputs, options.tolerance);
  result.reference += options.sample
                          ? "; not compared with float64 (workload.verify = \"sample\")"
                          : fmt::format("; error against the same in float64 over {} elements",
                                        result.error_elements);
  return result;
}

Verification VerifyBits(const LaunchedBundle& launched, const std::vector<HostData>& inputs,
                        const std::vector<HostData>& outputs, const CheckOptions& options) {
  return BundleVerifier(launched, inputs, false).Compare(outputs, options.tolerance);
}

}  // namespace spyre::cosim
