// SPDX-License-Identifier: Apache-2.0
// `lx-solve`: buffers with lifetimes -> addresses by each solver. `lx-plan`: a graph of operations
// -> its work division, and which intermediates stay in LX. Both to the letter of the public
// planner.
#include <map>
#include <nlohmann/json.hpp>

#include "runtime/compiler/ir/ir_json.h"
#include "runtime/compiler/lx/lx_planning.h"
#include "runtime/compiler/passes/pass_table.h"
#include "runtime/compiler/tiling/graph_json.h"

namespace spyre::compiler {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::vector<LxBuffer> BuffersFromJson(const JsonReader& value) {
  std::vector<LxBuffer> buffers;
  for (size_t i = 0; i < value.Size(); ++i) {
    const JsonReader item = value.At(i);
    LxBuffer buffer;
    buffer.name = item.At("name").String();
    buffer.size = IntegerFromJson(item.At("size"));
    buffer.start = IntegerFromJson(item.At("start"));
    buffer.end = IntegerFromJson(item.At("end"));
    if (item.Has("in_place")) buffer.in_place = item.At("in_place").Strings();
    buffers.push_back(std::move(buffer));
  }
  return buffers;
}

OrderedJson AddressJson(const std::optional<int64_t>& address) {
  return address ? OrderedJson(*address) : OrderedJson(nullptr);
}

// Buffers by name, as they are read and written.
class LxGraphReader {
 public:
  explicit LxGraphReader(const JsonReader& line) : line_(line) {
    cores_ = static_cast<int>(line.At("sencores").Integer(INT32_MIN, INT32_MAX));
    CheckCoreCount(cores_);
    const JsonReader inputs = line.At("inputs");
    if (!inputs.value().is_object()) inputs.Fail("an object is expected");
    for (const auto& [name, unused] : inputs.value().items()) {
      const std::vector<int64_t> size = inputs.At(name.c_str()).Integers(1, INT64_MAX);
      AddBuffer(name, DefaultLayout(size, DataFormat::kSen169Fp16), DataFormat::kIeeeFp16);
      graph_.inputs.push_back(name);
    }
    const JsonReader operations = line.At("operations");
    if (operations.Size() > kMostOperations) {
      throw BadInput("{} operations; at most {} are possible", operations.Size(), kMostOperations);
    }
    for (size_t i = 0; i < operations.Size(); ++i) AddOperation(operations.At(i));
    graph_.outputs = line.At("graph_outputs").Strings();
  }

  const LxGraph& graph() const { return graph_; }

  LxOptions Options() const {
    LxOptions options;
    options.solver = LxSolver::kGreedy;
    if (line_.Has("solver")) options.solver = LxSolverFromName(line_.At("solver").String());
    options.capacity = IntegerOr(line_, "lx_capacity_bytes", kLxPlanningBytes);
    options.all_operations = Flag(line_, "allow_all_ops", false);
    options.cores = cores_;
    options.to_the_letter = true;
    return options;
  }

 private:
  static constexpr size_t kMostOperations = 4096;

  void AddBuffer(const std::string& name, StickLayout layout, DataFormat host_format) {
    TensorAccess access;
    access.name = name;
    access.layout = std::move(layout);
    access.host_format = host_format;
    if (!buffers_.emplace(name, std::move(access)).second) {
      throw BadInput("buffer '{}' is given twice", name);
    }
  }

  TensorAccess Access(const std::string& name, const JsonReader& index, const OpIr& op) const {
    const auto buffer = buffers_.find(name);
    if (buffer == buffers_.end()) {
      throw BadInput("operation '{}' reads '{}', which is neither an input nor written before",
                     op.name, name);
    }
    TensorAccess access = buffer->second;
    access.index = IndexFromJson(index, 0, op.loops);
    return access;
  }

  void AddOperation(const JsonReader& item) {
    LxOperation operation;
    OpIr& op = operation.ir;
    op.name = item.At("name").String();
    operation.op = item.At("op").String();
    op.loops = LoopsFromJson(item.At("loop_vars"));
    if (item.Has("reduction_type")) {
      op.kind = OpIr::Kind::kReduction;
      op.reduction_type = item.At("reduction_type").String();
    }
    const JsonReader reads = item.At("reads");
    for (size_t i = 0; i < reads.Size(); ++i) {
      const JsonReader read = reads.At(i);
      op.inputs.push_back(Access(read.At(size_t{0}).String(), read.At(1), op));
    }
    const DataFormat format =
        item.Has("dtype") ? FormatFromName(item.At("dtype").String()) : DataFormat::kIeeeFp16;
    AddBuffer(op.name, LayoutFromJson(item, format), format);
    op.output = Access(op.name, item.At("write"), op);
    WorkDivision division = DivideWork(op, cores_, true);
    operation.splits = std::move(division.splits);
    operation.k_fastest = division.k_fastest;
    graph_.operations.push_back(std::move(operation));
  }

  const JsonReader& line_;
  int cores_ = kMaxCores;
  LxGraph graph_;
  std::map<std::string, TensorAccess> buffers_;
};

OrderedJson SplitsJson(const LxOperation& operation) {
  OrderedJson json = OrderedJson::object();
  for (size_t i = 0; i < operation.splits.size(); ++i) {
    const LoopVariable& loop = operation.ir.loops[i];
    if (loop.range > 1) json[loop.name] = operation.splits[i];
  }
  return json;
}

}  // namespace

OrderedJson PassLxSolve(const nlohmann::json& input) {
  const JsonReader line(input, "line");
  const std::vector<LxBuffer> buffers = BuffersFromJson(line.At("buffers"));
  const int64_t capacity = IntegerFromJson(line.At("capacity"));
  const int64_t alignment = IntegerOr(line, "alignment", static_cast<int64_t>(kStickBytes));
  OrderedJson json;
  for (const char* solver : {"greedy", "firstfit", "bestfit"}) {
    const auto addresses = PlaceInLx(LxSolverFromName(solver), buffers, capacity, alignment);
    OrderedJson by_name = OrderedJson::object();
    for (size_t i = 0; i < buffers.size(); ++i)
      by_name[buffers[i].name] = AddressJson(addresses[i]);
    json[solver] = std::move(by_name);
  }
  return json;
}

OrderedJson PassLxPlan(const nlohmann::json& input) {
  const JsonReader line(input, "line");
  const LxGraphReader reader(line);
  const LxPlan plan = PlanLx(reader.graph(), reader.Options());
  OrderedJson json;
  for (const char* key :
       {"lx_address", "pool_offset", "buffer_cores", "splits", "liveness", "size_bytes"}) {
    json[key] = OrderedJson::object();
  }
  for (const LxBufferPlan& buffer : plan.buffers) {
    json["buffer_cores"][buffer.name] = buffer.cores;
    json["liveness"][buffer.name] = {buffer.start, buffer.end};
    if (buffer.is_input) continue;
    json["lx_address"][buffer.name] = AddressJson(buffer.lx_address);
    json["pool_offset"][buffer.name] = AddressJson(buffer.pool_offset);
    json["size_bytes"][buffer.name] = buffer.device_bytes;
  }
  for (const LxOperation& operation : reader.graph().operations) {
    json["splits"][operation.ir.name] = SplitsJson(operation);
  }
  return json;
}

}  // namespace spyre::compiler
