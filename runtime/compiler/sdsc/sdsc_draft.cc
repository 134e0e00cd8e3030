// SPDX-License-Identifier: Apache-2.0
// DraftSdsc; in one file because its steps fill in one draft.
#include "runtime/compiler/sdsc/sdsc_draft.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/ranges.h"
#include "base/round_up.h"
#include "model/contract/memory_map.h"
#include "runtime/compiler/op_spec/spec_coordinate.h"
#include "runtime/compiler/sdsc/dim_order.h"
#include "runtime/compiler/sdsc/sdsc_cores.h"
#include "runtime/compiler/sdsc/sdsc_names.h"

namespace spyre::compiler {
namespace {

constexpr int64_t kMaxDraftElements = int64_t{1} << 40;  // of an aligned tensor

class Draft {
 public:
  Draft(const OpSpec& op, int number, BundleDialect dialect)
      : op_(op), number_(number), newest_(dialect == BundleDialect::kSymbolicArguments) {}

  SdscDraft Run() {
    matmul_ = IsMatmulFunc(op_.op);
    if (op_.args.empty()) throw BadInput("operation '{}' has no arguments", op_.op);
    ReadCoordinates();
    NameDims();
    const size_t reference = Reference();
    op_order_ = OrderOf(reference);
    AddVirtualDims();
    if (matmul_) PadContraction();
    if (newest_ && IsRestickifyFunc(op_.op)) PadSticksOfAll();
    for (size_t i = 0; i < op_.args.size(); ++i) AddTensor(i);
    PadSticks();
    MaskPadding();
    AddConstants();
    DivideOverCores();
    PlaceCores();
    NameOperation(op_, number_, dsc());
    return std::move(draft_);
  }

 private:
  SuperDsc& dsc() { return draft_.dsc; }

  int64_t StickElements(size_t arg) const {
    const int elements = ElementsPerStick(op_.args[arg].device_format);
    if (elements > static_cast<int>(kStickBytes)) {
      throw CompileError("RuntimeError", "sub_byte_format",
                         fmt::format("operation '{}': format {} has less than a byte per element",
                                     op_.op, FormatName(op_.args[arg].device_format)))
          .Subject(op_.op);
    }
    return elements;
  }

  void ReadCoordinates() {
    for (const TensorArg& arg : op_.args) {
      std::vector<Coordinate>& coordinates = coordinates_.emplace_back();
      for (const Expression& expression : arg.device_coordinates) {
        coordinates.push_back(ToCoordinate(expression, op_.iteration_space));
      }
    }
  }

  void NameDims() {
    const size_t count = op_.iteration_space.size();
    if (count > kMaxDims)
      throw CompileError(
          "Unsupported", "dimensions",
          fmt::format("operation '{}' has {} dimensions; at most {}", op_.op, count, kMaxDims));
    for (size_t i = 0; i < count; ++i) {
      const IterationSymbol& symbol = op_.iteration_space[i];
      dsc().dims.push_back(
          {std::string(DimLabel(matmul_, i, count)), symbol.range, 1, symbol.split});
    }
  }

  // The argument that has all dimensions: of an operation that writes by indices what it writes.
  size_t Reference() const {
    const size_t output = op_.args.size() - 1;
    const bool writes = AnyFits(op_.args, [&](const TensorArg& arg) {
      return arg.related_value_tensor_idx == static_cast<int>(output);
    });
    return op_.is_reduction ? 0 : writes ? output - 1 : output;
  }

  DimOrder OrderOf(size_t arg) const {
    const std::vector<Coordinate>& coordinates = coordinates_[arg];
    DimOrder order;
    if (!coordinates.back().terms.empty()) order.stick = coordinates.back().terms.front().variable;
    for (size_t d = coordinates.size() - 1; d-- > 0;) {
      const Coordinate& coordinate = coordinates[d];
      const bool zero = coordinate.terms.empty() && coordinate.constant == 0;
      if (zero && order.stick && !order.Has(*order.stick)) order.dims.push_back(*order.stick);
      for (const CoordinateTerm& term : coordinate.terms) {
        if (!order.Has(term.variable)) order.dims.push_back(term.variable);
      }
    }
    return order;
  }

  // Conversions need a dimension outside the stick; every operation needs a stick dimension.
  void AddVirtualDims() {
    const bool only_stick =
        op_order_.stick && AllFit(op_order_.dims, [&](int d) { return d == *op_order_.stick; });
    if (IsConversionFunc(op_.op) && only_stick) {
      virtual_row_ = static_cast<int>(dsc().dims.size());
      dsc().dims.push_back({std::string(VirtualRowLabel()), 1, 1, 1});
      op_order_.dims.insert(op_order_.dims.begin(), *virtual_row_);
    }
    if (!op_order_.stick) {
      const size_t count = op_.iteration_space.size();
      if (count >= kMaxDims)
        throw CompileError("Unsupported", "dimensions",
                           fmt::format("operation '{}' has no room for a stick dimension", op_.op));
      virtual_stick_ = static_cast<int>(dsc().dims.size());
      dsc().dims.push_back({std::string(VirtualStickLabel(count)), StickElements(0), 1, 1});
    }
  }

