// SPDX-License-Identifier: Apache-2.0
#include "cosim/workload/operation_workload.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "cosim/estimate/output_parts.h"
#include "cosim/tensors/npy.h"
#include "cosim/verify/check.h"
#include "cosim/workload/compile_settings.h"
#include "cosim/workload/kernel_run.h"
#include "cosim/workload/launch_settings.h"
#include "runtime/compiler/codegen/generate_kernel.h"
#include "runtime/compiler/codegen/spyre_code.h"
#include "runtime/compiler/kernels/kernel_problem.h"
#include "runtime/compiler/ops/op_list.h"
#include "runtime/spyre/launch_kernel.h"
#include "runtime/spyre/launch_options.h"

namespace spyre::cosim {
namespace {

using compiler::kStickElements;
using compiler::Operation;
using compiler::OperationKind;

constexpr double kManyTiles = 50000;
constexpr double kTilesPerSecond = 5000;  // of the smallest ones

struct NamedDim {
  const char* name;
  uint64_t Dims::*member;
};
constexpr NamedDim kDims[] = {{"batch", &Dims::batch}, {"m", &Dims::m},
                              {"k", &Dims::k},         {"n", &Dims::n},
                              {"rows", &Dims::rows},   {"cols", &Dims::cols}};

bool Has(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Every size that the operation needs is given, and no other.
void CheckDims(const Operation& op, const WorkloadConfig& workload) {
  for (const NamedDim& dim : kDims) {
    const bool needed = Has(op.dims, dim.name);
    const bool known = needed || Has(op.optional_dims, dim.name);
    if (needed && workload.size.*dim.member == 0) {
      throw BadInput("workload.{} is missing: operation '{}' needs it, for example {} = 1024",
                     dim.name, op.name, dim.name);
    }
    const Dims* const all[] = {&workload.size, &workload.tile, &workload.split};
    const char* const prefixes[] = {"", "tile.", "split."};
    for (int i = 0; i < 3; ++i) {
      if (!known && all[i]->*dim.member != 0) {
        throw BadInput("workload.{}{} = {}: operation '{}' has no dimension '{}'; it has {}",
                       prefixes[i], dim.name, all[i]->*dim.member, op.name, dim.name,
                       op.kind == OperationKind::kMatmul
                           ? "m, k, n (and batch: op = \"batchmatmul\")"
                           : "rows, cols, batch");
      }
    }
    if (known && workload.size.*dim.member == 0 && workload.tile.*dim.member != 0) {
      throw BadInput("workload.tile.{} = {}, but workload.{} is not given", dim.name,
                     workload.tile.*dim.member, dim.name);
    }
  }
}

int64_t OrOne(uint64_t size) { return size == 0 ? 1 : static_cast<int64_t>(size); }

// Sizes by name, those that are given, in order of the tensors' dimensions.
std::vector<std::pair<std::string, int64_t>> GivenDims(const Dims& dims) {
  std::vector<std::pair<std::string, int64_t>> given;
  for (const NamedDim& dim : kDims)
    if (dims.*dim.member != 0) given.emplace_back(dim.name, dims.*dim.member);
  return given;
}

void AddTensor(OperationPlan& plan, const char* name, std::vector<int64_t> shape, bool is_output,
               bool sparse, const std::string& file) {
  WorkloadTensor tensor;
  tensor.name = name;
  tensor.position = static_cast<int>(plan.tensors.size());
  tensor.is_input = !is_output;
  tensor.is_output = is_output;
  tensor.file = file;
  tensor.shape = std::move(shape);
  int64_t elements = 1;
  for (const int64_t size : tensor.shape) {
    if (elements > kMaxElements / size) {
      throw BadInput("tensor {} {} is larger than any card; use smaller sizes", name,
                     ShapeText(tensor.shape));
    }
    elements *= size;
  }
  tensor.layout = sparse ? SparseLayout(tensor.shape, DataFormat::kSen169Fp16)
                         : DefaultLayout(tensor.shape, DataFormat::kSen169Fp16);
  plan.tensors.push_back(std::move(tensor));
}

void AddTensors(OperationPlan& plan, const Operation& op, const WorkloadConfig& config) {
  const auto shape_of = [&](std::initializer_list<const char*> names) {
    std::vector<int64_t> shape;
    for (const char* name : names)
      for (const auto& [given, size] : GivenDims(config.size))
        if (given == name) shape.push_back(size);
    return shape;
  };
  const std::string& a = config.input_a;
  const std::string& b = config.input_b;
  if (op.inputs() < 2 && !b.empty()) {
    throw BadInput("workload.inputs.b = \"{}\": operation '{}' has one input, a", b, op.name);
  }
  if (op.kind == OperationKind::kMatmul) {
    AddTensor(plan, "a", shape_of({"batch", "m", "k"}), false, false, a);
    AddTensor(plan, "b", shape_of({"batch", "k", "n"}), false, false, b);
    AddTensor(plan, "out", shape_of({"batch", "m", "n"}), true, false, "");
    return;
  }
  const std::vector<int64_t> whole = shape_of({"batch", "rows", "cols"});
  AddTensor(plan, "a", whole, false, false, a);
  if (op.inputs() == 2) AddTensor(plan, "b", whole, false, false, b);
  if (op.kind != OperationKind::kReduction) {
    AddTensor(plan, "out", whole, true, false, "");
  } else if (config.axis == "rows") {
    AddTensor(plan, "out", shape_of({"batch", "cols"}), true, false, "");
  } else {
    AddTensor(plan, "out", shape_of({"batch", "rows"}), true, true, "");
  }
}

std::string Describe(const Operation& op, const WorkloadConfig& config) {
  std::string text(op.name);
  const auto add = [&](const Dims& dims) {
    for (const auto& [name, size] : GivenDims(dims)) text += fmt::format(" {}={}", name, size);
  };
  add(config.size);
  if (op.kind == OperationKind::kReduction) text += " along " + config.axis;
  if (!GivenDims(config.tile).empty()) {
    text += ", tile";
    add(config.tile);
  }
  return text;
}

// The dimension that the operation sums over; "" if there is none.
std::string ReducedDim(const compiler::KernelSpec& spec) {
  const Operation& op = compiler::RequireOperation(spec.op);
  if (op.kind == OperationKind::kMatmul) return "k";
  return op.kind == OperationKind::kReduction ? spec.axis : "";
}

// What tiles of a reduced dimension cannot make together, whatever carries them.
void RefusePartsOfRows(const OperationPlan& plan) {
  const compiler::KernelSpec& spec = plan.kernel_spec;
  const bool softmax = compiler::RequireOperation(spec.op).kind == OperationKind::kSoftmax;
  if (!softmax && spec.op != "mean") return;
  const std::string along = softmax ? "cols" : spec.axis;
  const int64_t tile = spec.dims.at(along);
  if (tile >= plan.sizes.at(along)) return;
  throw BadInput(
      "workload.tile.{} = {}: {} of parts of its {} elements do not make that of the whole; tiles "
      "of the other dimensions do",
      along, tile, spec.op, plan.sizes.at(along));
}

// A reduced dimension in tiles: how the kernel keeps its sums, or where they are rounded.
void TileReduction(OperationPlan& plan) {
  RefusePartsOfRows(plan);
  compiler::KernelSpec& spec = plan.kernel_spec;
  const std::string reduced = ReducedDim(spec);
  if (reduced.empty() || spec.dims.at(reduced) == plan.sizes.at(reduced)) return;
  const int64_t size = plan.sizes.at(reduced);
  const runtime::ReductionTiling how = plan.launch.reduction;
  const bool carries =
      how == runtime::ReductionTiling::kDevice || how == runtime::ReductionTiling::kLx;
  if (carries && reduced != "k") {
    throw BadInput(
        "workload.launch.reduction = \"{}\": only a matmul carries its sums from launch to launch; "
        "\"plan\" puts the results of parts of a sum, amax or amin together",
        runtime::Name(how));
  }
  switch (how) {
    case runtime::ReductionTiling::kFail:
      return;  // the launch says what would fit
    case runtime::ReductionTiling::kDevice:
      spec.accumulator = compiler::Accumulator::kDevice;
      return;
    case runtime::ReductionTiling::kLx:
      spec.accumulator = compiler::Accumulator::kLx;
      return;
    case runtime::ReductionTiling::kPlan:
      break;
  }
  const int64_t tile = spec.dims.at(reduced);
  for (int64_t end = tile; end < size + tile; end += tile)
    plan.problem.tile_ends.push_back(std::min(end, size));
}

// A run of tiny tiles is far slower than one of large tiles, and nothing else would say why.
void WarnOfManyTiles(OperationPlan& plan) {
  double tiles = 1;
  std::string sizes;
  for (const auto& [name, tile] : plan.kernel_spec.dims) {
    const int64_t count = (plan.sizes.at(name) + tile - 1) / tile;
    tiles *= static_cast<double>(count);
    if (count > 1)
      sizes += fmt::format("{}workload.tile.{} = {}", sizes.empty() ? "" : ", ", name, tile);
  }
  if (tiles <= kManyTiles) return;
  plan.warnings.push_back(fmt::format(
      "WARNING: {} make about {:.0f} launches, which take about {:.0f} s to simulate; larger tiles "
      "make fewer",
      sizes, tiles, tiles / kTilesPerSecond));
}

}  // namespace

OperationPlan PlanOperation(const RunConfig& config) {
  const WorkloadConfig& settings = config.workload;
  const Operation* op = &compiler::RequireOperation(settings.op);
  // A matmul with a batch is a batch matmul.
  if (op->name == "matmul" && settings.size.batch != 0) {
    op = &compiler::RequireOperation("batchmatmul");
  }
  CheckDims(*op, settings);
  if (settings.axis == "rows") {
    if (op->kind != OperationKind::kReduction) {
      throw BadInput(
          "workload.axis = \"rows\" is for reductions; '{}' is {}", op->name,
          op->kind == OperationKind::kSoftmax ? "along cols only" : "elementwise and has no axis");
    }
    if (settings.size.rows == 0) throw BadInput("workload.axis = \"rows\" needs workload.rows");
  }

  OperationPlan plan;
  plan.description = Describe(*op, settings);
  plan.launch = settings.launch;
  compiler::KernelSpec& spec = plan.kernel_spec;
  spec.op = std::string(op->name);
  for (const auto& [name, size] : GivenDims(settings.size)) plan.sizes[name] = size;
  spec.dims = plan.sizes;
  for (const auto& [name, size] : GivenDims(settings.tile)) spec.dims[name] = size;
  for (const auto& [name, parts] : GivenDims(settings.split))
    spec.split[name] = static_cast<int>(parts);
  spec.axis = settings.axis;
  spec.cores = MaxCores(config, std::getenv("SENCORES"));
  spec.split_rule = settings.division;
  spec.matmul_timing = MatmulTimingOf(config.card);
  spec.lx_bytes = config.card.lx_usable_bytes();
  spec.timing_only = !settings.functional;
  spec.schedule = settings.schedule;
  AddTensors(plan, *op, settings);

  ReferenceProblem& problem = plan.problem;
  problem.op = spec.op;
  problem.batch = OrOne(settings.size.batch);
  problem.m = OrOne(settings.size.m);
  problem.k = OrOne(settings.size.k);
  problem.n = OrOne(settings.size.n);
  problem.rows = OrOne(settings.size.rows);
  problem.cols = OrOne(settings.size.cols);
  problem.reduce_rows = op->kind == OperationKind::kReduction && settings.axis == "rows";
  TileReduction(plan);
  WarnOfManyTiles(plan);
  return plan;
}

std::vector<int64_t> ReducedSliceEnds(const compiler::KernelSpec& spec,
                                      const std::map<std::string, int64_t>& sizes,
                                      const std::vector<int64_t>& tile_ends,
                                      const compiler::KernelPlan& plan) {
  const std::string reduced = ReducedDim(spec);
  const auto split = plan.split.find(reduced);
  if (split == plan.split.end() || split->second <= 1) return {};
  // Whole sticks where the dimension is inside a stick: k of a, columns.
  const int64_t unit = reduced == "rows" ? 1 : kStickElements;
  const std::vector<int64_t> whole{sizes.at(reduced)};
  std::vector<int64_t> ends;
  int64_t tile_begin = 0;
  for (const int64_t tile_end : tile_ends.empty() ? whole : tile_ends) {
    const int64_t units = (tile_end - tile_begin + unit - 1) / unit;
    const int64_t slices = std::min<int64_t>(split->second, units);
    int64_t begin = 0;
    for (int64_t slice = 0; slice < slices; ++slice) {
      begin += units / slices + (slice < units % slices ? 1 : 0);
      ends.push_back(std::min(tile_end, tile_begin + begin * unit));
    }
    tile_begin = tile_end;
  }
  return ends;
}

// A kernel for whole tiles, and one for each kind of shorter tile at the ends of dimensions.
WorkloadWork OperationWorkload::Work() const {
  const std::string reduced = ReducedDim(plan_.kernel_spec);
  if (!reduced.empty() && plan_.kernel_spec.dims.at(reduced) != plan_.sizes.at(reduced)) {
    throw BadInput(
        "workload.tile.{} = {}: there is no closed form of sums that are carried from launch to "
        "launch; card.fidelity = \"timed\" simulates them",
        reduced, plan_.kernel_spec.dims.at(reduced));
  }
  struct Tiles {
    compiler::KernelSpec spec;
    uint64_t launches;
  };
  std::vector<Tiles> kinds = {{plan_.kernel_spec, 1}};
  for (const auto& [name, size] : plan_.sizes) {
    const int64_t tile = plan_.kernel_spec.dims.at(name);
    const runtime::Remainder remainder = plan_.launch.remainder;
    if (size % tile != 0 && remainder == runtime::Remainder::kFail) {
      throw BadInput(
          "workload.tile.{} = {}: it does not divide {}; workload.launch.remainder says what "
          "becomes "
          "of the rest",
          name, tile, size);
    }
    const bool pads = remainder == runtime::Remainder::kPad;
    std::vector<Tiles> ends;
    for (Tiles& kind : kinds) {
      if (size % tile != 0 && !pads) {
        ends.push_back(kind);
        ends.back().spec.dims[name] = size % tile;
      }
      kind.launches *= static_cast<uint64_t>(pads ? (size + tile - 1) / tile : size / tile);
    }
    kinds.insert(kinds.end(), ends.begin(), ends.end());
  }
  WorkloadWork work;
  for (const Tiles& kind : kinds) {
    if (kind.launches == 0) continue;
    compiler::KernelPlan plan;
    std::vector<StepWork> steps = WorkOf(kind.spec, plan);
    if (work.kernels.empty()) work.plan = std::move(plan);
    work.kernels.push_back({kind.spec.op, "", kind.launches, std::move(steps)});
  }
  return work;
}

compiler::Kernel OperationWorkload::CompileKernel() const {
  return compiler::GenerateKernel(plan_.kernel_spec);
}

// What the launch would refuse, before anything is simulated.
void OperationWorkload::CheckTiles() const {
  std::vector<runtime::SpyreTensor> tensors;
  for (const WorkloadTensor& tensor : plan_.tensors)
    tensors.push_back(runtime::TensorAt(flex::PFDeviceHandle{}, tensor.layout));
  runtime::CheckLaunch(runtime::KernelSet(std::filesystem::path(directory_)), tensors,
                       LaunchOptionsOf(plan_.launch));
}

CompiledWorkload OperationWorkload::Compile(const std::string& directory) {
  const compiler::Kernel kernel = CompileKernel();
  compiler::WriteSpyreCode(kernel, directory);
  const std::vector<int64_t>& tile_ends = plan_.problem.tile_ends;
  compiler::WriteTileKernels(
      CompileTileKernels(plan_.launch, plan_.kernel_spec, plan_.sizes, !tile_ends.empty()),
      directory);
  slice_ends_ = ReducedSliceEnds(plan_.kernel_spec, plan_.sizes, tile_ends, kernel.plan);
  output_parts_ = OutputParts(plan_.kernel_spec, plan_.sizes, kernel.plan);
  directory_ = directory;
  CheckTiles();
  CompiledWorkload compiled;
  compiled.directory = directory;
  compiled.kernel_names = {kernel.name};
  compiled.plan = kernel.plan;
  compiled.lx[kernel.name] = {kernel.steps, kernel.lx};
  compiled.marks = kernel.steps;
  compiled.chunks = ChunksOf(plan_.launch, plan_.tensors, kernel);
  return compiled;
}

std::unique_ptr<WorkloadRun> OperationWorkload::Open(flex::RuntimeContext& context,
                                                     RunTensors& tensors) const {
  return std::make_unique<KernelRun>(context, *this, tensors,
                                     KernelLaunch{directory_, LaunchOptionsOf(plan_.launch), {}});
}

Verification OperationWorkload::Verify(const std::vector<HostData>& inputs,
                                       const std::vector<HostData>& outputs,
                                       const CheckOptions& options) const {
  ReferenceProblem problem = plan_.problem;
  problem.slice_ends = slice_ends_;
  CheckOptions with_parts = options;
  with_parts.parts = output_parts_;
  return VerifyOperation(std::move(problem), inputs, outputs, with_parts);
}

std::unique_ptr<Workload> ResolveOperation(const RunConfig& config) {
  return std::make_unique<OperationWorkload>(PlanOperation(config));
}

}  // namespace spyre::cosim
