// SPDX-License-Identifier: Apache-2.0
#include "runtime/spyre/spyre_code_metadata.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/ranges.h"
#include "model/contract/memory_map.h"

namespace spyre::runtime {
namespace {

constexpr int64_t kMaxDimension = int64_t{1} << 40;
constexpr int kMaxArguments = 4096;

// Product of sizes; throws beyond the device's address space, so that later sums cannot overflow.
int64_t CheckedVolume(const JsonReader& where, const std::vector<int64_t>& size) {
  int64_t volume = 1;
  for (const int64_t s : size) {
    if (volume > kMaxDimension / s) where.Fail("a tensor that fits the device is expected");
    volume *= s;
  }
  return volume;
}

StickLayout ReadLayout(const JsonReader& argument, const std::vector<int64_t>& shape) {
  StickLayout layout;
  layout.host_size = shape;
  layout.host_stride = ContiguousStrides(shape);
  try {
    layout.format = FormatFromName(argument.At("format").String());
    ElementsPerStick(layout.format);
  } catch (const Error& error) {
    argument.At("format").Fail(fmt::format("a device format is expected ({})", error.what()));
  }
  const JsonReader device_size = argument.At("device_size");
  layout.device_size = device_size.Integers(1, kMaxDimension);
  CheckedVolume(device_size, layout.device_size);
  if (layout.device_size.size() < 2 ||
      layout.device_size.back() != ElementsPerStick(layout.format)) {
    device_size.Fail(
        fmt::format("sizes from outermost to the inside of a stick, which is {}, are expected",
                    ElementsPerStick(layout.format)));
  }
  const JsonReader stride_map = argument.At("stride_map");
  layout.stride_map = stride_map.Integers(-1, kMaxDimension);
  if (layout.stride_map.size() != layout.device_size.size()) {
    stride_map.Fail(fmt::format("as many strides as device_size has sizes, {}, are expected",
                                layout.device_size.size()));
  }
  const JsonReader host_dim = argument.At("host_dim");
  for (const int64_t d : host_dim.Integers(-1, static_cast<int64_t>(shape.size()) - 1)) {
    layout.host_dim.push_back(static_cast<int>(d));
  }
  if (layout.host_dim.size() != layout.device_size.size()) {
    host_dim.Fail(fmt::format("as many dimensions as device_size has sizes, {}, are expected",
                              layout.device_size.size()));
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] > 1 && std::find(layout.host_dim.begin(), layout.host_dim.end(),
                                  static_cast<int>(d)) == layout.host_dim.end()) {
      host_dim.Fail(fmt::format("dimension {} of size {} is expected to appear", d, shape[d]));
    }
  }
  return layout;
}

TensorMetadata ReadArgument(const JsonReader& argument) {
  TensorMetadata tensor;
  tensor.name = argument.At("name").String();
  const JsonReader role = argument.At("role");
  if (role.String() != "input" && role.String() != "output") {
    role.Fail("'input' or 'output' is expected");
  }
  tensor.is_output = role.String() == "output";
  const JsonReader shape = argument.At("shape");
  tensor.shape = shape.Integers(1, kMaxDimension);
  CheckedVolume(shape, tensor.shape);
  const JsonReader dims = argument.At("dims");
  tensor.dims = dims.Strings();
  if (tensor.dims.size() != tensor.shape.size()) {
    dims.Fail(
        fmt::format("one name for each of the {} dimensions is expected", tensor.shape.size()));
  }
  tensor.layout = ReadLayout(argument, tensor.shape);
  return tensor;
}

DimensionInfo ReadDimension(const JsonReader& entry) {
  entry.RequireKeys({"name", "max", "granularity"});
  DimensionInfo dimension;
  dimension.name = entry.At("name").String();
  dimension.granularity = entry.At("granularity").Integer(1, kMaxDimension);
  dimension.max = entry.At("max").Integer(dimension.granularity, kMaxDimension);
  return dimension;
}

// Elements of a dimension of the arguments.
int64_t SizeOf(const SpyreCode& code, const std::string& name) {
  for (const TensorMetadata& tensor : code.arguments) {
    const auto at = std::find(tensor.dims.begin(), tensor.dims.end(), name);
    if (at != tensor.dims.end()) return tensor.shape[static_cast<size_t>(at - tensor.dims.begin())];
  }
  return 0;
}