  // The contracted dimension is padded to whole sticks before anything is laid out: the second
  // operand has rows for it.
  void PadContraction() {
    const size_t count = op_.args.size();
    if (count < 3)
      throw BadInput("operation '{}' has {} arguments; two inputs and an output", op_.op, count);
    const DimOrder kernel = OrderOf(1);
    const DimOrder output = OrderOf(op_.args.size() - 1);
    for (int dim : kernel.dims) {
      if (dim == kernel.stick || output.Has(dim)) continue;
      SdscDim& k = Dim(dim);
      const int64_t size = std::exchange(k.size, RoundUp(k.size, StickElements(1)));
      if (k.size > size && op_.HasConstant(kMaskContraction))
        dsc().masks.push_back({dim, size, k.size - size});
      return;
    }
  }

  void PadSticksOfAll() {
    for (size_t i = 0; i < op_.args.size(); ++i) {
      const DimOrder order = OrderOf(i);
      if (!order.stick) continue;
      const int64_t padded = RoundUp(Dim(*order.stick).size, StickElements(i));
      if (HasRoom(*order.stick, padded)) Dim(*order.stick).size = padded;
    }
  }

  // Whether every tensor that has the dimension outside its sticks has so many elements of it on
  // the device. Where one has not, padding would reach over what lies behind it.
  bool HasRoom(int dim, int64_t elements) const {
    for (size_t i = 0; i < op_.args.size(); ++i) {
      const DimOrder order = OrderOf(i);
      if (!order.Has(dim) || order.stick == dim) continue;
      const size_t outside = PositionOf(order, {}, dim) + 2;
      const std::vector<int64_t>& size = op_.args[i].device_size;
      if (outside > size.size() || size[size.size() - outside] < elements) return false;
    }
    return true;
  }

  SdscDim& Dim(int dim) { return dsc().dims[static_cast<size_t>(dim)]; }

  void AddTensor(size_t index) {
    const TensorArg& arg = op_.args[index];
    DimOrder order = OrderOf(index);
    if (!order.stick && op_order_.stick && order.Has(*op_order_.stick)) {
      throw CompileError("Unsupported", "stick_expression",
                         fmt::format("operation '{}', argument {}: the operation's stick dimension "
                                     "is outside the tensor's sticks",
                                     op_.op, index))
          .Subject(op_.op);
    }
    std::vector<int> reduced;
    const bool is_index = arg.related_value_tensor_idx >= 0;
    if (!matmul_ && !IsTopKFunc(op_.op) && !is_index) {
      for (int dim : op_order_.dims) {
        if (!order.Has(dim) && dim != virtual_row_) reduced.push_back(dim);
      }
      order.dims.insert(order.dims.end(), reduced.begin(), reduced.end());
    }
    if (virtual_stick_ && !is_index) {
      order.stick = virtual_stick_;
      order.dims.push_back(*virtual_stick_);
    }
    // The first operand of layernormscale holds its value in element 0 of every stick.
    const bool sparse_operand = op_.op == "layernormscale" && index == 0 && order.stick;
    if (sparse_operand) reduced = {*order.stick};

    SdscTensor tensor;
    tensor.name = "Tensor" + std::to_string(index);
    tensor.format = arg.device_format;
    // The backend knows no int32 tensors in an identity: the same 32 bits are called fp32.
    if (op_.op == "identity" && arg.device_format == DataFormat::kIeeeInt32) {
      tensor.format = DataFormat::kIeeeFp32;
    }
    tensor.word_bytes = static_cast<int>(kStickBytes) / static_cast<int>(StickElements(index));
    tensor.in_lx = arg.memory == Memory::kLx;
    strides_.emplace_back(dsc().dims.size(), 0);
    offset_.push_back(0);
    views_.emplace_back();
    walkers_.emplace_back();
    if (virtual_row_) {
      tensor.dim_order.push_back(*virtual_row_);
      tensor.scale.push_back(1);
    }
    for (int dim : order.dims) {
      const bool is_reduced = std::find(reduced.begin(), reduced.end(), dim) != reduced.end();
      int scale = 1;
      if (is_reduced) {
        const bool of_stick = sparse_operand || (!order.stick && op_order_.stick == dim);
        scale = IsChosen(index, dim) ? 0 : of_stick ? -2 : -1;
      }
      tensor.dim_order.push_back(dim);
      tensor.scale.push_back(scale);
      LayOut(index, dim, PositionOf(order, reduced, dim), dim == order.stick, tensor);
    }
    const bool chosen = AnyFits(op_.args, [&](const TensorArg& other) {
      return other.related_value_tensor_idx == static_cast<int>(index);
    });
    if (chosen && std::count(tensor.scale.begin(), tensor.scale.end(), 0) == 0) {
      throw BadInput(
          "operation '{}', argument {}: the index tensor has no dimension of its own, so "
          "that it chooses nothing",
          op_.op, index);
    }
    if (is_index) tensor.type = kIndexLabel;
    Label(order.stick ? *order.stick : *op_order_.stick, static_cast<int64_t>(StickElements(index)),
          tensor);
    dsc().tensors.push_back(std::move(tensor));
  }

