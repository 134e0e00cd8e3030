// SPDX-License-Identifier: Apache-2.0
// Operations element by element.
#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "cosim/reference/bundle_execution.h"
#include "cosim/reference/bundle_lines.h"
#include "cosim/reference/device_elements.h"
#include "model/contract/memory_map.h"

namespace spyre::cosim {
namespace {

using compiler::OpFunc;
using compiler::OpFuncClass;
using compiler::SuperDsc;

float Fp32(double value) { return static_cast<float>(value); }

class ElementRunner {
 public:
  ElementRunner(const BoundStep& step, const OpFunc& op, BundleMemory& memory)
      : step_(step), op_(op), memory_(memory), constants_(ConstantsOf(op, *step.dsc, step.name)) {
    CheckInputs();
    const SuperDsc& dsc = *step.dsc;
    for (int dim = 0; dim < static_cast<int>(dsc.dims.size()); ++dim)
      if (step.output.walks[dim]) outer_.push_back(dim);
    if (outer_.empty()) return;
    // Lines run along the sticks of the output.
    const auto stick = std::find(outer_.begin(), outer_.end(), step.output.stick_dim);
    line_dim_ = stick == outer_.end() ? outer_.back() : *stick;
    outer_.erase(std::find(outer_.begin(), outer_.end(), line_dim_));
    length_ = step.output.offset[static_cast<size_t>(line_dim_)].size();
  }

  void Run() {
    const bool overlaps = OutputOverlapsInputs(step_);
    std::vector<Line> results(step_.dsc->cores.size());
    std::mutex commit;
    ParallelFor(static_cast<int64_t>(results.size()), 1, [&](int64_t begin, int64_t end) {
      for (auto core = static_cast<size_t>(begin); core < static_cast<size_t>(end); ++core) {
        Compute(core, results[core]);
        if (overlaps) continue;  // what it reads must stay until every core has read it
        const std::lock_guard<std::mutex> lock(commit);
        Commit(core, results[core]);
        results[core] = Line();
      }
    });
    for (size_t core = 0; overlaps && core < results.size(); ++core) Commit(core, results[core]);
  }

 private:
  void CheckInputs() const {
    const auto count = static_cast<int>(step_.inputs.size());
    if (count < op_.min_inputs || count > op_.inputs) {
      throw BadInput("{}: {} inputs; {} to {} are expected", step_.name, count, op_.min_inputs,
                     op_.inputs);
    }
    for (const StepOperand& input : step_.inputs) {
      for (size_t dim = 0; dim < input.walks.size(); ++dim) {
        if (input.walks[dim] && !step_.output.walks[dim] && input.offset[dim].size() > 1) {
          throw BadInput("{}: {} has dimension '{}', which the result does not have", step_.name,
                         input.name, step_.dsc->dims[dim].name);
        }
      }
    }
  }

  int64_t At(const StepOperand& operand, size_t i) const {
    return line_dim_ < 0 ? 0 : operand.offset[line_dim_][i];
  }

  // A conversion of one line; to integers with a scale and a shift, each step in fp32.
  void Convert(const Line& in, Line& out) const {
    const bool affine = constants_.size() == 2;
    for (size_t i = 0; i < out.bits.size(); ++i) {
      float value = Fp32(DeviceValue(in.format, in.bits[i]));
      if (affine) {
        value *= Fp32(constants_[0]);
        value += Fp32(constants_[1]);
      }
      out.bits[i] = DeviceBits(out.format, double{value});
    }
    for (size_t i = 0; i < out.ideal.size(); ++i)
      out.ideal[i] = affine ? in.ideal[i] * constants_[0] + constants_[1] : in.ideal[i];
  }

  void Compute(size_t core, Line& results) const {
    std::vector<Line> inputs;
    for (const StepOperand& input : step_.inputs)
      inputs.emplace_back(input.format, length_, memory_.has_ideal());
    LineSteps steps(op_, constants_, step_.output.format, length_, memory_.has_ideal());
    Line result(step_.output.format, length_, memory_.has_ideal());
    ForEachIndex(*step_.dsc, outer_, [&](const std::vector<int64_t>& index) {
      for (size_t i = 0; i < inputs.size(); ++i) Gather(i, core, index, 0, inputs[i]);
      const bool norm_scale = op_.op_class == OpFuncClass::kNormScale;
      const bool converts = op_.op_class == OpFuncClass::kConversion;
      if (norm_scale) NormScale(core, index, inputs[0], result);
      if (converts) Convert(inputs[0], result);
      Line out = norm_scale || converts ? result : steps.Run(inputs);
      ZeroPadding(core, out);
      results.bits.insert(results.bits.end(), out.bits.begin(), out.bits.end());
      results.ideal.insert(results.ideal.end(), out.ideal.begin(), out.ideal.end());
    });
  }