AccumulationInfo ReadAccumulation(const JsonReader& entry, const SpyreCode& code) {
  entry.RequireKeys({"dim", "home", "slices", "slice", "unit", "workspace", "mark"});
  AccumulationInfo sums;
  sums.dim = entry.At("dim").String();
  if (std::count(code.reduction_dims.begin(), code.reduction_dims.end(), sums.dim) == 0)
    entry.At("dim").Fail("one of reduction_dims is expected");
  const std::string home = entry.At("home").String();
  if (home != "device" && home != "lx") entry.At("home").Fail("'device' or 'lx' is expected");
  sums.in_lx = home == "lx";
  sums.slices = entry.At("slices").Integer(1, kMaxCores);
  sums.slice = entry.At("slice").Integer(1, kMaxDimension);
  const int64_t size = SizeOf(code, sums.dim);
  if (sums.slices * sums.slice != size) {
    entry.At("slice").Fail(fmt::format("{} slices that make the {} elements of '{}' are expected",
                                       sums.slices, size, sums.dim));
  }
  sums.unit = entry.At("unit").Integer(1, kMaxDimension);
  if (sums.slices > 1 && sums.slice % sums.unit != 0)
    entry.At("unit").Fail(fmt::format("a divisor of the slice of {} is expected", sums.slice));
  const JsonReader workspace = entry.At("workspace");
  sums.workspace_bytes =
      static_cast<uint64_t>(workspace.Integer(static_cast<int64_t>(kStickBytes), kMaxDimension));
  if (!IsStickAligned(sums.workspace_bytes)) workspace.Fail("a multiple of 128 bytes is expected");
  sums.mark = static_cast<uint16_t>(entry.At("mark").Integer(1, UINT16_MAX));
  return sums;
}

}  // namespace

void ReadMetadata(const JsonReader& metadata, SpyreCode& code) {
  if (metadata.Has("name")) code.name = metadata.At("name").String();
  const JsonReader arguments = metadata.At("arguments");
  for (size_t i = 0; i < arguments.Size(); ++i) {
    code.arguments.push_back(ReadArgument(arguments.At(i)));
  }
  if (metadata.Has("dimensions")) {
    const JsonReader dimensions = metadata.At("dimensions");
    for (size_t i = 0; i < dimensions.Size(); ++i) {
      code.dimensions.push_back(ReadDimension(dimensions.At(i)));
    }
  }
  if (metadata.Has("steps")) code.steps = metadata.At("steps").Strings();
  if (metadata.Has("index_tensors")) code.index_tensors = metadata.At("index_tensors").Strings();
  if (metadata.Has("reduction_dims")) {
    const JsonReader reductions = metadata.At("reduction_dims");
    code.reduction_dims = reductions.Strings();
    for (size_t i = 0; i < code.reduction_dims.size(); ++i) {
      const bool known = AnyFits(code.arguments, [&](const TensorMetadata& tensor) {
        return std::count(tensor.dims.begin(), tensor.dims.end(), code.reduction_dims[i]) > 0;
      });
      if (!known) reductions.At(i).Fail("the name of a dimension of an argument is expected");
    }
  }
  if (metadata.Has("accumulation"))
    code.accumulation = ReadAccumulation(metadata.At("accumulation"), code);
}

std::vector<CorrectionSource> ReadHcm(const JsonReader& hcm, std::optional<int> arguments,
                                      int dimensions, bool accumulates) {
  hcm.RequireKeys({"version", "records", "vdci"});  // vdci: names, for others
  if (hcm.At("version").Integer(0, INT32_MAX) != 1) hcm.At("version").Fail("version 1 is expected");
  const JsonReader records = hcm.At("records");
  std::vector<CorrectionSource> sources;
  for (size_t i = 0; i < records.Size(); ++i) {
    const JsonReader record = records.At(i);
    record.RequireKeys({"argument", "dimension", "accumulation"});
    if (record.value().size() > 1) {
      record.Fail("either 'argument', 'dimension' or 'accumulation' is expected");
    }
    CorrectionSource source;
    if (record.Has("accumulation")) {
      record.At("accumulation").Integer(0, 0);
      if (!accumulates || !arguments) {
        record.At("accumulation").Fail("no accumulation is expected: Metadata has none");
      }
      source.index = *arguments;  // the location behind the arguments
    } else if (record.Has("dimension")) {
      source.kind = CorrectionSource::Kind::kDimension;
      if (dimensions == 0) {
        record.At("dimension").Fail("no dimension is expected: Metadata.dimensions lists none");
      }
      source.index = static_cast<int>(record.At("dimension").Integer(0, dimensions - 1));
    } else {
      const int last = arguments.value_or(kMaxArguments) - 1;
      source.index = static_cast<int>(record.At("argument").Integer(0, last));
    }
    sources.push_back(source);
  }
  return sources;
}

}  // namespace spyre::runtime
