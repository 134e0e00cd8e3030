// SPDX-License-Identifier: Apache-2.0
// ReadNamedGraph: from JSON, or TOML turned into JSON, to a checked NamedGraph; in one file because
// it is one grammar.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/joined.h"
#include "base/nearest.h"
#include "base/ranges.h"
#include "runtime/compiler/ir/ir.h"
#include "runtime/compiler/list/graph_values.h"
#include "runtime/compiler/list/list_uses.h"
#include "runtime/compiler/list/named_graph.h"

namespace spyre::compiler {
namespace {

using Json = OrderedJson;

class GraphReader {
 public:
  NamedGraph Read(const Json& value) {
    CheckKeys(value, "", {"dims", "tensors", "ops", "hints", "outputs"}, {"ops"});
    if (value.contains("dims")) ReadDims(value["dims"]);
    if (value.contains("tensors")) ReadTensors(value["tensors"]);
    ReadOps(value["ops"]);
    if (value.contains("hints")) ReadHints(value["hints"]);
    ReadOutputs(value.contains("outputs") ? value["outputs"] : Json());
    CheckUses(graph_, symbols_);
    return std::move(graph_);
  }

 private:
  void ReadDims(const Json& value) {
    if (Object(value, "dims").size() > kMaxEntries)
      throw BadInput("dims has {} entries; at most {}", value.size(), kMaxEntries);
    DimSizes sizes(value.get_ref<const Json::object_t&>());
    for (const auto& entry : value.items()) {
      const std::string& name = entry.key();
      Name(Json(name), "dims." + name);
      graph_.dims.push_back({name, sizes.Of(name)});
    }
    symbols_ = sizes.symbols();
  }

  // A name, or a size: every size is a dimension of its own, named as it is written.
  int Dim(const Json& value, const std::string& path) {
    const bool literal = value.is_number();
    const std::string name = literal ? std::to_string(Size(value, path)) : Text(value, path);
    for (size_t i = 0; i < graph_.dims.size(); ++i)
      if (graph_.dims[i].name == name) return static_cast<int>(i);
    if (literal) {
      graph_.dims.push_back({name, Size(value, path)});
      return static_cast<int>(graph_.dims.size()) - 1;
    }
    std::vector<std::string> known;
    for (const NamedDim& dim : graph_.dims) known.push_back(dim.name);
    throw BadInput("{} = '{}' is not a dimension{} (declare it: dims = {{ {} = 1024 }})", path,
                   name, DidYouMean(name, known), name);
  }

  std::vector<int> DimList(const Json& value, const std::string& path, bool may_repeat = false) {
    std::vector<int> dims;
    for (size_t i = 0; i < List(value, path).size(); ++i) {
      const std::string place = fmt::format("{}[{}]", path, i);
      const int dim = Dim(value[i], place);
      if (!may_repeat && std::find(dims.begin(), dims.end(), dim) != dims.end()) {
        throw BadInput("{} = {}: dimension '{}' twice; give each its own name", place,
                       Show(value[i]), graph_.dims[static_cast<size_t>(dim)].name);
      }
      dims.push_back(dim);
    }
    return dims;
  }

  void CheckTensor(const NamedTensor& tensor, const std::string& path) const {
    if (tensor.dims.size() > kMaxListRank) {
      throw BadInput("{}: tensor '{}' has {} dimensions; at most {}", path, tensor.name,
                     tensor.dims.size(), kMaxListRank);
    }
    int64_t elements = 1;
    for (const int64_t size : graph_.Shape(tensor)) {
      if (elements > kMaxListElements / size) {
        throw BadInput("{}: tensor '{}' {} is larger than any card", path, tensor.name,
                       graph_.ShapeText(tensor));
      }
      elements *= size;
    }
  }

  int FindTensor(const std::string& name) const {
    for (size_t i = 0; i < graph_.tensors.size(); ++i)
      if (graph_.tensors[i].name == name) return static_cast<int>(i);
    return -1;
  }

