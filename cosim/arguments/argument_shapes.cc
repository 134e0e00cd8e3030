// SPDX-License-Identifier: Apache-2.0
#include "cosim/arguments/argument_shapes.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/json_reader.h"
#include "cosim/tensors/host_data.h"
#include "cosim/tensors/npy.h"
#include "cosim/tensors/workload_tensor.h"
#include "runtime/compiler/ir/checked.h"

namespace spyre::cosim {
namespace {

namespace fs = std::filesystem;
using compiler::KernelSource;
using compiler::LoopSpec;
using compiler::OpSpec;
using compiler::SpecNode;
using compiler::TensorArg;

constexpr int64_t kMaxDimension = int64_t{1} << 31;  // elements along one dimension
constexpr size_t kMaxRank = 6;
constexpr int kMaxLevels = 6;  // directories above a bundle in which a manifest is looked for

void CheckVolume(const std::vector<int64_t>& shape, const std::string& where) {
  if (shape.size() > kMaxRank) {
    throw BadInput("{}: {} dimensions; at most {}", where, shape.size(), kMaxRank);
  }
  int64_t elements = 1;
  for (const int64_t size : shape) {
    if (size < 1 || size > kMaxDimension || elements > kMaxElements / size) {
      throw BadInput("{}: shape {} is empty or larger than any card", where, ShapeText(shape));
    }
    elements *= size;
  }
}

int64_t ParseSize(std::string_view text, const std::string& whole) {
  int64_t size = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, size);
  if (error != std::errc() || stop != end || size < 1) {
    throw BadInput("shape '{}': '{}' is not a size; write 512x4096 or 512x4096:float32", whole,
                   text);
  }
  return size;
}

std::optional<StickLayout> TryLayout(const std::vector<int64_t>& shape, DataFormat format,
                                     const std::vector<int>& order,
                                     const std::vector<int64_t>& device_size,
                                     const std::vector<int64_t>& stride_map) {
  try {
    StickLayout layout = MakeLayout(shape, ContiguousStrides(shape), format, order);
    const bool fits = layout.device_size == device_size &&
                      (stride_map.empty() || layout.stride_map == stride_map);
    if (fits) return layout;
  } catch (const Error&) {
    // Layouts do not have such an order.
  }
  return std::nullopt;
}

// ---------------------------------------------------------------- manifest

ArgumentShape ReadArgument(const JsonReader& entry) {
  ArgumentShape argument;
  if (entry.Has("name")) argument.name = entry.At("name").String();
  const JsonReader shape = entry.At(entry.Has("host_size") ? "host_size" : "host");
  argument.shape = shape.Integers(1, kMaxDimension);
  CheckVolume(argument.shape, shape.where());
  if (entry.Has("dtype")) {
    try {
      argument.host_format = HostFormatNamed(entry.At("dtype").String()).format;
    } catch (const Error& error) {
      entry.At("dtype").Fail(error.what());
    }
  }
  DataFormat format = DeviceFormatOf(argument.host_format);
  if (entry.Has("device_format")) {
    try {
      format = FormatFromName(entry.At("device_format").String());
    } catch (const Error& error) {
      entry.At("device_format").Fail(error.what());
    }
  }
  if (!CanConvert(argument.host_format, format)) {
    entry.Fail(fmt::format("there is no conversion from {} to {}", FormatName(argument.host_format),
                           FormatName(format)));
  }
  if (entry.Has("role")) {
    argument.role = entry.At("role").String();
    if (argument.role != "input" && argument.role != "output" && argument.role != "inout")
      entry.At("role").Fail("'input', 'output' or 'inout' is expected");
  }
  std::vector<int64_t> stride_map;
  if (entry.Has("stride_map")) stride_map = entry.At("stride_map").Integers(-1, kMaxElements);
  if (entry.Has("device_size")) {
    const std::vector<int64_t> device_size = entry.At("device_size").Integers(1, kMaxDimension);
    argument.layout =
        LayoutOf(argument.shape, format, device_size, stride_map, entry.At("device_size").where());
  } else {
    argument.layout = DefaultLayout(argument.shape, format);
  }
  return argument;
}

std::optional<std::vector<ArgumentShape>> ReadEntry(const JsonReader& entry) {
  const char* key = entry.Has("kernel_args") ? "kernel_args" : "args";
  if (!entry.Has(key)) return std::nullopt;
  const JsonReader arguments = entry.At(key);
  std::vector<ArgumentShape> shapes;
  for (size_t i = 0; i < arguments.Size(); ++i) shapes.push_back(ReadArgument(arguments.At(i)));
  return shapes;
}

// The entry of a list of bundles whose path is `path`.
std::optional<std::vector<ArgumentShape>> FindEntry(const JsonReader& root, const fs::path& path) {
  const bool has_items = root.value().is_object() && root.Has("items");
  const JsonReader list = has_items ? root.At("items") : root;
  if (!list.value().is_array()) return std::nullopt;
  for (size_t i = 0; i < list.Size(); ++i) {
    const JsonReader entry = list.At(i);
    if (!entry.value().is_object() || !entry.Has("path")) continue;
    if (fs::path(entry.At("path").String()).lexically_normal() == path) return ReadEntry(entry);
  }
  return std::nullopt;
}

// ---------------------------------------------------------------- OpSpec source

struct SourceArgument {
  const TensorArg* tensor = nullptr;
  const OpSpec* op = nullptr;
};

int64_t Volume(const TensorArg& tensor) {
  return std::accumulate(tensor.device_size.begin(), tensor.device_size.end(), int64_t{1},
                         std::multiplies<>());
}

// Finds, for each kernel argument, the view with the most elements.
void Collect(const std::vector<SpecNode>& body, std::map<int, SourceArgument>& arguments) {
  for (const SpecNode& node : body) {
    if (const auto* loop = std::get_if<LoopSpec>(&node)) Collect(loop->body, arguments);
    const auto* op = std::get_if<OpSpec>(&node);
    if (op == nullptr) continue;
    for (const TensorArg& tensor : op->args) {
      if (tensor.arg_index < 0) continue;
      SourceArgument& argument = arguments[tensor.arg_index];
      if (argument.tensor == nullptr || Volume(tensor) > Volume(*argument.tensor))
        argument = {&tensor, op};
    }
  }
}

// Columns that the sticks really hold: the range of the variable inside them, if that is all.
int64_t StickElements(const SourceArgument& argument, int64_t sticks, int64_t per_stick) {
  const std::set<std::string> inside =
      compiler::FreeSymbols(argument.tensor->device_coordinates.back());
  if (inside.size() == 1) {
    for (const compiler::IterationSymbol& symbol : argument.op->iteration_space) {
      const bool all =
          symbol.name == *inside.begin() && (symbol.range + per_stick - 1) / per_stick == sticks;
      if (all) return symbol.range;
    }
  }
  return sticks * per_stick;
}

ArgumentShape ShapeOf(const SourceArgument& argument, int number) {
  const TensorArg& tensor = *argument.tensor;
  const std::vector<int64_t>& size = tensor.device_size;
  const std::string where = fmt::format("argument {} of the OpSpec source", number);
  ArgumentShape result;
  for (const HostFormat& host : HostFormats()) {
    if (DeviceFormatOf(host.format) != tensor.device_format) continue;
    result.host_format = host.format;
    break;
  }
  // Default construction backwards: [o1 .. o(r-1), o0, o(r-1)], the last but one of the sticks.
  const size_t rank = size.size() < 2 ? 0 : size.size() - 1;
  if (rank == 0) throw BadInput("{}: a device size of two or more numbers is expected", where);
  const int64_t per_stick = size.back();
  const bool sparse = compiler::FreeSymbols(tensor.device_coordinates.back()).empty();
  if (rank == 1) {
    result.shape = {sparse ? size[0] : StickElements(argument, size[0], per_stick)};
  } else {
    result.shape.push_back(size[rank - 1]);
    result.shape.insert(result.shape.end(), size.begin(), size.end() - 3);
    const int64_t sticks = size[rank - 2];
    result.shape.push_back(sparse ? sticks : StickElements(argument, sticks, per_stick));
  }
  CheckVolume(result.shape, where);
  result.layout = LayoutOf(result.shape, tensor.device_format, size, {}, where);
  return result;
}

// The largest index of each device dimension outside the stick, plus 1, if every iteration symbol
// goes as far as `last` says.
std::vector<int64_t> Reach(const TensorArg& tensor, const std::map<std::string, int64_t>& last) {
  std::vector<int64_t> reach;
  for (size_t d = 0; d + 1 < tensor.device_size.size(); ++d)
    reach.push_back(compiler::Evaluate(tensor.device_coordinates[d], last) + 1);
  reach.push_back(tensor.device_size.back());
  return reach;
}

// counts: of the loops around, outermost first.
void CheckTile(const OpSpec& op, const TensorArg& tensor, const std::vector<int64_t>& counts,
               const std::string& file) {
  const bool advances = tensor.arg_index >= 0 && tensor.memory == compiler::Memory::kHbm &&
                        !tensor.per_tile_fixed && !tensor.tile_advance;
  if (!advances) return;
  std::map<std::string, int64_t> of_tile, of_all;
  for (const compiler::IterationSymbol& symbol : op.iteration_space) {
    int64_t tiles = 1;
    for (size_t level = 0; level < op.tiled_symbols.size(); ++level) {
      const auto& names = op.tiled_symbols[level];
      if (std::find(names.begin(), names.end(), symbol.name) != names.end()) {
        tiles = compiler::CheckedProduct(tiles, counts[level]);
      }
    }
    of_tile[symbol.name] = symbol.range - 1;
    of_all[symbol.name] = compiler::CheckedProduct(symbol.range, tiles) - 1;
  }
  const std::vector<int64_t> all = Reach(tensor, of_all);
  if (tensor.device_size != Reach(tensor, of_tile) || all == tensor.device_size) return;
  throw BadInput(
      "{}: argument {} of '{}' has device_size {}, which is one tile of it, but loops of {} around "
      "the operation advance it. A kernel argument has the device_size of its whole tensor, here "
      "{}. (The example of the coarse-tiling document writes the tile's at its output z; the "
      "compiler does not.)",
      file, tensor.arg_index, op.op, ShapeText(tensor.device_size), ShapeText(counts),
      ShapeText(all));
}

void CheckTiles(const std::vector<SpecNode>& body, std::vector<int64_t>& counts,
                const std::string& file) {
  for (const SpecNode& node : body) {
    if (const auto* loop = std::get_if<LoopSpec>(&node)) {
      const int64_t* const count = std::get_if<int64_t>(&loop->count);
      if (count == nullptr) continue;  // symbolic
      counts.push_back(*count);
      CheckTiles(loop->body, counts, file);
      counts.pop_back();
    } else if (const auto* op = std::get_if<OpSpec>(&node)) {
      for (const TensorArg& tensor : op->args) CheckTile(*op, tensor, counts, file);
    }
  }
}

}  // namespace