  // Whether an index tensor, which has the dimension, chooses from the tensor.
  bool IsChosen(size_t index, int dim) const {
    for (size_t i = 0; i < op_.args.size(); ++i) {
      if (op_.args[i].related_value_tensor_idx == static_cast<int>(index))
        return OrderOf(i).Has(dim);
    }
    return false;
  }

  // Sets the stride of the dimension, and offset and gap where the device has more than the
  // operation walks.
  void LayOut(size_t index, int dim, size_t position, bool is_stick, SdscTensor& tensor) {
    const TensorArg& arg = op_.args[index];
    const size_t rank = arg.device_size.size();
    int64_t inner = 1;
    for (size_t d = 0; d <= position && d < rank; ++d) inner *= arg.device_size[rank - 1 - d];
    int64_t device = position + 2 <= rank ? arg.device_size[rank - 2 - position] : 1;
    int64_t walked = Dim(dim).size;
    int64_t& stride = strides_.back()[static_cast<size_t>(dim)];
    stride = inner * device;
    if (is_stick) {
      device *= StickElements(index);
      walked = RoundUp(walked, StickElements(index));
    }
    if (position + 2 <= rank) {
      const int64_t at = coordinates_[index][rank - 2 - position].constant;
      if (at > kMaxDraftElements / inner) throw BadInput("operation '{}': offset {}", op_.op, at);
      offset_.back() += at * inner;
      if (at > 0 && op_.args[index].memory == Memory::kLx) views_.back()[position] = at;
    }
    if (position + 2 <= rank) walkers_.back()[position] = dim;
    if (device <= walked) return;
    stride = stride / device * walked;
    tensor.back_gap[dim] = device - walked;
  }

  void Label(int stick, int64_t stick_size, SdscTensor& tensor) const {
    tensor.stick_dims = {stick};
    tensor.stick_sizes = {stick_size};
    if (tensor.type == kIndexLabel) return;
    std::vector<int> dims = tensor.dim_order;
    std::sort(dims.begin(), dims.end());
    std::set<std::string> labels;
    for (const SdscTensor& other : draft_.dsc.tensors) {
      if (other.type == kIndexLabel) continue;
      labels.insert(other.type);
      std::vector<int> other_dims = other.dim_order;
      std::sort(other_dims.begin(), other_dims.end());
      if (other.stick_dims == tensor.stick_dims && other.stick_sizes == tensor.stick_sizes &&
          other_dims == dims) {
        tensor.type = other.type;
        return;
      }
    }
    if (labels.size() == kMaxLayouts) {
      throw CompileError(
          "Unsupported", "layouts",
          fmt::format("operation '{}' has more than {} layouts", op_.op, kMaxLayouts))
          .Subject(op_.op);
    }
    tensor.type = LayoutLabel(matmul_, labels.size());
  }

  // Whole sticks: of every tensor of a matmul or conversion, else of the reference.
  void PadSticks() {
    const bool all = matmul_ || IsConversionFunc(op_.op) || (newest_ && IsRestickifyFunc(op_.op));
    for (size_t i = 0; i < op_.args.size(); ++i) {
      if (!all && i != (op_.is_reduction ? 0 : op_.args.size() - 1)) continue;
      const SdscTensor& tensor = dsc().tensors[i];
      const int stick = tensor.stick_dims.front();
      const auto place = std::find(tensor.dim_order.begin(), tensor.dim_order.end(), stick);
      if (place == tensor.dim_order.end()) continue;
      const auto position = static_cast<size_t>(place - tensor.dim_order.begin());
      if (position + 2 > op_.args[i].device_size.size() + (virtual_row_ ? 1 : 0)) continue;
      SdscDim& dim = Dim(stick);
      const int64_t padding = RoundUp(dim.size, tensor.stick_sizes.front()) - dim.size;
      if (padding == 0) continue;
      if (IsRestickifyFunc(op_.op) && !HasRoom(stick, dim.size + padding)) continue;
      padding_.push_back({stick, dim.size, padding});
      dim.size += padding;
    }
  }