  int AddTensor(NamedTensor tensor, const std::string& path) {
    if (const int other = FindTensor(tensor.name); other >= 0) {
      const bool computed =
          graph_.tensors[static_cast<size_t>(other)].origin == NamedTensor::Origin::kComputed;
      throw BadInput("{} = '{}' is the name of another tensor, {}", path, tensor.name,
                     computed ? "the output of an operation" : "an input");
    }
    CheckTensor(tensor, path);
    graph_.tensors.push_back(std::move(tensor));
    return static_cast<int>(graph_.tensors.size()) - 1;
  }

  void ReadTensors(const Json& value) {
    for (size_t i = 0; i < List(value, "tensors").size(); ++i) {
      const std::string path = fmt::format("tensors[{}]", i);
      const Json& entry = value[i];
      CheckKeys(entry, path, {"name", "dims", "stick", "file", "fill", "dtype", "split", "same"},
                {"name", "dims"});
      NamedTensor tensor;
      tensor.name = Name(entry["name"], path + ".name");
      tensor.dims = DimList(entry["dims"], path + ".dims");
      if (entry.contains("dtype")) tensor.format = HostType(entry["dtype"], path + ".dtype", false);
      if (entry.contains("stick")) tensor.stick = DimOf(entry["stick"], path + ".stick", tensor);
      if (entry.contains("file")) tensor.file = Text(entry["file"], path + ".file");
      if (entry.contains("fill")) tensor.causal = IsCausal(entry, path, tensor);
      ReadShares(entry, path, tensor);
      AddTensor(std::move(tensor), path + ".name");
    }
  }

  // What the cards have of it.
  void ReadShares(const Json& entry, const std::string& path, NamedTensor& tensor) {
    if (entry.contains("same")) {
      if (!entry["same"].is_boolean())
        throw BadInput("{}.same = {} must be true or false", path, Show(entry["same"]));
      tensor.same = entry["same"].get<bool>();
    }
    if (!entry.contains("split")) return;
    tensor.split = DimOf(entry["split"], path + ".split", tensor);
    if (tensor.same || tensor.causal)
      throw BadInput("{}.split: every card has the same of '{}', as its {} says", path, tensor.name,
                     tensor.same ? "same" : "fill");
  }

  static bool IsCausal(const Json& entry, const std::string& path, const NamedTensor& tensor) {
    const std::string fill = Text(entry["fill"], path + ".fill");
    if (fill != "causal") throw BadInput("{}.fill = '{}'; there is: causal", path, fill);
    if (!tensor.file.empty() || tensor.dims.size() < 2)
      throw BadInput("{}.fill = 'causal' is for rows and keys, and for no file", path);
    return true;
  }

  int DimOf(const Json& value, const std::string& path, const NamedTensor& tensor) {
    const int dim = Dim(value, path);
    if (std::find(tensor.dims.begin(), tensor.dims.end(), dim) != tensor.dims.end()) return dim;
    throw BadInput("{} = {} is not a dimension of '{}' {}", path, Show(value), tensor.name,
                   graph_.ShapeText(tensor));
  }

  void ReadOps(const Json& value) {
    for (size_t i = 0; i < List(value, "ops").size(); ++i) {
      Object(value[i], fmt::format("ops[{}]", i));
      if (value[i].contains("output") && value[i]["output"].is_string())
        written_.push_back(value[i]["output"].get<std::string>());
    }
    if (value.empty()) throw BadInput("ops is empty; there is nothing to compute");
    for (size_t i = 0; i < value.size(); ++i) ReadOp(value[i], fmt::format("ops[{}]", i));
  }

  static const OpEntry& Operation(const Json& value, const std::string& path) {
    const std::string name = Text(value, path);
    if (const OpEntry* operation = FindNamedOperation(name)) return *operation;
    std::vector<std::string> known;
    std::string all;
    for (const OpEntry& operation : OpEntries()) {
      if (!operation.listed) continue;
      all += all.empty() ? "" : ", ";
      all += operation.name;
      known.emplace_back(operation.name);
      known.insert(known.end(), operation.aliases.begin(), operation.aliases.end());
    }
    throw BadInput("{} = '{}' is not an operation{} (known: {})", path, name,
                   DidYouMean(name, known), all);
  }

