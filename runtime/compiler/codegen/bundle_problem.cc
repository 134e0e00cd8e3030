// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/codegen/bundle_problem.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/ranges.h"
#include "runtime/compiler/ops/op_funcs.h"
#include "runtime/compiler/sdsc/sdsc_names.h"

namespace spyre::compiler {
namespace {

class StepReader {
 public:
  StepReader(const SuperDsc& dsc, const BundleExecute& execute, const std::string& file,
             const ArgumentEntries& entries, Schedule schedule, CoreColumns& columns)
      : dsc_(dsc), execute_(execute), file_(file), entries_(entries), columns_(columns) {
    problem_.schedule = schedule;
  }

  Problem Read() {
    problem_.name = file_ + " (" + dsc_.op + ")";
    problem_.columns = &columns_;
    if (dsc_.outputs.size() != 1) {
      throw BadInput("{}: {} outputs; one is supported", problem_.name, dsc_.outputs.size());
    }
    for (int core : dsc_.cores) problem_.core_mask |= 1u << core;
    tensors_ = dsc_.inputs;
    tensors_.push_back(dsc_.outputs.front());
    sum_in_blocks_ = SumInBlocks();
    for (size_t dim = 0; dim < dsc_.dims.size(); ++dim) {
      if (dsc_.dims[dim].size > 1 || Needed(static_cast<int>(dim))) AddAxis(static_cast<int>(dim));
    }
    if (problem_.axes.empty()) AddAxis(static_cast<int>(dsc_.dims.size()) - 1);
    for (int tensor : tensors_) problem_.operands.push_back(MakeOperand(dsc_.tensors[tensor]));
    FindNeighbours();
    if (dsc_.index >= 0) AddIndex(dsc_.tensors[dsc_.index]);
    return std::move(problem_);
  }

 private:
  static int StickDim(const SdscTensor& tensor) {
    return tensor.stick_dims.empty() ? -1 : tensor.stick_dims.back();
  }
  // Of sticks with two dimensions, the one whose elements take turns; -1: none.
  static int TurnsDim(const SdscTensor& tensor) {
    return tensor.stick_dims.size() < 2 ? -1 : tensor.stick_dims.front();
  }

  bool Converts() const {
    const OpFunc* op = FindOpFunc(dsc_.op);
    return op != nullptr && op->op_class == OpFuncClass::kConversion;
  }

  // Of a product with no operand that has what is summed over in its sticks: the dimension that is.
  // It is counted in the sticks that it has once an operand is transposed. -1: none.
  int SumInBlocks() const {
    if (!IsMatmulFunc(dsc_.op)) return -1;
    const SdscTensor& first = dsc_.tensors[tensors_.front()];
    const SdscTensor& out = dsc_.tensors[tensors_.back()];
    int sum = -1;
    for (int dim = 0; dim < static_cast<int>(dsc_.dims.size()); ++dim) {
      if (!Walks(first, dim) || Walks(out, dim)) continue;
      for (const int input : dsc_.inputs) {
        if (StickDim(dsc_.tensors[input]) == dim) return -1;
      }
      const auto larger = [&](int a, int b) {
        return std::pair(dsc_.dims[a].slices, dsc_.dims[a].size) >
               std::pair(dsc_.dims[b].slices, dsc_.dims[b].size);
      };
      if (sum < 0 || larger(dim, sum)) sum = dim;
    }
    return sum;
  }

  // A restickify works on two dimensions, a conversion on that of its sticks, and a product on
  // those of its sticks and of its sum, whatever their sizes; and so does what makes or takes
  // sticks of two dimensions.
  bool Needed(int dim) const {
    if (dim == sum_in_blocks_) return true;
    const bool sticks = IsRestickifyFunc(dsc_.op) || Converts() || IsMatmulFunc(dsc_.op);
    return AnyFits(tensors_, [&](int position) {
      const SdscTensor& tensor = dsc_.tensors[position];
      return TurnsDim(tensor) == dim || (sticks && StickDim(tensor) == dim);
    });
  }

