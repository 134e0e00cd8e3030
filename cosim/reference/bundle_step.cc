// SPDX-License-Identifier: Apache-2.0
#include "cosim/reference/bundle_step.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "cosim/reference/device_elements.h"
#include "model/contract/memory_map.h"
#include "runtime/compiler/ops/op_funcs.h"

namespace spyre::cosim {
namespace {

using compiler::AddressExpression;
using compiler::SdscTensor;
using compiler::SuperDsc;

// Two wide sticks became one narrow stick of `elements`, or are to, with `turn` elements of each in
// turn: where element i of the narrow one is in the wide ones, and the other way round.
int64_t InWideSticks(int64_t i, int64_t elements, int64_t turn) {
  const int64_t at = i % elements;
  const int64_t second = at / turn % 2;
  return i - at + second * (elements / 2) + at / (2 * turn) * turn + at % turn;
}
int64_t InNarrowStick(int64_t i, int64_t elements, int64_t turn) {
  const int64_t at = i % elements;
  const int64_t second = at / (elements / 2);
  const int64_t in_half = at % (elements / 2);
  return i - at + in_half / turn * (2 * turn) + second * turn + in_half % turn;
}

// How the dimension inside a tensor's sticks is counted: how many elements, and where each is.
struct Counting {
  int64_t elements = 0;
  std::function<int64_t(int64_t i)> place;
};

// A conversion counts the elements as its narrow side has them, and in whole sticks of it; an fp8
// product as they were before a conversion made its first operand.
Counting CountingOf(const SuperDsc& dsc, const SdscTensor& tensor, int64_t per_core) {
  constexpr int64_t kFp8Turn = 8;
  Counting in_order = {per_core, [](int64_t i) { return i; }};
  if (dsc.inputs.empty()) return in_order;
  const SdscTensor& input = dsc.tensors[dsc.inputs.front()];
  if (dsc.op == "batchmatmulfp8" && &tensor == &input) {
    return {per_core, [](int64_t i) {
              return InNarrowStick(i, static_cast<int64_t>(kStickBytes), kFp8Turn);
            }};
  }
  const compiler::OpFunc* op = compiler::FindOpFunc(dsc.op);
  if (op == nullptr || op->op_class != compiler::OpFuncClass::kConversion) return in_order;
  const SdscTensor& output = dsc.tensors[dsc.outputs.front()];
  const bool widens = DeviceElementBytes(output.format) > DeviceElementBytes(input.format);
  const SdscTensor& narrow = widens ? input : output;
  if (narrow.stick_dims.size() > 1) return in_order;
  const auto stick = static_cast<int64_t>(kStickBytes) / DeviceElementBytes(narrow.format);
  const int64_t elements = (per_core + stick - 1) / stick * stick;
  if (&tensor == &narrow) return {elements, in_order.place};
  return {elements, [stick, turn = compiler::ElementsInTurn(op->conversion)](int64_t i) {
            return InWideSticks(i, stick, turn);
          }};
}

// Elements of a dimension for which one core's part has room in whole sticks.
int64_t Room(const SuperDsc& dsc, const SdscTensor& tensor, size_t dim, int64_t per_stick) {
  const auto gap = tensor.back_gap.find(static_cast<int>(dim));
  const bool divided = dsc.dims[dim].slices > 1;
  const int64_t behind = divided || gap == tensor.back_gap.end() ? 0 : gap->second;
  return (dsc.PerCore(tensor, dim) + behind + per_stick - 1) / per_stick * per_stick;
}

StepOperand MakeOperand(const SuperDsc& dsc, const SdscTensor& tensor) {
  StepOperand operand;
  operand.name = tensor.name;
  operand.format = tensor.format;
  operand.bytes = DeviceElementBytes(tensor.format);
  const std::vector<int64_t> stride = compiler::DimStrides(dsc, tensor);
  const int stick = tensor.stick_dims.empty() ? -1 : tensor.stick_dims.back();
  // Of sticks with two dimensions: elements of the first follow each other.
  const int first = tensor.stick_dims.size() < 2 ? -1 : tensor.stick_dims.front();
  const int64_t firsts = first < 0 ? 1 : tensor.stick_sizes.front();
  for (size_t d = 0; d < dsc.dims.size(); ++d)
    operand.walks.push_back(compiler::Walks(tensor, static_cast<int>(d)));
  operand.end_bytes = operand.bytes;
  for (size_t d = 0; d < dsc.dims.size(); ++d) {
    const bool inside = static_cast<int>(d) == stick && operand.walks[d];
    if (inside) operand.stick_dim = stick;
    const int64_t per_stick = inside                         ? tensor.stick_sizes.back()
                              : static_cast<int>(d) == first ? firsts
                                                             : 1;
    const int64_t step = inside ? firsts * operand.bytes : operand.bytes;
    const int64_t room = inside ? Room(dsc, tensor, d, per_stick) : dsc.PerCore(tensor, d);
    const Counting count = CountingOf(dsc, tensor, dsc.PerCore(tensor, d));
    std::vector<int64_t> offset(
        static_cast<size_t>(static_cast<int>(d) == stick ? count.elements : room), 0);
    for (size_t i = 0; operand.walks[d] && i < offset.size(); ++i) {
      const int64_t at = inside ? count.place(static_cast<int64_t>(i)) : static_cast<int64_t>(i);
      offset[i] =
          at < room ? at / per_stick * stride[d] + at % per_stick * step : StepOperand::kNowhere;
    }
    operand.end_bytes += *std::max_element(offset.begin(), offset.end());
    operand.offset.push_back(std::move(offset));
  }
  // Where only element 0 counts, the whole stick is the operand's.
  if (operand.stick_dim < 0) operand.end_bytes += static_cast<int64_t>(kStickBytes) - operand.bytes;
  return operand;
}

const AddressExpression& SymbolOf(const compiler::BundleExecute& execute, const BoundStep& step,
                                  const SdscTensor& tensor, int64_t id) {
  const auto found = execute.symbols.find(id);
  if (found == execute.symbols.end()) {
    throw BadInput("{}: {} uses symbol {}, which the bundle does not bind", step.name, tensor.name,
                   id);
  }
  return found->second;
}

void Place(const compiler::BundleExecute& execute, const std::vector<int64_t>& iterations,
           const BundleMemory& memory, const BoundStep& step, const SdscTensor& tensor,
           StepOperand& operand) {
  operand.place.clear();
  for (size_t c = 0; c < step.dsc->cores.size(); ++c) {
    StepOperand::Place place;
    place.start = tensor.start[c];
    if (tensor.in_lx) place.image = memory.LxImage(step.dsc->cores[c]);
    if (tensor.symbolic) {
      const AddressExpression& address = SymbolOf(execute, step, tensor, tensor.start[c]);
      place.start = address.constant;
      for (size_t loop = 0; loop < address.loop_stride.size(); ++loop)
        place.start += address.loop_stride[loop] * iterations[loop];
      if (!tensor.in_lx) place.image = address.argument;
    }
    if (!tensor.in_lx && (!tensor.symbolic || place.image < 0)) {
      throw BadInput("{}: {} is at device address 0x{:x}, which belongs to no argument", step.name,
                     tensor.name, place.start);
    }
    const auto bytes = static_cast<int64_t>(memory.image(place.image).size());
    if (place.start < 0 || place.start > bytes || operand.end_bytes > bytes - place.start) {
      throw BadInput("{}: {} on core {} is at bytes {} to {} of {} bytes", step.name, tensor.name,
                     step.dsc->cores[c], place.start, place.start + operand.end_bytes, bytes);
    }
    operand.place.push_back(place);
  }
}

}  // namespace

BoundStep MakeStep(const compiler::Bundle& bundle, const compiler::BundleExecute& execute) {
  const SuperDsc& dsc = bundle.dscs[execute.dsc];
  BoundStep step;
  step.dsc = &dsc;
  step.name = bundle.files[execute.dsc] + " (" + dsc.op + ")";
  if (dsc.outputs.size() != 1) {
    throw BadInput("{}: {} outputs; one is supported", step.name, dsc.outputs.size());
  }
  for (const int input : dsc.inputs) step.inputs.push_back(MakeOperand(dsc, dsc.tensors[input]));
  step.output = MakeOperand(dsc, dsc.tensors[dsc.outputs.front()]);
  if (dsc.index < 0) return step;
  step.index = MakeOperand(dsc, dsc.tensors[dsc.index]);
  for (const SdscTensor& tensor : dsc.tensors) {
    if (!compiler::IsIndexed(tensor)) continue;
    step.block_bytes = compiler::IndexedBlockBytes(dsc, tensor);
    for (size_t i = 0; i < tensor.dim_order.size(); ++i)
      if (tensor.scale[i] == 0) step.chosen.push_back(tensor.dim_order[i]);
  }
  return step;
}

void PlaceStep(const compiler::BundleExecute& execute, const std::vector<int64_t>& iterations,
               const BundleMemory& memory, BoundStep& step) {
  const SuperDsc& dsc = *step.dsc;
  for (size_t i = 0; i < dsc.inputs.size(); ++i)
    Place(execute, iterations, memory, step, dsc.tensors[dsc.inputs[i]], step.inputs[i]);
  Place(execute, iterations, memory, step, dsc.tensors[dsc.outputs.front()], step.output);
  if (step.index) Place(execute, iterations, memory, step, dsc.tensors[dsc.index], *step.index);
}

bool OutputOverlapsInputs(const BoundStep& step) {
  // Per image the bytes from the first to the last that the output may touch.
  std::map<int, std::pair<int64_t, int64_t>> written;
  for (const StepOperand::Place& place : step.output.place) {
    const int64_t end = place.start + step.output.end_bytes;
    const auto [at, is_new] = written.try_emplace(place.image, place.start, end);
    if (is_new) continue;
    at->second.first = std::min(at->second.first, place.start);
    at->second.second = std::max(at->second.second, end);
  }
  for (const StepOperand& input : step.inputs) {
    for (const StepOperand::Place& place : input.place) {
      const auto found = written.find(place.image);
      if (found != written.end() && place.start < found->second.second &&
          place.start + input.end_bytes > found->second.first) {
        return true;
      }
    }
  }
  return false;
}

std::vector<std::vector<int>> CoreChains(const SuperDsc& dsc,
                                         const std::vector<int>& reduced_dims) {
  // Slices of the other dimensions -> slices of the reduced ones -> core.
  std::map<std::vector<int>, std::map<std::vector<int>, int>> chains;
  for (size_t c = 0; c < dsc.cores.size(); ++c) {
    std::vector<int> kept = dsc.slice[c];
    std::vector<int> reduced;
    reduced.reserve(reduced_dims.size());
    for (const int dim : reduced_dims) reduced.push_back(std::exchange(kept[dim], 0));
    chains[kept][reduced] = static_cast<int>(c);
  }
  std::vector<std::vector<int>> result;
  for (const auto& [kept, chain] : chains) {
    std::vector<int> cores;
    cores.reserve(chain.size());
    for (const auto& [reduced, core] : chain) cores.push_back(core);
    result.push_back(std::move(cores));
  }
  return result;
}

void ForEachIndex(const SuperDsc& dsc, const std::vector<int>& dims,
                  const std::function<void(const std::vector<int64_t>& index)>& visit) {
  std::vector<int64_t> index(dsc.dims.size(), 0);
  for (;;) {
    visit(index);
    size_t position = dims.size();
    while (position > 0) {
      const int dim = dims[--position];
      if (++index[dim] < dsc.dims[dim].per_core) break;
      index[dim] = 0;
      if (position == 0) return;
    }
    if (dims.empty()) return;
  }
}

void StoreMoved(const std::vector<MovedElement>& elements, const StepOperand& output,
                BundleMemory& memory) {
  for (const MovedElement& element : elements) {
    StoreBits(element.bits, memory.image(element.image).data() + element.at, output.bytes);
    if (memory.has_ideal())
      memory.StoreIdeal(element.image, element.at, output.format, output.bytes, element.ideal);
  }
}

}  // namespace spyre::cosim