  void ReadOp(const Json& entry, const std::string& path) {
    if (!entry.contains("op")) throw BadInput("{}.op is missing", path);
    const OpEntry& operation = Operation(entry["op"], path + ".op");
    std::vector<std::string> keys = {"op", "inputs", "output", "dims"};
    if (operation.has_dim) keys.emplace_back("dim");
    if (operation.HasInto()) keys.emplace_back("into");
    const bool converts = operation.name == "convert";
    const bool is_extern = operation.kind == OpEntry::Kind::kExtern;
    if (converts || is_extern) keys.emplace_back("dtype");
    if (is_extern) keys.emplace_back("function");
    const bool attends = operation.name == "attention";
    if (attends) keys.emplace_back("is_causal");
    for (const std::string_view key : operation.constants) keys.emplace_back(key);
    std::vector<std::string> required = {"inputs", "output"};
    if (converts) required.emplace_back("dtype");
    if (is_extern) required.insert(required.end(), {"dims", "function"});
    CheckKeys(entry, path, keys, required);

    NamedOp op;
    op.op = operation.name;
    op.inputs = Inputs(entry["inputs"], path + ".inputs", operation);
    if (entry.contains("dim")) {
      const Json& dim = entry["dim"];
      const bool joins = operation.kind == OpEntry::Kind::kCat;
      op.reduced = DimList(dim.is_array() ? dim : Json::array({dim}), path + ".dim", joins);
    }
    if (entry.contains("into")) op.into = Dim(entry["into"], path + ".into");
    for (const std::string_view key : operation.constants) {
      const std::string name(key);
      if (entry.contains(name))
        op.constants[name] = Number(entry[name], fmt::format("{}.{}", path, name));
    }
    NamedTensor output;
    output.origin = NamedTensor::Origin::kComputed;
    output.name = Name(entry["output"], path + ".output");
    if (attends && entry.contains("is_causal"))
      AddCausalMask(op, entry["is_causal"], output.name, path);
    try {
      output.dims = OutputDims(graph_, op);
    } catch (const Error& error) {
      throw error.Within(fmt::format("{} ({} -> '{}')", path, op.op, output.name));
    }
    output.format = converts || (is_extern && entry.contains("dtype"))
                        ? HostType(entry["dtype"], path + ".dtype", converts)
                        : OutputFormat(graph_, op);
    if (converts && output.format == DataFormat::kIeeeInt32) op.on_host = true;
    if (is_extern) {
      op.function = Text(entry["function"], path + ".function");
      output.dims = DimList(entry["dims"], path + ".dims");
      if (output.dims.empty()) throw BadInput("{}.dims is empty", path);
    } else if (entry.contains("dims")) {
      output.dims = Reordered(entry["dims"], path, output.dims);
    }
    op.output = AddTensor(std::move(output), path + ".output");
    graph_.ops.push_back(std::move(op));
  }

  static std::vector<int> Lacking(const std::vector<int>& dims, const std::vector<int>& other) {
    std::vector<int> lacking;
    std::copy_if(dims.begin(), dims.end(), std::back_inserter(lacking),
                 [&](int dim) { return std::count(other.begin(), other.end(), dim) == 0; });
    return lacking;
  }

  // With groups of heads, of which k has none, q has several dimensions that k lacks: the queries
  // are the last of these, as in PyTorch, unless another one looks more like them.
  int Query(const Json& value, const std::string& path, const std::vector<int>& queries,
            int key) const {
    const auto& dim = [&](int index) -> const NamedDim& {
      return graph_.dims[static_cast<size_t>(index)];
    };
    const auto as_many = [&](int query) { return dim(query).size == dim(key).size; };
    if (value.is_string()) {
      for (const int query : queries)
        if (dim(query).name == value) return query;
    } else if (as_many(queries.back()) || NoneFits(queries, as_many)) {
      return queries.back();
    }
    std::vector<std::string> names;
    names.reserve(queries.size());
    for (const int query : queries) names.push_back(dim(query).name);
    throw BadInput("{}.is_causal = {}: which dimension of q are the queries? Name it: {}", path,
                   Show(value), Joined(names, " or "));
  }

