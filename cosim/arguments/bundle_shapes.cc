// SPDX-License-Identifier: Apache-2.0
#include "cosim/arguments/bundle_shapes.h"

#include <algorithm>
#include <map>

#include "cosim/tensors/host_data.h"
#include "model/contract/memory_map.h"
#include "runtime/compiler/bundle/bundle_accesses.h"
#include "runtime/compiler/bundle/for_each_execute.h"

namespace spyre::cosim {
namespace {

using compiler::Bundle;
using compiler::BundleArgument;
using compiler::BundleExecute;
using compiler::SdscTensor;
using compiler::SuperDsc;

// The host shape whose default layout puts the elements where the tensor has them: the sticks'
// count next to the innermost dimension, or innermost itself.
std::optional<std::vector<int64_t>> HostShape(const SuperDsc& dsc, const SdscTensor& tensor) {
  if (!tensor.back_gap.empty() || tensor.stick_dims.size() != 1) return std::nullopt;
  std::vector<int64_t> sizes;  // innermost first
  int stick = -1;
  for (size_t i = 0; i < tensor.dim_order.size(); ++i) {
    if (tensor.scale[i] < 0) continue;
    if (tensor.dim_order[i] == tensor.stick_dims.front()) stick = static_cast<int>(sizes.size());
    sizes.push_back(compiler::ExtentOf(dsc, tensor, tensor.dim_order[i]));
  }
  if (sizes.empty()) return std::vector<int64_t>{1};
  std::vector<int64_t> shape;
  if (stick == 0) {
    if (sizes.size() > 1) shape.push_back(1);
  } else if (stick == 1) {
    shape.push_back(sizes[0]);
  } else {
    return std::nullopt;
  }
  for (size_t i = sizes.size(); i-- > static_cast<size_t>(stick) + 1;) shape.push_back(sizes[i]);
  shape.push_back(sizes[stick]);
  return shape;
}

class ShapeFinder {
 public:
  ShapeFinder(const Bundle& bundle, const std::vector<compiler::ArgumentUse>& uses)
      : bundle_(bundle), uses_(uses) {
    compiler::ForEachExecute(bundle, [&](const BundleExecute& execute, const auto&) {
      const SuperDsc& dsc = bundle_.dscs[execute.dsc];
      for (const SdscTensor& tensor : dsc.tensors)
        if (!tensor.in_lx) Look(execute, dsc, tensor);
    });
  }

  std::optional<std::vector<ArgumentShape>> Take() const {
    std::vector<ArgumentShape> shapes;
    for (size_t i = 0; i < bundle_.arguments.size(); ++i) {
      if (bundle_.arguments[i].kind != BundleArgument::Kind::kTensor) continue;
      const auto found = found_.find(static_cast<int>(i));
      if (found == found_.end()) return std::nullopt;
      shapes.push_back(found->second);
    }
    return shapes;
  }

 private:
  void Look(const BundleExecute& execute, const SuperDsc& dsc, const SdscTensor& tensor) {
    int argument = -1;
    int64_t first = INT64_MAX;
    for (const int64_t id : tensor.start) {
      const auto symbol = execute.symbols.find(id);
      if (symbol == execute.symbols.end()) return;
      argument = symbol->second.argument;
      first = std::min(first, symbol->second.constant);
    }
    const bool covers = argument >= 0 && first == 0 &&
                        static_cast<uint64_t>(FootprintBytes(dsc, tensor)) == uses_[argument].bytes;
    const std::optional<std::vector<int64_t>> shape =
        covers ? HostShape(dsc, tensor) : std::nullopt;
    if (!shape) return;
    for (const HostFormat& host : HostFormats()) {
      if (DeviceFormatOf(host.format) != tensor.format) continue;
      ArgumentShape result;
      result.shape = *shape;
      result.host_format = host.format;
      result.layout = DefaultLayout(*shape, tensor.format);
      if (static_cast<uint64_t>(result.layout.DeviceBytes()) == uses_[argument].bytes)
        found_.emplace(argument, result);
      return;
    }
  }

  const Bundle& bundle_;
  const std::vector<compiler::ArgumentUse>& uses_;
  std::map<int, ArgumentShape> found_;
};

// Of the images: what every element of the device's format can be written as and read back from.
DataFormat HostFormatOfImage(DataFormat device) {
  switch (device) {
    case DataFormat::kSen169Fp16:
    case DataFormat::kSen143Fp8:
    case DataFormat::kSen152Fp8:
      return DataFormat::kIeeeFp32;
    case DataFormat::kSenUint32:
      return DataFormat::kIeeeInt32;
    default:
      return device;
  }
}

}  // namespace

std::optional<std::vector<ArgumentShape>> ShapesFromAddresses(
    const Bundle& bundle, const std::vector<compiler::ArgumentUse>& uses) {
  return ShapeFinder(bundle, uses).Take();
}

std::vector<ArgumentShape> ShapesOfImages(const Bundle& bundle,
                                          const std::vector<compiler::ArgumentUse>& uses) {
  std::map<int, DataFormat> formats;
  std::map<int, uint64_t> indexed;  // bytes, where an index chooses among blocks
  for (const compiler::BundleAccess& access : compiler::Accesses(bundle)) {
    if (access.tensor->start.empty()) continue;
    const compiler::AddressExpression start = compiler::StartOf(access, 0);
    formats.emplace(start.argument, access.tensor->format);
    if (!compiler::IsIndexed(*access.tensor)) continue;
    const int64_t rows = compiler::IndexCount(*access.dsc);
    uint64_t& bytes = indexed[start.argument];
    bytes = std::max(
        bytes, static_cast<uint64_t>(start.constant + rows * compiler::IndexedBlockBytes(
                                                                 *access.dsc, *access.tensor)));
  }
  std::vector<ArgumentShape> shapes;
  for (size_t i = 0; i < bundle.arguments.size(); ++i) {
    if (bundle.arguments[i].kind != BundleArgument::Kind::kTensor) continue;
    const auto known = formats.find(static_cast<int>(i));
    const DataFormat device = known == formats.end() ? DataFormat::kSen169Fp16 : known->second;
    const uint64_t bytes = std::max(uses[i].bytes, indexed[static_cast<int>(i)]);
    const auto sticks =
        std::max<int64_t>(1, static_cast<int64_t>(AlignUp(bytes, kStickBytes) / kStickBytes));
    ArgumentShape shape;
    shape.name = bundle.arguments[i].name;
    shape.host_format = HostFormatOfImage(device);
    // Bits of unsigned numbers are copied as those of signed ones.
    const DataFormat stored = device == DataFormat::kSenUint32 ? shape.host_format : device;
    shape.shape = {sticks, ElementsPerStick(device)};
    shape.layout = DefaultLayout(shape.shape, stored);
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

}  // namespace spyre::cosim
