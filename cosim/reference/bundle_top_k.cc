// SPDX-License-Identifier: Apache-2.0
// The largest along a dimension: every line is sorted as a whole.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "cosim/reference/bundle_execution.h"
#include "cosim/reference/device_elements.h"

namespace spyre::cosim {
namespace {

class TopKRunner {
 public:
  TopKRunner(const BoundStep& step, const compiler::OpFunc& op, BundleMemory& memory)
      : step_(step), in_(step.inputs.front()), gives_index_(op.gives_index), memory_(memory) {
    for (int dim = 0; dim < static_cast<int>(step.dsc->dims.size()); ++dim) {
      const auto d = static_cast<size_t>(dim);
      if (in_.walks[d] == step.output.walks[d]) {
        lines_.push_back(dim);
        continue;
      }
      if (step.dsc->dims[d].size == 1) continue;
      int& found = in_.walks[d] ? searched_ : ranks_;
      if (found >= 0) throw BadInput("{}: searches along one dimension only", step.name);
      found = dim;
    }
  }

  void Run() {
    for (size_t core = 0; core < step_.dsc->cores.size(); ++core) {
      ForEachIndex(*step_.dsc, lines_,
                   [&](const std::vector<int64_t>& index) { RunLine(core, index); });
    }
    StoreMoved(elements_, step_.output, memory_);
  }

 private:
  struct Number {
    int64_t position = 0;
    uint32_t bits = 0;
    double value = 0;
    double ideal = 0;
  };

  int64_t Count(int dim) const {
    return dim < 0 ? 1 : step_.dsc->dims[static_cast<size_t>(dim)].per_core;
  }

  std::vector<Number> Read(size_t core, std::vector<int64_t> index) const {
    const StepOperand::Place& place = in_.place[core];
    std::vector<Number> line;
    for (int64_t i = 0; i < Count(searched_); ++i) {
      if (searched_ >= 0) index[static_cast<size_t>(searched_)] = i;
      const int64_t at = place.start + OffsetAt(in_, index);
      Number number;
      number.position = i;
      number.bits = LoadBits(memory_.image(place.image).data() + at, in_.bytes);
      number.value = DeviceValue(in_.format, number.bits);
      if (memory_.has_ideal()) number.ideal = memory_.Ideal(place.image, at, in_.format, in_.bytes);
      line.push_back(number);
    }
    return line;
  }

  // The line in the order of its ranks, as far as `last`. Which number has which rank is decided by
  // the rounded numbers: without rounding, others that are nearly equal may come first.
  static std::vector<Number> Ranked(const std::vector<Number>& line, size_t last) {
    std::vector<Number> sorted;
    std::copy_if(line.begin(), line.end(), std::back_inserter(sorted),
                 [](const Number& number) { return !std::isnan(number.value); });
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Number& a, const Number& b) { return a.value > b.value; });
    std::vector<Number> ranked;
    auto next = sorted.begin();
    for (size_t rank = 0; rank < last; ++rank)
      ranked.push_back(std::isnan(line[rank].value) ? line[rank] : *next++);
    return ranked;
  }

  void RunLine(size_t core, std::vector<int64_t> index) {
    const std::vector<Number> line = Read(core, index);
    const int64_t own = Count(ranks_);
    const int64_t first =
        ranks_ < 0 ? 0 : own * step_.dsc->slice[core][static_cast<size_t>(ranks_)];
    if (first + own > static_cast<int64_t>(line.size())) {
      throw BadInput("{}: the {} largest of {} are asked for", step_.name, first + own,
                     line.size());
    }
    const std::vector<Number> ranked = Ranked(line, static_cast<size_t>(first + own));
    const StepOperand& out = step_.output;
    for (int64_t i = 0; i < own; ++i) {
      if (ranks_ >= 0) index[static_cast<size_t>(ranks_)] = i;
      const Number& number = ranked[static_cast<size_t>(first + i)];
      const auto position = static_cast<double>(number.position);
      MovedElement element;
      element.image = out.place[core].image;
      element.at = out.place[core].start + OffsetAt(out, index);
      element.bits = gives_index_ ? DeviceBits(out.format, position) : number.bits;
      element.ideal = gives_index_ ? position : number.ideal;
      elements_.push_back(element);
    }
  }

  const BoundStep& step_;
  const StepOperand& in_;
  bool gives_index_;
  BundleMemory& memory_;
  std::vector<int> lines_;  // dimensions of both operands
  int searched_ = -1;       // of the input only
  int ranks_ = -1;          // of the output only
  std::vector<MovedElement> elements_;
};

}  // namespace

void RunTopK(const BoundStep& step, const compiler::OpFunc& op, BundleMemory& memory) {
  if (step.inputs.size() != 1) throw BadInput("{}: one input is expected", step.name);
  TopKRunner(step, op, memory).Run();
}

}  // namespace spyre::cosim