void CheckTiledArguments(const KernelSource& source, const std::string& file) {
  std::vector<int64_t> counts;
  CheckTiles(source.body, counts, file);
}

ArgumentShape ParseShape(const std::string& text) {
  ArgumentShape argument;
  const size_t colon = text.find(':');
  if (colon != std::string::npos) {
    try {
      argument.host_format = HostFormatNamed(text.substr(colon + 1)).format;
    } catch (const Error& error) {
      throw BadInput("shape '{}': {}", text, error.what());
    }
  }
  const std::string sizes = text.substr(0, colon);
  if (sizes != "scalar") {
    for (size_t begin = 0; begin <= sizes.size();) {
      const size_t end = std::min(sizes.find('x', begin), sizes.size());
      argument.shape.push_back(ParseSize(std::string_view(sizes).substr(begin, end - begin), text));
      begin = end + 1;
    }
  }
  CheckVolume(argument.shape, "shape '" + text + "'");
  argument.layout = DefaultLayout(argument.shape, DeviceFormatOf(argument.host_format));
  return argument;
}

StickLayout LayoutOf(const std::vector<int64_t>& shape, DataFormat format,
                     const std::vector<int64_t>& device_size,
                     const std::vector<int64_t>& stride_map, const std::string& where) {
  std::vector<int> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  do {
    for (const bool sparse : {false, true}) {
      std::vector<int> dims = order;
      if (sparse) dims.push_back(-1);
      if (auto layout = TryLayout(shape, format, dims, device_size, stride_map)) return *layout;
    }
  } while (std::next_permutation(order.begin(), order.end()));
  throw BadInput("{}: no stick layout of {} {} has the device size {}{}", where, FormatName(format),
                 ShapeText(shape), ShapeText(device_size),
                 stride_map.empty() ? "" : " and the stride map " + ShapeText(stride_map));
}

