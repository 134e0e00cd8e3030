#include "cosim/workload.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "cosim/bundle_workload.h"
#include "cosim/graph_workload.h"
#include "cosim/issue_workload.h"
#include "cosim/npy.h"
#include "cosim/parallel.h"
#include "model/contract/error.h"
#include "runtime/compiler/op_list.h"
#include "runtime/spyre/launch_options.h"

namespace spyre::cosim {
namespace {

using compiler::Operation;
using compiler::OperationKind;

constexpr int64_t kStickElements = 64;
constexpr int64_t kMaxElements = 1ll << 42;  // 8 TiB of float16: beyond any card, within 64 bits
constexpr double kWholeNumberScale = 8;      // generated integers reach from -8 to 8

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

void AddTensor(Workload& workload, const char* name, std::vector<int64_t> shape, bool is_output,
               bool sparse, const std::string& file) {
  WorkloadTensor tensor;
  tensor.name = name;
  tensor.position = static_cast<int>(workload.tensors.size());
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
  if (sparse && !tensor.shape.empty()) {
    std::vector<int> order;
    for (size_t i = 0; i < tensor.shape.size(); ++i) order.push_back(static_cast<int>(i));
    order.push_back(-1);
    tensor.layout =
        MakeLayout(tensor.shape, ContiguousStrides(tensor.shape), DataFormat::kSen169Fp16, order);
  } else {
    tensor.layout = DefaultLayout(tensor.shape, DataFormat::kSen169Fp16);
  }
  workload.tensors.push_back(std::move(tensor));
}

void AddTensors(Workload& workload, const Operation& op, const WorkloadConfig& config) {
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
    AddTensor(workload, "a", shape_of({"batch", "m", "k"}), false, false, a);
    AddTensor(workload, "b", shape_of({"batch", "k", "n"}), false, false, b);
    AddTensor(workload, "out", shape_of({"batch", "m", "n"}), true, false, "");
    return;
  }
  const std::vector<int64_t> whole = shape_of({"batch", "rows", "cols"});
  AddTensor(workload, "a", whole, false, false, a);
  if (op.inputs() == 2) AddTensor(workload, "b", whole, false, false, b);
  if (op.kind != OperationKind::kReduction) {
    AddTensor(workload, "out", whole, true, false, "");
  } else if (config.axis == "rows") {
    AddTensor(workload, "out", shape_of({"batch", "cols"}), true, false, "");
  } else {
    AddTensor(workload, "out", shape_of({"batch", "rows"}), true, true, "");
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
void RefusePartsOfRows(const Workload& workload) {
  const compiler::KernelSpec& spec = workload.kernel_spec;
  const bool softmax = compiler::RequireOperation(spec.op).kind == OperationKind::kSoftmax;
  if (!softmax && spec.op != "mean") return;
  const std::string along = softmax ? "cols" : spec.axis;
  const int64_t tile = spec.dims.at(along);
  if (tile >= workload.sizes.at(along)) return;
  throw BadInput(
      "workload.tile.{} = {}: {} of parts of its {} elements do not make that of the whole; tiles "
      "of the other dimensions do",
      along, tile, spec.op, workload.sizes.at(along));
}

// A reduced dimension in tiles: how the kernel keeps its sums, or where they are rounded.
void TileReduction(const LaunchConfig& launch, Workload& workload) {
  RefusePartsOfRows(workload);
  compiler::KernelSpec& spec = workload.kernel_spec;
  const std::string reduced = ReducedDim(spec);
  if (reduced.empty() || spec.dims.at(reduced) == workload.sizes.at(reduced)) return;
  const int64_t size = workload.sizes.at(reduced);
  const auto how = runtime::ReductionTilingFromName(launch.reduction);
  const bool carries =
      how == runtime::ReductionTiling::kDevice || how == runtime::ReductionTiling::kLx;
  if (carries && reduced != "k") {
    throw BadInput(
        "workload.launch.reduction = \"{}\": only a matmul carries its sums from launch to launch; "
        "\"plan\" puts the results of parts of a sum, amax or amin together",
        launch.reduction);
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
    workload.problem.tile_ends.push_back(std::min(end, size));
}

// A well-mixed 64-bit number for each (seed, stream, index): splitmix64's finaliser.
uint64_t Mix(uint64_t seed, uint64_t stream, uint64_t index) {
  uint64_t z = seed * 0x9E3779B97F4A7C15u + stream * 0xD1B54A32D192ED03u + index;
  z = (z + 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

double Generated(const std::string& distribution, uint64_t bits) {
  if (distribution == "normal") {
    // Four 16-bit uniforms, their sum scaled to variance 1: bell-shaped, and the same on every
    // host because no library function is involved. Its tails end at 3.46.
    double sum = 0;
    for (int i = 0; i < 4; ++i) sum += static_cast<double>((bits >> (16 * i)) & 0xFFFF) - 32767.5;
    constexpr double kScale = 1.7320508075688772 / 65536;  // sqrt(12 / 4) per step
    return sum * kScale;
  }
  const double unit = static_cast<double>(bits >> 40) / (1 << 24);
  if (distribution == "positive") return 0.0625 + unit * (4 - 0.0625);
  const double uniform = unit * 2 - 1;
  return distribution == "small" ? uniform / 16 : uniform;
}

}  // namespace

int64_t WorkloadTensor::elements() const {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

int64_t WorkloadTensor::host_bytes() const { return elements() * HostFormatOf(host_format).bytes; }

int MaxCores(const RunConfig& config, const char* sencores) {
  const auto wanted = static_cast<int>(config.workload.cores);
  const auto present = static_cast<int>(config.card.cores);
  if (wanted > present) {
    throw BadInput("workload.cores = {}: the card has {} (card.cores)", wanted, present);
  }
  // What the workload says goes before the environment.
  return wanted != 0 ? wanted : LimitCores(present, sencores);
}

int LimitCores(int cores, const char* sencores) {
  if (sencores == nullptr) return cores;
  int limit = 0;
  const char* end = sencores + std::strlen(sencores);
  const auto [stop, error] = std::from_chars(sencores, end, limit);
  if (error != std::errc() || stop != end || limit < 1 || limit > kMaxCores) {
    throw BadInput("environment variable SENCORES = \"{}\" must be a whole number from 1 to {}",
                   sencores, kMaxCores);
  }
  return std::min(cores, limit);
}

compiler::MatmulTiming MatmulTimingOf(const model::CardConfig& card) {
  // The public figures are of the public card, and include what it loses to refresh, turnaround and
  // check bytes: a card with other rates is faster or slower in proportion.
  const model::CardConfig calibrated;
  const auto macs = [](const model::CardConfig& c) {
    return static_cast<double>(c.core.corelets * c.core.pt_macs_per_cycle * c.clock.core_mhz);
  };
  const auto bytes = [](const model::CardConfig& c) {
    return static_cast<double>(c.memory.channels * c.memory.channel_bits * c.memory.transfer_mts);
  };
  compiler::MatmulTiming timing;
  timing.macs_per_core_ns *= macs(card) / macs(calibrated);
  timing.memory_bytes_per_ns *= bytes(card) / bytes(calibrated);
  timing.cohort = static_cast<double>(card.ring.multicast_cohort);
  timing.cohort_exponent = static_cast<double>(card.ring.multicast_exponent_percent) / 100;
  return timing;
}

Workload ResolveWorkload(const RunConfig& config) {
  CheckIssueKeys(config.workload);
  if (HasIssue(config.workload)) return ResolveIssue(config);
  if (HasGraph(config.workload)) return ResolveGraph(config);
  if (!config.workload.bundle.empty()) return ResolveBundle(config);
  WorkloadConfig settings = config.workload;
  const Operation* op = &compiler::RequireOperation(settings.op);
  // A matmul with a batch is a batch matmul.
  if (op->name == "matmul" && settings.size.batch != 0) {
    op = &compiler::RequireOperation("batchmatmul");
  }
  CheckDims(*op, settings);
  if (settings.axis == "rows") {
    if (op->kind != OperationKind::kReduction) {
      throw BadInput(
          "workload.axis = \"rows\" is for the reductions sum, amax, amin and mean; '{}' is {}",
          op->name,
          op->kind == OperationKind::kSoftmax ? "along cols only" : "elementwise and has no axis");
    }
    if (settings.size.rows == 0) throw BadInput("workload.axis = \"rows\" needs workload.rows");
  }

  Workload workload;
  workload.description = Describe(*op, settings);
  compiler::KernelSpec& spec = workload.kernel_spec;
  spec.op = std::string(op->name);
  for (const auto& [name, size] : GivenDims(settings.size)) workload.sizes[name] = size;
  spec.dims = workload.sizes;
  for (const auto& [name, size] : GivenDims(settings.tile)) spec.dims[name] = size;
  for (const auto& [name, parts] : GivenDims(settings.split))
    spec.split[name] = static_cast<int>(parts);
  spec.axis = settings.axis;
  spec.cores = MaxCores(config, std::getenv("SENCORES"));
  spec.split_rule = compiler::SplitRuleFromName(settings.division);
  spec.matmul_timing = MatmulTimingOf(config.card);
  spec.lx_bytes = config.card.lx_usable_bytes();
  spec.timing_only = !settings.functional;
  AddTensors(workload, *op, settings);

  ReferenceProblem& problem = workload.problem;
  problem.op = spec.op;
  problem.batch = OrOne(settings.size.batch);
  problem.m = OrOne(settings.size.m);
  problem.k = OrOne(settings.size.k);
  problem.n = OrOne(settings.size.n);
  problem.rows = OrOne(settings.size.rows);
  problem.cols = OrOne(settings.size.cols);
  problem.reduce_rows = op->kind == OperationKind::kReduction && settings.axis == "rows";
  TileReduction(settings.launch, workload);
  return workload;
}

HostData LoadInput(const RunConfig& config, const WorkloadTensor& tensor) {
  if (!tensor.file.empty()) {
    NpyArray array = ReadNpy(tensor.file, "input " + tensor.name,
                             HostFormatOf(tensor.host_format).npy, tensor.shape);
    return std::move(array.data);
  }
  HostData data(static_cast<size_t>(tensor.host_bytes()));
  if (tensor.constant) {
    for (int64_t i = 0; i < tensor.elements(); ++i)
      StoreHost(tensor.host_format, *tensor.constant, data.data(), i);
    return data;
  }
  const std::string& distribution = config.workload.distribution;
  const bool whole_numbers =
      tensor.host_format != DataFormat::kIeeeFp16 && tensor.host_format != DataFormat::kIeeeFp32;
  const double scale = whole_numbers ? kWholeNumberScale : 1;
  const uint64_t stream = static_cast<uint64_t>(tensor.position) + 1;
  ParallelFor(tensor.elements(), 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const uint64_t bits = Mix(config.workload.seed, stream, static_cast<uint64_t>(i));
      StoreHost(tensor.host_format, scale * Generated(distribution, bits), data.data(), i);
    }
  });
  return data;
}

std::vector<int64_t> ReducedSliceEnds(const Workload& workload, const compiler::KernelPlan& plan) {
  const std::string reduced = ReducedDim(workload.kernel_spec);
  const auto split = plan.split.find(reduced);
  if (split == plan.split.end() || split->second <= 1) return {};
  // Whole sticks where the dimension is inside a stick: k of a, columns.
  const int64_t unit = reduced == "rows" ? 1 : kStickElements;
  const std::vector<int64_t> whole{workload.sizes.at(reduced)};
  const auto& tiles = workload.problem.tile_ends;
  std::vector<int64_t> ends;
  int64_t tile_begin = 0;
  for (const int64_t tile_end : tiles.empty() ? whole : tiles) {
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

}  // namespace spyre::cosim