  // The mask of torch.nn.functional.scaled_dot_product_attention: row i sees the keys up to i.
  void AddCausalMask(NamedOp& op, const Json& value, const std::string& output,
                     const std::string& path) {
    if (!value.is_boolean() && !value.is_string())
      throw BadInput("{}.is_causal = {} must be true or false, or the dimension of the queries",
                     path, Show(value));
    if (value == false) return;
    if (op.inputs.size() == 4)
      throw BadInput("{} has a mask and is_causal; add them up in one mask", path);
    const NamedTensor& q = graph_.tensors[static_cast<size_t>(op.inputs[0])];
    const NamedTensor& k = graph_.tensors[static_cast<size_t>(op.inputs[1])];
    const std::vector<int> queries = Lacking(q.dims, k.dims), keys = Lacking(k.dims, q.dims);
    if (queries.empty() || keys.empty())
      throw BadInput("{}: is_causal needs queries that k has not, and keys that q has not", path);
    const int query = Query(value, path, queries, keys.back());
    NamedTensor mask;
    mask.name = output + ".mask";
    mask.dims = {query, keys.back()};
    mask.format = q.format;
    mask.causal = true;
    op.inputs.push_back(AddTensor(std::move(mask), path));
  }

  std::vector<int> Inputs(const Json& value, const std::string& path, const OpEntry& operation) {
    const size_t count = List(value, path).size();
    if (count < static_cast<size_t>(operation.min_inputs) ||
        count > static_cast<size_t>(operation.max_inputs)) {
      const std::string range =
          operation.min_inputs == operation.max_inputs
              ? std::to_string(operation.min_inputs)
              : fmt::format("{} to {}", operation.min_inputs, operation.max_inputs);
      throw BadInput("{} has {} entries; '{}' takes {}", path, count, operation.name, range);
    }
    std::vector<int> inputs;
    for (size_t i = 0; i < count; ++i)
      inputs.push_back(Input(value[i], fmt::format("{}[{}]", path, i)));
    return inputs;
  }

  int Input(const Json& value, const std::string& path) {
    if (value.is_number()) return Constant(Number(value, path));
    const std::string name = Text(value, path);
    if (const int tensor = FindTensor(name); tensor >= 0) return tensor;
    if (std::find(written_.begin(), written_.end(), name) != written_.end()) {
      throw BadInput(
          "{} = '{}' is read before it is written: operations run in the order in which they are "
          "listed, and a cycle has none",
          path, name);
    }
    std::vector<std::string> known = written_;
    for (const NamedTensor& tensor : graph_.tensors) known.push_back(tensor.name);
    throw BadInput("{} = '{}' is not a tensor{}", path, name, DidYouMean(name, known));
  }

  // The same number is the same tensor.
  int Constant(double value) {
    NamedTensor tensor;
    tensor.origin = NamedTensor::Origin::kConstant;
    tensor.name = fmt::format("{}", value);
    tensor.value = value;
    const int found = FindTensor(tensor.name);
    return found >= 0 ? found : AddTensor(std::move(tensor), "a number");
  }

  std::vector<int> Reordered(const Json& value, const std::string& path,
                             const std::vector<int>& derived) {
    std::vector<int> dims = DimList(value, path + ".dims");
    // Dimensions of size 1 may come and go.
    const auto counts = [&](const std::vector<int>& from) {
      std::vector<int> left;
      for (const int dim : from)
        if (graph_.dims[static_cast<size_t>(dim)].size != 1) left.push_back(dim);
      return left;
    };
    const std::vector<int> own = counts(dims), expected = counts(derived);
    if (!std::is_permutation(own.begin(), own.end(), expected.begin(), expected.end())) {
      NamedTensor shape;
      shape.dims = derived;
      throw BadInput("{}.dims = {}: the output has the dimensions {}", path, Show(value),
                     graph_.ShapeText(shape));
    }
    return dims;
  }