  void AddAxis(int dim) {
    const SdscDim& d = dsc_.dims[dim];
    Axis axis;
    axis.name = d.name;
    axis.size = d.size;
    for (int t : tensors_) {
      const SdscTensor& tensor = dsc_.tensors[t];
      const auto at = std::find(tensor.stick_dims.begin(), tensor.stick_dims.end(), dim);
      if (at == tensor.stick_dims.end()) continue;
      const int64_t elements = tensor.stick_sizes[at - tensor.stick_dims.begin()];
      axis.stick_elements = axis.in_sticks ? std::max(axis.stick_elements, elements) : elements;
      axis.in_sticks = true;
    }
    if (dim == sum_in_blocks_) axis.in_sticks = true;
    const SdscTensor& out = dsc_.tensors[tensors_.back()];
    axis.reduced = !Walks(out, dim) && Walks(dsc_.tensors[tensors_.front()], dim);
    axis.split = d.slices;
    axis.slice = (d.per_core + axis.unit_elements() - 1) / axis.unit_elements();
    axis.units = (d.size + axis.unit_elements() - 1) / axis.unit_elements();
    if (BeginsSticks(d, axis)) {
      axis.units = axis.slice * axis.split;
    } else if (dim == sum_in_blocks_) {
      axis.units = axis.slice * axis.split;
      if (d.per_core % axis.unit_elements() != 0) axis.slice_elements = d.per_core;
    } else if (d.slices > 1 && d.per_core % axis.unit_elements() != 0) {
      throw BadInput("{}: {} elements of dimension '{}' on each core are not whole sticks of {}",
                     problem_.name, d.per_core, d.name, axis.unit_elements());
    }
    if (d.slices > 1) {
      CoreColumns::Column slices{};
      for (size_t i = 0; i < dsc_.cores.size(); ++i) slices[dsc_.cores[i]] = dsc_.slice[i][dim];
      axis.slice_column = columns_.Add(slices);
    }
    for (const SdscMask& mask : dsc_.masks) {
      if (mask.dim == dim) Mask(axis, mask);
    }
    dims_.push_back(dim);
    problem_.axes.push_back(axis);
  }

  // Whether the part of each core begins with a stick of its own, and ends within one. Only of a
  // conversion, which takes its sticks whole: what is behind the end of a part is not counted.
  bool BeginsSticks(const SdscDim& dim, const Axis& axis) const {
    return Converts() && axis.in_sticks && dim.slices > 1 &&
           dim.per_core % axis.unit_elements() != 0;
  }

  void Mask(Axis& axis, const SdscMask& mask) const {
    if (mask.start + mask.count < axis.size || mask.start < 1) {
      throw BadInput("{}: elements {} to {} of dimension '{}' are masked; only its end may be",
                     problem_.name, mask.start, mask.start + mask.count - 1, axis.name);
    }
    axis.size = mask.start;
    axis.masked = true;
    if (axis.size <= (axis.split - 1) * axis.elements_per_slice()) {
      throw BadInput("{}: all of a core's part of dimension '{}' is masked", problem_.name,
                     axis.name);
    }
  }

  Operand MakeOperand(const SdscTensor& tensor) {
    Operand operand;
    operand.name = tensor.name;
    operand.in_lx = tensor.in_lx;
    const std::vector<int64_t> stride = DimStrides(dsc_, tensor);
    const int stick = StickDim(tensor);
    operand.lane0 = stick < 0 || !Walks(tensor, stick);
    for (size_t i = 0; i < dims_.size(); ++i) {
      const Axis& axis = problem_.axes[i];
      const bool own_stick = dims_[i] == stick && !operand.lane0;
      int64_t steps = axis.unit_elements();
      if (own_stick) {
        operand.stick_axis = static_cast<int>(i);
        steps = operand.sticks_per_unit = axis.stick_elements / tensor.stick_sizes.back();
        operand.sticks = StepsPerCore(dsc_, tensor, static_cast<size_t>(stick));
      } else if (dims_[i] == TurnsDim(tensor)) {
        operand.turns_axis = static_cast<int>(i);
        operand.turns = tensor.stick_sizes.front();
        steps /= operand.turns;
      }
      operand.unit_stride.push_back(stride[dims_[i]] * steps);
      operand.stride_entry.push_back(-1);
    }
    Locate(tensor, operand);
    return operand;
  }

  // The index tensor has a place, but no part in the iteration space.
  void AddIndex(const SdscTensor& tensor) {
    Operand operand;
    operand.name = tensor.name;
    operand.in_lx = tensor.in_lx;
    operand.unit_stride.assign(problem_.axes.size(), 0);
    operand.stride_entry.assign(problem_.axes.size(), -1);
    Locate(tensor, operand);
    problem_.operands.push_back(std::move(operand));
  }

