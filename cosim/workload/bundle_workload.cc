// SPDX-License-Identifier: Apache-2.0
// Planning and running of a bundle are in one file because both are about how it was launched: its
// arguments, shapes and dimensions.
#include "cosim/workload/bundle_workload.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/joined.h"
#include "base/nearest.h"
#include "base/ranges.h"
#include "cosim/arguments/bundle_shapes.h"
#include "cosim/tensors/input_data.h"
#include "cosim/tensors/npy.h"
#include "cosim/verify/bundle_verify.h"
#include "cosim/verify/op_list_verify.h"
#include "cosim/verify/op_spec_verify.h"
#include "cosim/verify/padding_reads.h"
#include "cosim/workload/kernel_run.h"
#include "runtime/compiler/bundle/bundle_accesses.h"
#include "runtime/compiler/bundle/bundle_indices.h"
#include "runtime/compiler/bundle/bundle_spans.h"
#include "runtime/compiler/bundle/for_each_execute.h"
#include "runtime/compiler/bundle/lx_reads.h"
#include "runtime/compiler/codegen/spyre_code.h"

namespace spyre::cosim {
namespace {

namespace fs = std::filesystem;
using compiler::ArgumentUse;
using compiler::Bundle;
using compiler::BundleArgument;

int Count(const Bundle& bundle, BundleArgument::Kind kind) {
  return static_cast<int>(
      std::count_if(bundle.arguments.begin(), bundle.arguments.end(),
                    [&](const BundleArgument& argument) { return argument.kind == kind; }));
}

// Whether segment 0 is a pool follows from the number of tensors, if that is known. Returns how the
// arguments are used.
std::vector<ArgumentUse> Bind(Bundle& bundle,
                              const std::optional<std::vector<ArgumentShape>>& shapes) {
  if (shapes && bundle.arguments.empty()) {
    Bundle all = bundle;
    std::vector<ArgumentUse> uses = compiler::BindSegments(all, false);
    const int segments = Count(all, BundleArgument::Kind::kTensor);
    const auto known = static_cast<int>(shapes->size());
    // Nobody has written what a pool holds at first.
    if (segments == known + 1 && !uses.front().read_first) {
      all = bundle;
      uses = compiler::BindSegments(all, true);
    }
    if (segments == known || segments == known + 1) {
      bundle = std::move(all);
      return uses;
    }
  }
  return compiler::BindSegments(bundle);
}

// A name that may be a file's.
std::string FileName(const std::string& name, size_t position, const std::set<std::string>& taken) {
  const bool usable = !name.empty() && name.front() != '.' && AllFit(name, [](char c) {
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
void FindFullSticks(const Bundle& bundle, std::set<int>& arguments) {
  compiler::ForEachExecute(bundle, [&](const compiler::BundleExecute& execute, const auto&) {
    for (const compiler::SdscTensor& tensor : bundle.dscs[execute.dsc].tensors) {
      if (tensor.in_lx || tensor.start.empty() || !WalksStick(tensor)) continue;
      const auto symbol = execute.symbols.find(tensor.start.front());
      if (symbol != execute.symbols.end()) arguments.insert(symbol->second.argument);
    }
  });
}

class BundlePlanner {
 public:
  BundlePlanner(const BundleSettings& settings, Bundle bundle,
                std::optional<std::vector<ArgumentShape>> shapes)
      : settings_(settings), shapes_(std::move(shapes)) {
    uses_ = Bind(bundle, shapes_);
    const std::set<std::string> files(bundle.files.begin(), bundle.files.end());
    files_ = files.size();
    const size_t own = bundle.arguments.size();
    if (settings.alone) {
      lx_notes_ = compiler::TakeLxFromArgument(bundle);
      for (std::string& line : compiler::GiveLxToArgument(bundle))
        lx_notes_.push_back(std::move(line));
    }
    const size_t added = bundle.arguments.size() - own;
    if (added > 0) uses_ = compiler::ArgumentUses(bundle);
    const std::vector<ArgumentShape> images = ShapesOfImages(bundle, uses_);
    if (shapes_)
      shapes_->insert(shapes_->end(), images.end() - static_cast<ptrdiff_t>(added), images.end());
    if (!shapes_) shapes_ = ShapesFromAddresses(bundle, uses_);
    images_ = !shapes_;
    if (images_) shapes_ = images;
    // What they look like is known, whatever is found for the others.
    std::copy(images.end() - static_cast<ptrdiff_t>(added), images.end(),
              shapes_->end() - static_cast<ptrdiff_t>(added));
    launched_.bundle = std::move(bundle);
  }

  BundlePlan Plan() {
    BundlePlan plan;
    CheckCores();
    CheckSpans(plan.warnings);
    for (const std::vector<std::string>* notes : {&launched_.bundle.notes, &lx_notes_})
      plan.warnings.insert(plan.warnings.end(), notes->begin(), notes->end());
    compiler::CheckLxReads(launched_.bundle);
    CheckCount();
    AddTensors();
    BoundIndices();
    AssignFiles();
    ReadDimensions();
    CheckReach(plan.warnings);
    plan.description =
        fmt::format("bundle {} ({} SDSC file{}){}", name(), files_, files_ == 1 ? "" : "s",
                    images_ ? ", shapes not known: each argument is an image of its sticks" : "");
    plan.options.lx_bytes = settings_.lx_bytes;
    plan.options.image_bytes = settings_.image_bytes;
    plan.options.timing_only = settings_.timing_only;
    plan.options.schedule = settings_.schedule;
    plan.launched = std::move(launched_);
    return plan;
  }

 private:
  const std::string& name() const { return launched_.bundle.name; }

  // A bundle says itself which cores do what.
  void CheckCores() const {
    int last = 0;
    for (const compiler::SuperDsc& dsc : launched_.bundle.dscs)
      for (const int core : dsc.cores) last = std::max(last, core);
    if (last < settings_.cores) return;
    const std::string remedy =
        fmt::format("run it with card.cores = {} or more, or compile it for {} core{}", last + 1,
                    settings_.cores, settings_.cores == 1 ? "" : "s");
    throw BadInput("bundle {}: it works on cores 0 to {}, and the card has {} core{}: {}", name(),
                   last, settings_.cores, settings_.cores == 1 ? "" : "s", remedy)
        .Subject("card.cores")
        .Remedy(remedy);
  }

  void CheckSpans(std::vector<std::string>& warnings) const {
    warnings = compiler::LongSpans(launched_.bundle);
    if (warnings.empty() || settings_.allow_long_spans) return;
    const std::string remedy =
        "divide the work over more cores, or allow it with workload.long_spans = \"allow\"";
    throw BadInput("bundle {}: {}: {}", name(), Joined(warnings, "; "), remedy).Remedy(remedy);
  }

  void CheckCount() const {
    const int tensors = Count(launched_.bundle, BundleArgument::Kind::kTensor);
    if (static_cast<int>(shapes_->size()) != tensors) {
      throw BadInput("bundle {}: {} shapes are given, the bundle uses {} arguments", name(),
                     shapes_->size(), tensors);
    }
  }

  void AddTensors() {
    std::set<std::string> taken;
    std::set<int> full_sticks;
    FindFullSticks(launched_.bundle, full_sticks);
    for (size_t i = 0; i < uses_.size(); ++i) {
      if (launched_.bundle.arguments[i].kind != BundleArgument::Kind::kTensor) continue;
      const size_t position = launched_.tensors.size();
      ArgumentShape& shape = (*shapes_)[position];
      const ArgumentUse& use = uses_[i];
      WorkloadTensor tensor;
      tensor.name = FileName(shape.name, position, taken);
      taken.insert(tensor.name);
      const auto fits = [&] {
        return static_cast<uint64_t>(shape.layout.DeviceBytes()) >= use.bytes;
      };
      const bool sparse = full_sticks.count(static_cast<int>(i)) == 0;
      // The default layout is too small where the bundle keeps one element in each stick.
      if (settings_.default_layouts && sparse && !fits())
        shape.layout = SparseLayout(shape.shape, shape.layout.format);
      tensor.position = static_cast<int>(position);
      // What an output does not overwrite keeps its bytes, so they have to be there.
      const auto bytes = static_cast<uint64_t>(shape.layout.DeviceBytes());
      tensor.is_input = use.read_first || use.whole_bytes < bytes;
      tensor.is_output = use.written;
      CheckRole(shape, tensor);
      tensor.shape = shape.shape;
      tensor.host_format = shape.host_format;
      tensor.layout = shape.layout;
      launched_.tensors.push_back(std::move(tensor));
    }
  }

  // What is written lies within the arguments; what is read may be padding behind them.
  void CheckReach(std::vector<std::string>& warnings) const {
    const std::vector<int> arguments = TensorArguments(launched_.bundle);
    const size_t before = warnings.size();
    for (size_t i = 0; i < arguments.size(); ++i) {
      const WorkloadTensor& tensor = launched_.tensors[i];
      const ArgumentUse& use = uses_[static_cast<size_t>(arguments[i])];
      const auto bytes = static_cast<uint64_t>(tensor.layout.DeviceBytes());
      if (use.bytes <= bytes) continue;
      std::string reach = fmt::format(
          "bundle {}: argument {} ('{}') of shape {} has {} bytes on the device, but the bundle "
          "reaches over {}",
          name(), i, tensor.name, ShapeText(tensor.shape), bytes, use.bytes);
      if (use.written_bytes > bytes) throw BadInput("{}", reach);
      warnings.push_back(std::move(reach));
    }
    if (warnings.size() == before) return;
    std::vector<HostData> inputs;
    for (const WorkloadTensor& tensor : launched_.tensors)
      inputs.push_back(tensor.is_input ? LoadInput({}, tensor) : HostData{});
    if (DependsOnNeighbours(launched_, inputs)) {
      throw BadInput("{}, and its results depend on what it reads there", warnings[before]);
    }
    for (size_t i = before; i < warnings.size(); ++i)
      warnings[i] += "; it reads there, and no result depends on it";
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

  void BoundIndices() {  // generated ones, to the blocks that there are
    const std::vector<int> arguments = TensorArguments(launched_.bundle);
    const auto bytes = [&](int argument) {
      const auto at = std::find(arguments.begin(), arguments.end(), argument);
      return at == arguments.end()
                 ? static_cast<int64_t>(uses_[static_cast<size_t>(argument)].bytes)
                 : launched_.tensors[static_cast<size_t>(at - arguments.begin())]
                       .layout.DeviceBytes();
    };
    for (const compiler::BundleAccess& access : compiler::Accesses(launched_.bundle)) {
      const int index = access.dsc->index;
      if (index < 0 || access.tensor != &access.dsc->tensors[index]) continue;
      const int argument = compiler::StartOf(access, 0).argument;
      const auto at = std::find(arguments.begin(), arguments.end(), argument);
      if (at == arguments.end()) continue;  // the bundle computes it
      WorkloadTensor& tensor = launched_.tensors[static_cast<size_t>(at - arguments.begin())];
      const int64_t rows = compiler::IndexedRows(launched_.bundle, *access.execute, bytes);
      tensor.whole_below = tensor.whole_below ? std::min(*tensor.whole_below, rows) : rows;
    }
  }

  void AssignFiles() {
    const std::vector<std::string>& files = settings_.files;
    if (files.empty()) return;
    std::string names;
    size_t next = 0;
    for (WorkloadTensor& tensor : launched_.tensors) {
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
    for (const BundleArgument& argument : launched_.bundle.arguments) {
      if (argument.kind != BundleArgument::Kind::kDimension) continue;
      names.push_back(argument.name);
      const auto given = settings_.dims.find(argument.name);
      const std::string allowed =
          fmt::format("a multiple of {} up to {}", argument.granularity * argument.unit,
                      argument.max * argument.unit);
      if (given == settings_.dims.end()) {
        throw BadInput("bundle {}: the value of dimension '{}' is missing: --dim {}=N, {}", name(),
                       argument.name, argument.name, allowed);
      }
      const auto value = static_cast<int64_t>(given->second);
      const int64_t trips = (value + argument.unit - 1) / argument.unit;
      if (trips < 1 || trips > argument.max || trips % argument.granularity != 0) {
        throw BadInput("bundle {}: dimension {} = {} is not {}", name(), argument.name, value,
                       allowed);
      }
      launched_.dimensions.push_back(trips);
      used.insert(argument.name);
    }
    for (const auto& [given, value] : settings_.dims) {
      if (used.count(given) == 0) {
        throw BadInput("bundle {}: it has no dimension '{}' that is given at launch{}", name(),
                       given, DidYouMean(given, names));
      }
    }
  }

  const BundleSettings& settings_;
  std::optional<std::vector<ArgumentShape>> shapes_;
  std::vector<ArgumentUse> uses_;
  size_t files_ = 0;                   // of SDSC, each once
  std::vector<std::string> lx_notes_;  // of arguments that hold what LX does, first or last
  bool images_ = false;                // nothing says what the arguments look like on the host
  LaunchedBundle launched_;
};

}  // namespace

std::unique_ptr<Workload> ResolveBundle(const RunConfig& config) {
  const WorkloadConfig& workload = config.workload;
  std::shared_ptr<const compiler::KernelSource> source;
  Bundle bundle;
  if (fs::is_directory(workload.bundle)) {
    if (!workload.kernel.empty()) {
      throw BadInput("workload.kernel = \"{}\": {} is a bundle, which holds one kernel",
                     workload.kernel, workload.bundle);
    }
    bundle = compiler::ReadBundle(workload.bundle);
  } else {
    source = std::make_shared<const compiler::KernelSource>(compiler::ParseOpSpecSource(
        ReadFile(workload.bundle, "bundle directory or OpSpec source", kMaxOpSpecBytes),
        workload.bundle, workload.kernel));
    CheckTiledArguments(*source, workload.bundle);
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
  BundleSettings settings = BundleSettingsOf(config);
  settings.default_layouts = !workload.shapes.empty();
  settings.files = workload.args;
  settings.dims = workload.dims;
  settings.alone = true;
  BundlePlan plan = PlanBundle(settings, std::move(bundle), std::move(shapes));
  plan.source = std::move(source);
  return std::make_unique<BundleWorkload>(std::move(plan));
}

BundleSettings BundleSettingsOf(const RunConfig& config) {
  BundleSettings settings;
  settings.cores = static_cast<int>(config.card.cores);
  settings.lx_bytes = config.card.lx_usable_bytes();
  settings.image_bytes = config.card.core.lx_reserved_bytes;
  settings.allow_long_spans = config.workload.long_spans == LongSpans::kAllow;
  settings.timing_only = !config.workload.functional;
  settings.schedule = config.workload.schedule;
  return settings;
}

BundlePlan PlanBundle(const BundleSettings& settings, Bundle bundle,
                      std::optional<std::vector<ArgumentShape>> shapes) {
  return BundlePlanner(settings, std::move(bundle), std::move(shapes)).Plan();
}

compiler::Kernel CompileBundleKernel(const BundlePlan& plan) {
  if (plan.kernel != nullptr) return *plan.kernel;
  std::vector<compiler::KernelArgument> arguments;
  for (const WorkloadTensor& tensor : plan.launched.tensors) {
    compiler::KernelArgument argument;
    argument.name = tensor.name;
    argument.is_output = tensor.is_output;
    argument.shape = tensor.shape;
    for (size_t d = 0; d < tensor.shape.size(); ++d)
      argument.dims.push_back(fmt::format("{}.{}", tensor.name, d));
    argument.layout = tensor.layout;
    arguments.push_back(std::move(argument));
  }
  return compiler::GenerateBundleKernel(plan.launched.bundle, arguments, plan.options);
}

WorkloadWork BundleWorkload::Work() const {
  WorkloadWork work;
  work.kernels.push_back(
      {plan_.launched.bundle.name, "", 1, WorkOf(plan_.launched, plan_.options.lx_bytes)});
  for (const compiler::SuperDsc& dsc : plan_.launched.bundle.dscs)
    work.plan.cores_used = std::max(work.plan.cores_used, static_cast<int>(dsc.cores.size()));
  return work;
}

compiler::Kernel BundleWorkload::CompileKernel() const { return CompileBundleKernel(plan_); }

CompiledWorkload BundleWorkload::Compile(const std::string& directory) {
  const compiler::Kernel kernel = CompileKernel();
  compiler::WriteSpyreCode(kernel, directory);
  directory_ = directory;
  CompiledWorkload compiled;
  compiled.directory = directory;
  compiled.kernel_names = {kernel.name};
  compiled.plan = kernel.plan;
  compiled.lx[kernel.name] = {kernel.steps, kernel.lx};
  compiled.marks = kernel.steps;
  compiled.steps = StepsOf(plan_.launched.bundle, plan_.launched.dimensions);
  compiled.chunks.resize(tensors().size());
  return compiled;
}

std::unique_ptr<WorkloadRun> BundleWorkload::Open(flex::RuntimeContext& context,
                                                  RunTensors& tensors) const {
  return std::make_unique<KernelRun>(context, *this, tensors,
                                     KernelLaunch{directory_, {}, plan_.launched.dimensions});
}

Verification BundleWorkload::Verify(const std::vector<HostData>& inputs,
                                    const std::vector<HostData>& outputs,
                                    const CheckOptions& options) const {
  if (plan_.operations != nullptr)
    return VerifyOpList(*plan_.operations, plan_.launched, inputs, outputs, options);
  if (plan_.source != nullptr)
    return VerifyOpSpecs(*plan_.source, plan_.launched, inputs, outputs, options);
  return VerifyBundle(plan_.launched, inputs, outputs, options);
}

}  // namespace spyre::cosim