  // Padding that would reach a result: in a stick that is reduced, and (newest) below exp, whose
  // result may be contracted.
  void MaskPadding() {
    const SdscTensor& output = dsc().tensors.back();
    for (const SdscMask& padding : padding_) {
      const auto place = std::find(output.dim_order.begin(), output.dim_order.end(), padding.dim);
      if (place == output.dim_order.end()) continue;
      const int scale = output.scale[static_cast<size_t>(place - output.dim_order.begin())];
      if (scale == -2 || (newest_ && op_.op == "exp")) dsc().masks.push_back(padding);
    }
  }

  void AddConstants() {
    const DataFormat format = dsc().tensors.front().format;
    for (const OpConstant& constant : op_.constants) {
      if (constant.name == kMaskContraction) continue;
      dsc().constants.push_back({constant.name, format, ConstantBits(constant.value, format)});
    }
    if (!dsc().masks.empty()) {
      dsc().constants.push_back(
          {std::string(kMaskConstant), format, ConstantBits(MaskValue(op_.op), format)});
    }
  }

  // A core begins with a stick: addresses within one cannot be said.
  void RequireWholeSticks(const SdscDim& dim) {
    for (const SdscTensor& tensor : draft_.dsc.tensors) {
      const bool inside = &Dim(tensor.stick_dims.front()) == &dim;
      if (!inside || dim.per_core % tensor.stick_sizes.front() == 0) continue;
      throw BadInput(
          "operation '{}': {} elements of dimension '{}' in {} slices are {} for each core, which "
          "is not a whole number of sticks of {}: use fewer slices",
          op_.op, dim.size, dim.name, dim.slices, dim.per_core, tensor.stick_sizes.front());
    }
  }

  void DivideOverCores() {
    int64_t cores = 1;
    for (SdscDim& dim : dsc().dims) {
      if (dim.slices < 1 || dim.size % dim.slices != 0) {
        throw BadInput("operation '{}': {} elements of dimension '{}' in {} slices", op_.op,
                       dim.size, dim.name, dim.slices);
      }
      dim.per_core = dim.size / dim.slices;
      if (dim.slices > 1) RequireWholeSticks(dim);
      cores *= dim.slices;
      if (cores > kMaxCores) {
        throw BadInput("operation '{}' is divided over more than {} cores", op_.op, kMaxCores);
      }
    }
    dsc().cores.resize(static_cast<size_t>(cores));
    std::iota(dsc().cores.begin(), dsc().cores.end(), 0);
  }

  void PlaceCores() {
    const bool contraction_first =
        matmul_ && (dsc().dims.size() >= 3 || newest_) && dsc().dims.back().slices > 1;
    dsc().slice = SlicesOfCores(op_, dsc().dims, contraction_first);
    for (size_t i = 0; i < dsc().tensors.size(); ++i) {
      std::vector<int64_t>& offsets = draft_.core_offset.emplace_back(dsc().cores.size(), 0);
      if (dsc().tensors[i].in_lx) {
        const int64_t elements =
            LxViewOffset(op_.args[i].device_size, views_[i], walkers_[i], dsc().dims);
        std::fill(offsets.begin(), offsets.end(), elements * dsc().tensors[i].word_bytes);
        continue;
      }
      for (size_t core = 0; core < offsets.size(); ++core) offsets[core] = CoreOffset(i, core);
    }
  }

  int64_t CoreOffset(size_t index, size_t core) {
    const SdscTensor& tensor = dsc().tensors[index];
    int64_t elements = offset_[index];
    for (size_t k = 0; k < tensor.dim_order.size(); ++k) {
      const auto dim = static_cast<size_t>(tensor.dim_order[k]);
      if (tensor.scale[k] > 0) {
        elements += dsc().slice[core][dim] * strides_[index][dim] / dsc().dims[dim].slices;
      }
    }
    return elements * tensor.word_bytes;
  }

  const OpSpec& op_;
  int number_;
  bool newest_;
  bool matmul_ = false;
  SdscDraft draft_;
  std::vector<std::vector<Coordinate>> coordinates_;  // [argument][device dimension]
  DimOrder op_order_;                                 // of the reference argument
  std::optional<int> virtual_row_;
  std::optional<int> virtual_stick_;
  std::vector<std::vector<int64_t>> strides_;  // elements over a whole dimension, [argument][dim]
  std::vector<int64_t> offset_;                // of the view, elements, [argument]
  // Of each argument, by position from inside out: where a view begins, and the dimension there.
  std::vector<std::map<size_t, int64_t>> views_;
  std::vector<std::map<size_t, int>> walkers_;
  std::vector<SdscMask> padding_;
};

}  // namespace

SdscDraft DraftSdsc(const OpSpec& op, int number, BundleDialect dialect) {
  return Draft(op, number, dialect).Run();
}

}  // namespace spyre::compiler
