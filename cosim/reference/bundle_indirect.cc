// SPDX-License-Identifier: Apache-2.0
// Gather and scatter, element by element. The indexed tensor has blocks, one for each number that
// an index may be; an element is in the block that the index at its position names. Of positions of
// a scatter that name the same block the last one counts.
#include <algorithm>
#include <vector>

#include "base/error.h"
#include "cosim/reference/bundle_execution.h"
#include "cosim/reference/device_elements.h"

namespace spyre::cosim {
namespace {

class IndirectRunner {
 public:
  IndirectRunner(const BoundStep& step, BundleMemory& memory)
      : step_(step), in_(step.inputs.front()), memory_(memory) {
    if (step.dsc->op != "identity")
      throw BadInput("{}: takes operands by an index; only 'identity' does", step.name);
    gathers_ = compiler::IsIndexed(step.dsc->tensors[step.dsc->inputs.front()]);
    // Positions of indices are outermost, in order of their dimensions.
    order_ = step.chosen;
    std::sort(order_.begin(), order_.end());
    const size_t positions = order_.size();
    for (int dim = 0; dim < static_cast<int>(step.dsc->dims.size()); ++dim) {
      const auto chosen = order_.begin() + static_cast<std::ptrdiff_t>(positions);
      if (std::find(order_.begin(), chosen, dim) == chosen) order_.push_back(dim);
    }
  }

  void Run() {
    for (size_t core = 0; core < step_.dsc->cores.size(); ++core) {
      ForEachIndex(*step_.dsc, order_,
                   [&](const std::vector<int64_t>& index) { Read(core, index); });
    }
    StoreMoved(elements_, step_.output, memory_);
  }

 private:
  void Read(size_t core, const std::vector<int64_t>& index) {
    const StepOperand& numbers = *step_.index;
    const StepOperand::Place& place = numbers.place[core];
    const uint32_t number = LoadBits(
        memory_.image(place.image).data() + place.start + OffsetAt(numbers, index), numbers.bytes);
    if (number >= step_.rows) {
      throw BadInput("{}: index {} of {} is not below {}", step_.name, number, numbers.name,
                     step_.rows);
    }
    const int64_t block = number * step_.block_bytes;
    int64_t from = in_.place[core].start + OffsetAt(in_, index);
    int64_t to = step_.output.place[core].start + OffsetAt(step_.output, index);
    (gathers_ ? from : to) += block;
    const int image = in_.place[core].image;
    MovedElement element;
    element.image = step_.output.place[core].image;
    element.at = to;
    element.bits = LoadBits(memory_.image(image).data() + from, in_.bytes);
    if (memory_.has_ideal()) element.ideal = memory_.Ideal(image, from, in_.format, in_.bytes);
    elements_.push_back(element);
  }

  const BoundStep& step_;
  const StepOperand& in_;
  BundleMemory& memory_;
  bool gathers_ = true;
  std::vector<int> order_;  // dimensions, the first one slowest
  std::vector<MovedElement> elements_;
};

}  // namespace

void RunIndirect(const BoundStep& step, BundleMemory& memory) {
  IndirectRunner(step, memory).Run();
}

}  // namespace spyre::cosim
