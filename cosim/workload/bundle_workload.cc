#include "cosim/bundle_workload.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <utility>

#include "cosim/bundle_shapes.h"
#include "cosim/launch_settings.h"
#include "cosim/npy.h"
#include "model/contract/error.h"
#include "model/contract/files.h"
#include "model/contract/nearest.h"

namespace spyre::cosim {
namespace {

namespace fs = std::filesystem;
using compiler::ArgumentUse;
using compiler::Bundle;
using compiler::BundleArgument;

constexpr uint64_t kMaxSource = 64 << 20;

int Count(const Bundle& bundle, BundleArgument::Kind kind) {
  return static_cast<int>(
      std::count_if(bundle.arguments.begin(), bundle.arguments.end(),
                    [&](const BundleArgument& argument) { return argument.kind == kind; }));
}

// Whether segment 0 is a pool follows from the number of tensors, if that is known.
void Bind(Bundle& bundle, const std::optional<std::vector<ArgumentShape>>& shapes) {
  if (shapes && bundle.arguments.empty()) {
    Bundle all = bundle;
    compiler::BindSegments(all, false);
    const int segments = Count(all, BundleArgument::Kind::kTensor);
    const auto known = static_cast<int>(shapes->size());
    if (segments == known + 1) {
      Bundle with_pool = bundle;
      compiler::BindSegments(with_pool, true);
      // Nobody has written what a pool holds at first.
      if (!compiler::ArgumentUses(with_pool).front().read_first) all = std::move(with_pool);
    }
    if (segments == known || segments == known + 1) {
      bundle = std::move(all);
      return;
    }
  }
  compiler::BindSegments(bundle);
}

// A name that may be a file's.
std::string FileName(const std::string& name, size_t position, const std::set<std::string>& taken) {
  const bool usable =
      !name.empty() && name.front() != '.' && std::all_of(name.begin(), name.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
      });
  return usable && taken.count(name) == 0 ? name : fmt::format("arg_{}", position);
}

// Whether a tensor has elements in every lane of its sticks, not in the first only.
bool WalksStick(const compiler::SdscTensor& tensor) {
  for (size_t i = 0; i < tensor.dim_order.size() && !tensor.stick_dims.empty(); ++i) {
    if (tensor.dim_order[i] == tensor.stick_dims.front()) return tensor.scale[i] > 0;
  }
  return false;
}

// Adds the arguments in which some operation uses whole sticks.
void FindFullSticks(const Bundle& bundle, const std::vector<compiler::BundleNode>& body,
                    std::set<int>& arguments) {
  for (const compiler::BundleNode& node : body) {
    if (const auto* loop = std::get_if<compiler::BundleLoop>(&node)) {
      FindFullSticks(bundle, loop->body, arguments);
      continue;
    }
    const auto& execute = std::get<compiler::BundleExecute>(node);
    for (const compiler::SdscTensor& tensor : bundle.dscs[execute.dsc].tensors) {
      if (tensor.in_lx || tensor.start.empty() || !WalksStick(tensor)) continue;
      const auto symbol = execute.symbols.find(tensor.start.front());
      if (symbol != execute.symbols.end()) arguments.insert(symbol->second.argument);
    }
  }
}

// The default layout of a shape is too small where the bundle keeps one element in each stick.
void MakeSparse(ArgumentShape& argument) {
  if (argument.shape.empty()) return;
  std::vector<int> order;
  for (size_t d = 0; d < argument.shape.size(); ++d) order.push_back(static_cast<int>(d));
  order.push_back(-1);
  argument.layout =
      MakeLayout(argument.shape, ContiguousStrides(argument.shape), argument.layout.format, order);
}

class Resolver {
 public:
  Resolver(const RunConfig& config, Bundle bundle, std::optional<std::vector<ArgumentShape>> shapes)
      : config_(config), shapes_(std::move(shapes)) {
    Bind(bundle, shapes_);
    uses_ = compiler::ArgumentUses(bundle);
    if (!shapes_) shapes_ = ShapesFromAddresses(bundle, uses_);
    work_.bundle = std::move(bundle);
  }

