// SPDX-License-Identifier: Apache-2.0
// `bundle`: a tree of loops and operations with addresses -> bundle.mlir and the names of the SDSC
// files.
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "runtime/compiler/bundle/bundle_mlir.h"
#include "runtime/compiler/passes/pass_table.h"
#include "runtime/compiler/tiling/graph_json.h"
#include "runtime/compiler/tiling/loop_groups.h"

namespace spyre::compiler {
namespace {

using nlohmann::ordered_json;

class BundleReader {
 public:
  explicit BundleReader(bool with_symbols) { module_.with_symbols = with_symbols; }

  MlirModule Module(const JsonReader& specs) {
    module_.body = Nodes(specs, 0);
    return std::move(module_);
  }

  const std::vector<std::string>& files() const { return files_; }

 private:
  std::vector<MlirNode> Nodes(const JsonReader& specs, size_t depth) {
    if (depth > kDeepestNest)
      specs.Fail(fmt::format("at most {} nested loops are expected", kDeepestNest));
    std::vector<MlirNode> nodes;
    for (size_t i = 0; i < specs.Size(); ++i) {
      const JsonReader spec = specs.At(i);
      if (Given(spec, "unimplemented")) continue;  // the emitter leaves them out
      if (spec.Has("loop")) {
        nodes.emplace_back(Loop(spec, depth));
      } else {
        nodes.emplace_back(Execute(spec, depth));
      }
    }
    return nodes;
  }

  MlirLoop Loop(const JsonReader& spec, size_t depth) {
    const Extent count = ExtentFromJson(spec.At("loop"));
    MlirLoop loop{1, -1, Nodes(spec.At("body"), depth + 1)};
    if (!count.is_number()) {
      throw CompileError("NotImplementedError", "symbolic_loop_count",
                         fmt::format("a loop in bundle.mlir cannot have the symbolic trip count {}",
                                     count.ToString()));
    }
    loop.count = count.number();
    return loop;
  }

  MlirExecute Execute(const JsonReader& spec, size_t depth) {
    spec.At("op").String();
    files_.push_back(fmt::format("sdsc_{}.json", files_.size()));
    MlirExecute execute{files_.back(), {}};
    const int64_t cores = spec.At("cores").Integer(1, kMostCores);
    const JsonReader tensors = spec.At("tensors");
    std::map<int64_t, int64_t> symbol_of;  // address -> id, in this operation
    for (size_t i = 0; i < tensors.Size(); ++i) {
      const JsonReader tensor = tensors.At(i);
      if (tensor.Has("lx") || !module_.with_symbols) continue;
      execute.tensors.push_back(Tensor(tensor, cores, depth, symbol_of));
    }
    return execute;
  }

  MlirTensor Tensor(const JsonReader& value, int64_t cores, size_t depth,
                    std::map<int64_t, int64_t>& symbol_of) {
    MlirTensor tensor;
    const JsonReader addresses = value.At("core_addresses");
    if (addresses.Size() != static_cast<size_t>(cores)) {
      addresses.Fail(fmt::format("the addresses of {} cores are expected", cores));
    }
    for (const int64_t address : addresses.Integers(0, kLargest)) {
      const auto [it, added] = symbol_of.emplace(address, next_id_);
      if (added) module_.symbols[next_id_--] = {-1, address};
      tensor.symbols.push_back(it->second);
    }
    if (const auto strides = Given(value, "stride_per_loop")) {
      tensor.loop_stride = strides->Integers(-kLargest, kLargest);
      if (tensor.loop_stride.size() > depth) {
        strides->Fail(fmt::format("strides of at most {} loops are expected", depth));
      }
    }
    return tensor;
  }

  static constexpr int64_t kMostCores = 1024;

  MlirModule module_;
  std::vector<std::string> files_;
  int64_t next_id_ = -1;
};

}  // namespace

ordered_json PassBundle(const nlohmann::json& input) {
  const JsonReader line(input, "line");
  BundleReader reader(Flag(line, "use_symbols", true));
  const MlirModule module = reader.Module(line.At("specs"));
  return {{"bundle_mlir", WriteMlir(module)}, {"sdsc_files", reader.files()}};
}

}  // namespace spyre::compiler