  void ReadHints(const Json& value) {
    for (size_t i = 0; i < List(value, "hints").size(); ++i) {
      const std::string path = fmt::format("hints[{}]", i);
      CheckKeys(value[i], path, {"ops", "slices"}, {"slices"});
      NamedHint hint;
      if (value[i].contains("ops")) {
        hint.ops = OpRange(value[i]["ops"], path + ".ops");
      } else {
        for (size_t op = 0; op < graph_.ops.size(); ++op) hint.ops.push_back(static_cast<int>(op));
      }
      for (const auto& [name, count] : Object(value[i]["slices"], path + ".slices")) {
        const std::string place = fmt::format("{}.slices.{}", path, name);
        const bool literal = !name.empty() && name[0] >= '0' && name[0] <= '9';
        hint.slices.push_back(
            {literal ? LiteralDim(name, place) : Dim(Json(name), place), Size(count, place)});
      }
      if (hint.slices.empty()) throw BadInput("{}.slices is empty", path);
      graph_.hints.push_back(std::move(hint));
    }
  }

  int LiteralDim(const std::string& name, const std::string& path) const {
    for (size_t i = 0; i < graph_.dims.size(); ++i)
      if (graph_.dims[i].name == name) return static_cast<int>(i);
    throw BadInput("{}: no tensor has a dimension {}", path, name);
  }

  // Operations by the names of their outputs.
  std::vector<int> OpRange(const Json& value, const std::string& path) {
    std::vector<int> ops;
    for (size_t i = 0; i < List(value, path).size(); ++i) {
      const std::string place = fmt::format("{}[{}]", path, i);
      const std::string name = Text(value[i], place);
      const auto op = FindIf(graph_.ops, [&](const NamedOp& o) {
        return graph_.tensors[static_cast<size_t>(o.output)].name == name;
      });
      if (op == graph_.ops.end()) {
        throw BadInput("{} = '{}' is not the output of an operation{}", place, name,
                       DidYouMean(name, written_));
      }
      ops.push_back(static_cast<int>(op - graph_.ops.begin()));
    }
    if (ops.empty()) throw BadInput("{} is empty; without it a hint covers all operations", path);
    std::sort(ops.begin(), ops.end());
    ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
    for (size_t i = 1; i < ops.size(); ++i) {
      if (ops[i] == ops[i - 1] + 1) continue;
      const NamedOp& between = graph_.ops[static_cast<size_t>(ops[i - 1]) + 1];
      throw CompileError(
          "RuntimeError", "not_contiguous",
          fmt::format("{}: the operations of a hint must follow each other; '{}' is between them",
                      path, graph_.tensors[static_cast<size_t>(between.output)].name));
    }
    return ops;
  }

  void ReadOutputs(const Json& value) {
    if (value.is_null()) {
      graph_.outputs = UnreadResults(graph_);
      return;
    }
    for (size_t i = 0; i < List(value, "outputs").size(); ++i) {
      const std::string place = fmt::format("outputs[{}]", i);
      const std::string name = Text(value[i], place);
      const int tensor = FindTensor(name);
      if (tensor < 0 ||
          graph_.tensors[static_cast<size_t>(tensor)].origin != NamedTensor::Origin::kComputed) {
        throw BadInput("{} = '{}' is not the output of an operation{}", place, name,
                       DidYouMean(name, written_));
      }
      if (std::find(graph_.outputs.begin(), graph_.outputs.end(), tensor) != graph_.outputs.end())
        throw BadInput("{} = '{}' is given twice", place, name);
      graph_.outputs.push_back(tensor);
    }
    if (graph_.outputs.empty()) throw BadInput("outputs is empty; there is nothing to compute");
  }

  NamedGraph graph_;
  std::vector<std::string> written_;  // names of all outputs
  std::set<std::string> symbols_;     // dims that sizes of others are made of
};

}  // namespace

NamedGraph ReadNamedGraph(const Json& value) { return GraphReader().Read(value); }

}  // namespace spyre::compiler