  Workload Resolve() {
    CheckCount();
    AddTensors();
    AssignFiles();
    ReadDimensions();
    std::vector<std::string> files = work_.bundle.files;
    std::sort(files.begin(), files.end());
    files.erase(std::unique(files.begin(), files.end()), files.end());
    workload_.description = fmt::format("bundle {} ({} SDSC file{})", work_.bundle.name,
                                        files.size(), files.size() == 1 ? "" : "s");
    workload_.lx_bytes = config_.card.lx_usable_bytes();
    workload_.timing_only = !config_.workload.functional;
    workload_.bundle = std::make_shared<const BundleWork>(std::move(work_));
    return std::move(workload_);
  }

 private:
  const std::string& name() const { return work_.bundle.name; }

  void CheckCount() const {
    const int tensors = Count(work_.bundle, BundleArgument::Kind::kTensor);
    if (!shapes_) {
      std::string reach;
      for (size_t i = 0; i < uses_.size(); ++i) {
        if (work_.bundle.arguments[i].kind != BundleArgument::Kind::kTensor) continue;
        reach += fmt::format("{}{} bytes", reach.empty() ? "" : ", ", uses_[i].bytes);
      }
      throw BadInput(
          "bundle {}: the shapes of its {} arguments are not known (they reach over {}): give "
          "--shape 512x4096,..., or a manifest.json with \"kernel_args\" in its directory, or its "
          "OpSpec source as op_spec.py.txt",
          name(), tensors, reach);
    }
    if (static_cast<int>(shapes_->size()) != tensors) {
      throw BadInput("bundle {}: {} shapes are given, the bundle uses {} arguments", name(),
                     shapes_->size(), tensors);
    }
  }

  void AddTensors() {
    std::set<std::string> taken;
    std::set<int> full_sticks;
    FindFullSticks(work_.bundle, work_.bundle.body, full_sticks);
    for (size_t i = 0; i < uses_.size(); ++i) {
      if (work_.bundle.arguments[i].kind != BundleArgument::Kind::kTensor) continue;
      const size_t position = workload_.tensors.size();
      ArgumentShape& shape = (*shapes_)[position];
      const ArgumentUse& use = uses_[i];
      WorkloadTensor tensor;
      tensor.name = FileName(shape.name, position, taken);
      taken.insert(tensor.name);
      const auto fits = [&] {
        return static_cast<uint64_t>(shape.layout.DeviceBytes()) >= use.bytes;
      };
      const bool sparse = full_sticks.count(static_cast<int>(i)) == 0;
      if (!config_.workload.shapes.empty() && sparse && !fits()) MakeSparse(shape);
      if (!fits()) {
        throw BadInput(
            "bundle {}: argument {} ('{}') of shape {} has {} bytes on the device, but the bundle "
            "reaches over {}",
            name(), position, tensor.name, ShapeText(shape.shape), shape.layout.DeviceBytes(),
            use.bytes);
      }
      tensor.position = static_cast<int>(position);
      tensor.is_input = use.read_first || !use.written;
      tensor.is_output = use.written;
      CheckRole(shape, tensor);
      tensor.shape = shape.shape;
      tensor.host_format = shape.host_format;
      tensor.layout = shape.layout;
      workload_.tensors.push_back(std::move(tensor));
    }
  }

  void CheckRole(const ArgumentShape& shape, WorkloadTensor& tensor) const {
    if (shape.role.empty()) return;
    if (shape.role == "input" && tensor.is_output) {
      throw BadInput("bundle {}: argument '{}' is said to be an input, but the bundle writes it",
                     name(), tensor.name);
    }
    if (shape.role != "input" && !tensor.is_output) {
      throw BadInput("bundle {}: argument '{}' is said to be an {}, but the bundle never writes it",
                     name(), tensor.name, shape.role == "output" ? "output" : "input and output");
    }
    if (shape.role == "inout") tensor.is_input = true;
  }

  void AssignFiles() {
    const std::vector<std::string>& files = config_.workload.args;
    if (files.empty()) return;
    std::string names;
    size_t next = 0;
    for (WorkloadTensor& tensor : workload_.tensors) {
      if (!tensor.is_input) continue;
      names += (names.empty() ? "" : ", ") + tensor.name + " " + ShapeText(tensor.shape);
      if (next < files.size()) tensor.file = files[next];
      ++next;
    }
    if (next != files.size()) {
      throw BadInput("bundle {}: {} input files are given, it has {} inputs: {}", name(),
                     files.size(), next, names);
    }
  }