std::optional<std::vector<ArgumentShape>> ShapesFromManifest(const fs::path& bundle) {
  const fs::path directory = fs::weakly_canonical(bundle);
  fs::path above = directory;
  for (int level = 0; level < kMaxLevels; ++level) {
    const fs::path file = above / "manifest.json";
    if (fs::is_regular_file(file)) {
      const nlohmann::json document = ReadJsonFile(file);
      const JsonReader root(document, file.string());
      auto shapes = level == 0 && document.is_object() && !document.contains("items")
                        ? ReadEntry(root)
                        : FindEntry(root, directory.lexically_relative(above));
      if (shapes) return shapes;
    }
    if (above == above.parent_path()) break;
    above = above.parent_path();
  }
  return std::nullopt;
}

std::vector<ArgumentShape> ShapesFromSource(const KernelSource& source) {
  std::map<int, SourceArgument> arguments;
  Collect(source.body, arguments);
  std::vector<ArgumentShape> shapes;
  shapes.reserve(arguments.size());
  for (const auto& [number, argument] : arguments) shapes.push_back(ShapeOf(argument, number));
  return shapes;
}

std::optional<std::vector<ArgumentShape>> ShapesBesideBundle(const fs::path& bundle) {
  const fs::path file = bundle / "op_spec.py.txt";
  if (!fs::is_regular_file(file)) return std::nullopt;
  return ShapesFromSource(compiler::ParseOpSpecSource(
      ReadFile(file.string(), "OpSpec source", kMaxOpSpecBytes), file.string()));
}

}  // namespace spyre::cosim
