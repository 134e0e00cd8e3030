// SPDX-License-Identifier: Apache-2.0
// The relayout within LX, element by element: each element of a core's slice of the output comes
// from the first core whose slice of the input has it.
#include <vector>

#include "base/error.h"
#include "cosim/reference/bundle_execution.h"
#include "cosim/reference/device_elements.h"

namespace spyre::cosim {
namespace {

using compiler::SdscTensor;
using compiler::SuperDsc;

class ShuffleRunner {
 public:
  ShuffleRunner(const BoundStep& step, BundleMemory& memory)
      : step_(step),
        dsc_(*step.dsc),
        in_(dsc_.tensors[dsc_.inputs.front()]),
        out_(dsc_.tensors[dsc_.outputs.front()]),
        memory_(memory) {
    if (in_.format != out_.format)
      throw BadInput("{}: input and output have different formats", step.name);
    for (size_t dim = 0; dim < dsc_.dims.size(); ++dim)
      if (step.output.walks[dim]) walked_.push_back(dim);
  }

  void Run() {
    for (size_t core = 0; core < dsc_.cores.size(); ++core) Read(core);
    StoreMoved(elements_, step_.output, memory_);
  }

 private:
  const std::vector<int>& SliceOf(const SdscTensor& tensor, size_t core) const {
    return tensor.slices.empty() ? dsc_.slice[core] : tensor.slice[core];
  }

  // Position of the first core that has the element with these indices of the whole tensor.
  size_t Holder(const std::vector<int64_t>& index) const {
    for (size_t core = 0; core < dsc_.cores.size(); ++core) {
      bool holds = true;
      for (const size_t dim : walked_)
        holds = holds && index[dim] / dsc_.PerCore(in_, dim) == SliceOf(in_, core)[dim];
      if (holds) return core;
    }
    throw BadInput("{}: no core has an element that is asked for", step_.name);
  }

  void Read(size_t core) {
    const StepOperand& input = step_.inputs.front();
    const StepOperand& output = step_.output;
    std::vector<int64_t> local(dsc_.dims.size(), 0);
    for (bool more = true; more;) {
      std::vector<int64_t> whole(dsc_.dims.size(), 0);
      int64_t to = output.place[core].start;
      for (const size_t dim : walked_) {
        whole[dim] = SliceOf(out_, core)[dim] * dsc_.PerCore(out_, dim) + local[dim];
        to += output.offset[dim][local[dim]];
      }
      const size_t from = Holder(whole);
      int64_t at = input.place[from].start;
      for (const size_t dim : walked_) at += input.offset[dim][whole[dim] % dsc_.PerCore(in_, dim)];
      const int image = input.place[from].image;
      MovedElement element;
      element.image = output.place[core].image;
      element.at = to;
      element.bits = LoadBits(memory_.image(image).data() + at, input.bytes);
      if (memory_.has_ideal()) element.ideal = memory_.Ideal(image, at, in_.format, input.bytes);
      elements_.push_back(element);
      more = false;
      for (size_t i = walked_.size(); i-- > 0 && !more;) {
        more = ++local[walked_[i]] < dsc_.PerCore(out_, walked_[i]);
        if (!more) local[walked_[i]] = 0;
      }
    }
  }

  const BoundStep& step_;
  const SuperDsc& dsc_;
  const SdscTensor &in_, &out_;
  BundleMemory& memory_;
  std::vector<size_t> walked_;  // dimensions
  std::vector<MovedElement> elements_;
};

}  // namespace

void RunShuffle(const BoundStep& step, BundleMemory& memory) {
  if (step.inputs.size() != 1) throw BadInput("{}: one input is expected", step.name);
  ShuffleRunner(step, memory).Run();
}

}  // namespace spyre::cosim
