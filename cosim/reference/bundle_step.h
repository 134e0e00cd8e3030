// SPDX-License-Identifier: Apache-2.0
// One execution of a SuperDSC with every address resolved: where each element of each operand is.
// Part of the reference of bundles. Pure functions, any thread; a BoundStep points into the bundle.
// Errors: Error(kBadInput) naming the SDSC file, the tensor and what does not fit.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cosim/reference/bundle_memory.h"
#include "runtime/compiler/bundle/bundle.h"

namespace spyre::cosim {

// A tensor of the SuperDSC. On core c, the element with core-local indices i0, i1, ... is at byte
// place[c].start + offset[0][i0] + offset[1][i1] + ... of image place[c].image.
struct StepOperand {
  struct Place {
    int image = 0;
    int64_t start = 0;
  };
  std::string name;
  DataFormat format = DataFormat::kSen169Fp16;
  int bytes = 2;  // of an element
  // [dimension][index below its per-core size, as the tensor is divided]; of a conversion, whole
  // sticks of the narrow side, and kNowhere where the wide side has no stick.
  static constexpr int64_t kNowhere = -1;
  std::vector<std::vector<int64_t>> offset;
  std::vector<bool> walks;   // [dimension]; false: the same element for each index
  int stick_dim = -1;        // dimension inside the sticks, -1: element 0 only
  std::vector<Place> place;  // as SuperDsc::cores
  int64_t end_bytes = 0;     // from start to behind the last element
};

struct BoundStep {
  const compiler::SuperDsc* dsc = nullptr;
  std::string name;  // "sdsc_0.json (add)", for messages
  std::vector<StepOperand> inputs;
  StepOperand output;
  // Where an index chooses a part of the input or the output: the index tensor, the bytes from one
  // choice to the next, how many there are, and which dimensions the choice stands for.
  std::optional<StepOperand> index;
  int64_t block_bytes = 0;
  int64_t rows = 0;
  std::vector<int> chosen;
};

// The sizes and strides, which are the same in every iteration of the loops around the execution.
BoundStep MakeStep(const compiler::Bundle& bundle, const compiler::BundleExecute& execute);
// The places in the iteration `iterations`, outermost loop first; every element is in `memory`.
void PlaceStep(const compiler::BundleExecute& execute, const std::vector<int64_t>& iterations,
               const BundleMemory& memory, BoundStep& step);

// Whether the output lies, on any core, where an input does on any core.
bool OutputOverlapsInputs(const BoundStep& step);

// Cores that share each part of the output, in order of their slices of the reduced dimensions;
// one core each where these are not divided. Positions in SuperDsc::cores.
std::vector<std::vector<int>> CoreChains(const compiler::SuperDsc& dsc,
                                         const std::vector<int>& reduced_dims);

// Calls visit for every combination of core-local indices of `dims`, the last one fastest; the
// others stay 0. `index` has one entry per dimension of the SuperDSC.
void ForEachIndex(const compiler::SuperDsc& dsc, const std::vector<int>& dims,
                  const std::function<void(const std::vector<int64_t>& index)>& visit);

// An element of the output whose value was read before anything was written.
struct MovedElement {
  int image = 0;
  int64_t at = 0;
  uint32_t bits = 0;
  double ideal = 0;
};
void StoreMoved(const std::vector<MovedElement>& elements, const StepOperand& output,
                BundleMemory& memory);

// Sum of the operand's offsets at `index`.
inline int64_t OffsetAt(const StepOperand& operand, const std::vector<int64_t>& index) {
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d) offset += operand.offset[d][index[d]];
  return offset;
}

}  // namespace spyre::cosim