  // Start addresses of the cores as one base and an offset for each core.
  void Locate(const SdscTensor& tensor, Operand& operand) {
    const AddressExpression* first = nullptr;
    CoreColumns::Column start{};
    for (size_t i = 0; i < dsc_.cores.size(); ++i) {
      int64_t address = tensor.start[i];
      if (tensor.symbolic) {
        const auto it = execute_.symbols.find(address);
        if (it == execute_.symbols.end()) {
          throw BadInput("{}: {} uses symbol {}, which the bundle does not bind", problem_.name,
                         tensor.name, address);
        }
        const AddressExpression& bound = it->second;
        if (first == nullptr) first = &bound;
        if (bound.argument != first->argument || bound.loop_stride != first->loop_stride) {
          throw BadInput("{}: the cores' parts of {} are not in one tensor", problem_.name,
                         tensor.name);
        }
        address = bound.constant;
        const bool steps_in_stick =
            AnyFits(bound.loop_stride, [](int64_t stride) { return stride % kStick != 0; });
        if (!operand.in_lx && (address % kStick != 0 || steps_in_stick)) {
          throw BadInput(
              "{}: {} begins {} bytes behind a stick on core {}{}; the card moves whole sticks",
              problem_.name, tensor.name, address % kStick, dsc_.cores[i],
              steps_in_stick ? ", or does so in a later iteration" : "");
        }
      }
      start[dsc_.cores[i]] = address;
    }
    if (first != nullptr) {
      operand.loop_stride = first->loop_stride;
      operand.address_entry = first->argument < 0 ? -1 : entries_[first->argument];
    } else if (!operand.in_lx) {
      throw BadInput("{}: {} is in device memory at an address that belongs to no argument",
                     problem_.name, tensor.name);
    }
    const int64_t base = start[dsc_.cores.front()];
    const bool same = AllFit(dsc_.cores, [&](int core) { return start[core] == base; });
    if (!same) {
      operand.start_column = columns_.Add(start);
    } else if (operand.address_entry < 0) {
      operand.base = base;
    } else if (base != 0) {
      start.fill(base);
      operand.start_column = columns_.Add(start);
    }
    if (!operand.in_lx && IsMatmulFunc(dsc_.op)) ShareLoads(start, operand);
  }

  void ShareLoads(const CoreColumns::Column& start, Operand& operand) {
    CoreColumns::Column groups{};
    int least = kMaxCores;
    for (int core : dsc_.cores) {
      int members = 0;
      for (int other : dsc_.cores) {
        if (start[core] != start[other]) continue;
        groups[core] |= int64_t{1} << other;
        ++members;
      }
      if (members == 1 && problem_.schedule != Schedule::kPublic) groups[core] = 0;
      least = std::min(least, members);
    }
    operand.sharers = least;
    if (groups != CoreColumns::Column{}) operand.group_column = columns_.Add(groups);
  }

  // The cores that share a part of the result, in order of their slices of the reduced axes.
  void FindNeighbours() {
    problem_.previous.fill(-1);
    problem_.next.fill(-1);
    std::vector<int> divided;
    int length = 1;
    for (size_t i = 0; i < dims_.size(); ++i) {
      if (!problem_.axes[i].reduced || problem_.axes[i].split == 1) continue;
      divided.push_back(dims_[i]);
      length *= problem_.axes[i].split;
    }
    if (divided.empty()) return;
    // Slices of the other dimensions -> slices of these -> core.
    std::map<std::vector<int>, std::map<std::vector<int>, int>> chains;
    for (size_t i = 0; i < dsc_.cores.size(); ++i) {
      std::vector<int> kept = dsc_.slice[i];
      std::vector<int> reduced;
      reduced.reserve(divided.size());
      for (const int dim : divided) reduced.push_back(std::exchange(kept[dim], 0));
      chains[kept][reduced] = dsc_.cores[i];
    }
    CoreColumns::Column place{};
    for (const auto& [kept, chain] : chains) {
      if (static_cast<int>(chain.size()) != length) {
        throw BadInput(
            "{}: {} cores share a part of the result; its reduced dimensions have {} "
            "slices",
            problem_.name, chain.size(), length);
      }
      int before = -1;
      for (const auto& [slices, core] : chain) {
        problem_.previous[core] = before;
        if (before >= 0) {
          problem_.next[before] = core;
          place[core] = place[before] + 1;
        }
        before = core;
      }
    }
    if (divided.size() == 1) return;
    problem_.chain_column = columns_.Add(place);
    problem_.chain_length = length;
  }

  const SuperDsc& dsc_;
  const BundleExecute& execute_;
  const std::string& file_;
  const ArgumentEntries& entries_;
  CoreColumns& columns_;
  Problem problem_;
  std::vector<int> tensors_;  // inputs, output
  std::vector<int> dims_;     // of each axis
  int sum_in_blocks_ = -1;
};

}  // namespace

Problem StepProblem(const SuperDsc& dsc, const BundleExecute& execute, const std::string& file,
                    const ArgumentEntries& entries, Schedule schedule, CoreColumns& columns) {
  return StepReader(dsc, execute, file, entries, schedule, columns).Read();
}

}  // namespace spyre::compiler