  // exp(-infinity) is what the front end masks the padding of exponentials for; it masks no other.
  void ZeroPadding(size_t core, Line& line) const {
    const SuperDsc& dsc = *step_.dsc;
    for (const compiler::SdscMask& mask : dsc.masks) {
      if (op_.name != "exp" || mask.dim != line_dim_) continue;
      const int64_t begin = dsc.slice[core][mask.dim] * dsc.dims[mask.dim].per_core;
      for (size_t i = 0; i < length_; ++i) {
        const int64_t index = begin + static_cast<int64_t>(i);
        if (index < mask.start || index >= mask.start + mask.count) continue;
        line.bits[i] = 0;
        if (!line.ideal.empty()) line.ideal[i] = 0;
      }
    }
  }

  // `lane`: elements beyond the one that the index names.
  void Gather(size_t input, size_t core, const std::vector<int64_t>& index, int lane,
              Line& line) const {
    const StepOperand& operand = step_.inputs[input];
    const StepOperand::Place& place = operand.place[core];
    const int64_t base = place.start + OffsetAt(operand, index) + lane * operand.bytes;
    const uint8_t* image = memory_.image(place.image).data();
    for (size_t i = 0; i < length_; ++i) {
      const int64_t at = At(operand, i);
      const bool there = at != StepOperand::kNowhere;
      line.bits[i] = there ? LoadBits(image + base + at, operand.bytes) : 0;
      if (line.ideal.empty()) continue;
      line.ideal[i] =
          there ? memory_.Ideal(place.image, base + at, operand.format, operand.bytes) : 0;
    }
  }

  // 1 / sqrt(E[x^2] - E[x]^2 + eps) of the pair in lanes 0 and 1; every operation in fp32.
  void NormScale(size_t core, const std::vector<int64_t>& index, const Line& means,
                 Line& result) const {
    Line squares = means;
    Gather(0, core, index, 1, squares);
    const double eps = constants_.front();
    const float rounded_eps = Fp32(DeviceValue(result.format, DeviceBits(result.format, eps)));
    for (size_t i = 0; i < result.bits.size(); ++i) {
      const float mean = Fp32(DeviceValue(means.format, means.bits[i]));
      const float square = Fp32(DeviceValue(means.format, squares.bits[i]));
      const float product = mean * mean;
      const float difference = square - product;
      const float sum = difference + rounded_eps;
      result.bits[i] = DeviceBits(result.format, double{Fp32(1 / std::sqrt(double{sum}))});
    }
    for (size_t i = 0; i < result.ideal.size(); ++i)
      result.ideal[i] = 1 / std::sqrt(squares.ideal[i] - means.ideal[i] * means.ideal[i] + eps);
  }

  void Commit(size_t core, const Line& results) {
    const StepOperand& out = step_.output;
    const StepOperand::Place& place = out.place[core];
    size_t next = 0;
    ForEachIndex(*step_.dsc, outer_, [&](const std::vector<int64_t>& index) {
      const int64_t base = place.start + OffsetAt(out, index);
      uint8_t* image = memory_.image(place.image).data();
      for (size_t i = 0; i < length_; ++i, ++next) {
        if (At(out, i) == StepOperand::kNowhere) continue;
        const int64_t at = base + At(out, i);
        StoreBits(results.bits[next], image + at, out.bytes);
        if (results.ideal.empty()) continue;
        memory_.StoreIdeal(place.image, at, out.format, out.bytes, results.ideal[next]);
      }
    });
  }

  const BoundStep& step_;
  const OpFunc& op_;
  BundleMemory& memory_;
  std::vector<double> constants_;
  std::vector<int> outer_;  // dimensions that are walked line by line
  int line_dim_ = -1;       // -1: one element
  size_t length_ = 1;
};

}  // namespace

void RunElements(const BoundStep& step, const OpFunc& op, BundleMemory& memory) {
  ElementRunner(step, op, memory).Run();
}

}  // namespace spyre::cosim