  void ReadDimensions() {
    std::set<std::string> used;
    std::vector<std::string> names;
    for (const BundleArgument& argument : work_.bundle.arguments) {
      if (argument.kind != BundleArgument::Kind::kDimension) continue;
      names.push_back(argument.name);
      const auto given = config_.workload.dims.find(argument.name);
      const std::string allowed =
          fmt::format("a multiple of {} up to {}", argument.granularity * argument.unit,
                      argument.max * argument.unit);
      if (given == config_.workload.dims.end()) {
        throw BadInput("bundle {}: the value of dimension '{}' is missing: --dim {}=N, {}", name(),
                       argument.name, argument.name, allowed);
      }
      const auto value = static_cast<int64_t>(given->second);
      const int64_t trips = (value + argument.unit - 1) / argument.unit;
      if (trips > argument.max || trips % argument.granularity != 0) {
        throw BadInput("bundle {}: dimension {} = {} is not {}", name(), argument.name, value,
                       allowed);
      }
      work_.dimensions.push_back(trips);
      used.insert(argument.name);
    }
    for (const auto& [given, value] : config_.workload.dims) {
      if (used.count(given) == 0) {
        throw BadInput("bundle {}: it has no dimension '{}' that is given at launch{}", name(),
                       given, DidYouMean(given, names));
      }
    }
  }

  const RunConfig& config_;
  std::optional<std::vector<ArgumentShape>> shapes_;
  std::vector<ArgumentUse> uses_;
  BundleWork work_;
  Workload workload_;
};

// Keys that describe one operation say nothing about a bundle.
void RefuseOperationKeys(const WorkloadConfig& workload) {
  const auto given = [&](const Dims& dims) {
    return dims.batch + dims.m + dims.k + dims.n + dims.rows + dims.cols != 0;
  };
  const char* key = nullptr;
  if (given(workload.size)) key = "m, k, n, rows, cols or batch";
  if (given(workload.tile)) key = "tile";
  if (given(workload.split)) key = "split";
  if (IsGiven(workload.launch)) key = "launch";
  if (!workload.input_a.empty() || !workload.input_b.empty()) key = "inputs";
  if (workload.cores != 0) key = "cores";
  if (key != nullptr) {
    throw BadInput("workload.{} has no meaning for a bundle (workload.bundle = \"{}\")", key,
                   workload.bundle);
  }
}

}  // namespace

Workload ResolveBundle(const RunConfig& config) {
  const WorkloadConfig& workload = config.workload;
  RefuseOperationKeys(workload);
  std::shared_ptr<const compiler::KernelSource> source;
  Bundle bundle;
  if (fs::is_directory(workload.bundle)) {
    bundle = compiler::ReadBundle(workload.bundle);
  } else {
    source = std::make_shared<const compiler::KernelSource>(compiler::ParseOpSpecSource(
        ReadFile(workload.bundle, "bundle directory or OpSpec source", kMaxSource),
        workload.bundle));
    bundle = compiler::EmitBundle(*source, compiler::BundleDialect::kSymbolicArguments);
    if (bundle.name.empty()) bundle.name = fs::path(workload.bundle).stem().string();
  }
  std::optional<std::vector<ArgumentShape>> shapes;
  if (!workload.shapes.empty()) {
    shapes.emplace();
    for (const std::string& text : workload.shapes) shapes->push_back(ParseShape(text));
  } else if (source != nullptr) {
    shapes = ShapesFromSource(*source);
  } else {
    shapes = ShapesFromManifest(workload.bundle);
    if (!shapes) shapes = ShapesBesideBundle(workload.bundle);
  }
  Workload result = MakeBundleWorkload(config, std::move(bundle), std::move(shapes));
  result.source = std::move(source);
  return result;
}

Workload MakeBundleWorkload(const RunConfig& config, Bundle bundle,
                            std::optional<std::vector<ArgumentShape>> shapes) {
  return Resolver(config, std::move(bundle), std::move(shapes)).Resolve();
}

std::vector<compiler::KernelArgument> KernelArguments(const Workload& workload) {
  std::vector<compiler::KernelArgument> arguments;
  for (const WorkloadTensor& tensor : workload.tensors) {
    compiler::KernelArgument argument;
    argument.name = tensor.name;
    argument.is_output = tensor.is_output;
    argument.shape = tensor.shape;
    for (size_t d = 0; d < tensor.shape.size(); ++d)
      argument.dims.push_back(fmt::format("{}.{}", tensor.name, d));
    argument.layout = tensor.layout;
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

}  // namespace spyre::cosim
