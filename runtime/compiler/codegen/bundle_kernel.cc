// SPDX-License-Identifier: Apache-2.0
// All SuperDSCs of a bundle in one program, or where a core cannot keep it in several that follow
// each other in one launch. Between two steps the units of a core hand over to its
// ring unit, which meets those of the other cores at a barrier: a step sees everything that the one
// before it has written.
#include "runtime/compiler/codegen/bundle_kernel.h"

#include "base/error.h"
#include "model/contract/program_check.h"
#include "runtime/compiler/bundle/bundle_indices.h"
#include "runtime/compiler/bundle/bundle_starts.h"
#include "runtime/compiler/codegen/bundle_lx.h"
#include "runtime/compiler/codegen/bundle_problem.h"
#include "runtime/compiler/codegen/kernel_layout.h"
#include "runtime/compiler/codegen/step_ops.h"
#include "runtime/compiler/kernels/step_kernels.h"

namespace spyre::compiler {
namespace {

// Tokens of the hand-over: units -> ring unit, and from it one to each unit.
constexpr uint8_t kStepDone = kFirstFreeToken;
constexpr uint8_t kStepGo = kFirstFreeToken + 1;
constexpr Unit kWorkers[] = {Unit::kLoad, Unit::kStore, Unit::kPt, Unit::kVector};
constexpr int kBarrierId = 1;
constexpr size_t kMaxUnrolledNodes = 4096;  // of a bundle's outermost level

uint32_t CoreMask(const Bundle& bundle) {
  uint32_t mask = 0;
  for (const SuperDsc& dsc : bundle.dscs) {
    for (int core : dsc.cores) mask |= 1u << core;
  }
  return mask;
}

CoreColumns::Column Flags(uint32_t mask) {
  CoreColumns::Column flags{};
  for (int core = 0; core < kMaxCores; ++core) flags[core] = mask >> core & 1;
  return flags;
}

class BundleGenerator {
 public:
  BundleGenerator(const Bundle& bundle, const BundleOptions& options)
      : bundle_(bundle),
        options_(options),
        mask_(CoreMask(bundle)),
        part_(mask_),
        resident_bytes_(ResidentLxBytes(bundle)) {
    for (const BundleNode& node : bundle.body) {
      places_.push_back(place_);
      place_.step += Executes(node);
    }
  }

  Kernel Generate(const std::vector<KernelArgument>& arguments) {
    kernel_.name = bundle_.name;
    kernel_.arguments = arguments;
    if (resident_bytes_ > options_.lx_bytes) {
      throw BadInput("{}: its tensors in LX need {} bytes; {} may be used", bundle_.name,
                     resident_bytes_, options_.lx_bytes);
    }
    kernel_.plan.lx_bytes_used = resident_bytes_;
    kernel_.lx = ResidentLxUses(bundle_);
    Enumerate();
    GeneratePrograms();
    CheckStarts(bundle_);
    for (uint32_t rest = mask_; rest != 0; rest &= rest - 1) ++kernel_.plan.cores_used;
    // An operation may read what an earlier bundle has left in LX.
    LayOutAllocation(kernel_, pool_entry_, AlignUp(resident_bytes_, kStickBytes));
    return std::move(kernel_);
  }

 private:
  // One program if a core keeps it. Else steps and loops of the outermost level go into programs in
  // order, as many into each as fit: what they need apart is at least what they need together. Of a
  // loop that does not fit, the iterations do.
  void GeneratePrograms() {
    const Kernel empty = kernel_;
    kernel_.compute = GeneratePart(0, bundle_.body.size());
    if (Fits(kernel_.compute)) return;
    std::vector<Needs> needs;
    while (needs.size() < bundle_.body.size()) {
      const size_t node = needs.size();
      const Program alone = GeneratePart(node, node + 1);
      if (!Fits(alone) && Unroll(node)) continue;
      CheckFits(alone);
      needs.push_back({Bytes(alone) - BytesOfNone(), alone.core_register_width()});
    }
    const size_t nodes = bundle_.body.size();
    kernel_ = empty;
    std::vector<Program> programs;
    for (size_t begin = 0, end = 0; begin < nodes; begin = end) {
      Needs sum{BytesOfNone(), 0};
      for (; end < nodes; ++end) {
        sum.bytes += needs[end].bytes;
        sum.core_registers += needs[end].core_registers;
        const bool fits =
            sum.bytes <= options_.image_bytes && sum.core_registers <= kMaxCoreRegisters;
        if (!fits && end > begin) break;
      }
      programs.push_back(GeneratePart(begin, end));
    }
    kernel_.compute = std::move(programs.front());
    kernel_.more.assign(std::make_move_iterator(programs.begin() + 1),
                        std::make_move_iterator(programs.end()));
  }

  // Puts the iterations of the loop at `node` in its place; false: it is none, or not known how
  // many there are, or too many.
  bool Unroll(size_t node) {
    const auto* loop = std::get_if<BundleLoop>(&bundle_.body[node]);
    if (loop == nullptr || loop->count_argument >= 0 || loop->body.empty()) return false;
    const size_t most = kMaxUnrolledNodes - std::min(bundle_.body.size(), kMaxUnrolledNodes);
    if (static_cast<uint64_t>(loop->count) > most / loop->body.size()) return false;
    const Place place = places_[node];
    std::vector<BundleNode> iterations;
    std::vector<Place> places;
    for (int64_t iteration = 0; iteration < loop->count; ++iteration) {
      int step = place.step;
      for (const BundleNode& inner : loop->body) {
        places.push_back({step, place.iteration * loop->count + iteration});
        step += Executes(inner);
        iterations.push_back(inner);
        TakeIteration(iterations.back(), iteration);
      }
    }
    const auto offset = static_cast<ptrdiff_t>(node);
    places_.insert(places_.erase(places_.begin() + offset), places.begin(), places.end());
    bundle_.body.insert(bundle_.body.erase(bundle_.body.begin() + offset), iterations.begin(),
                        iterations.end());
    return true;
  }

  static int Executes(const BundleNode& node) {
    const auto* loop = std::get_if<BundleLoop>(&node);
    if (loop == nullptr) return 1;
    int executes = 0;
    for (const BundleNode& inner : loop->body) executes += Executes(inner);
    return executes;
  }

  // The addresses of the node in one iteration of the outermost loop around it.
  static void TakeIteration(BundleNode& node, int64_t iteration) {
    if (auto* loop = std::get_if<BundleLoop>(&node)) {
      for (BundleNode& inner : loop->body) TakeIteration(inner, iteration);
      return;
    }
    for (auto& [symbol, address] : std::get<BundleExecute>(node).symbols) {
      if (address.loop_stride.empty()) continue;
      address.constant += address.loop_stride.front() * iteration;
      address.loop_stride.erase(address.loop_stride.begin());
    }
  }

  // The nodes [begin, end) of the outermost level.
  Program GeneratePart(size_t begin, size_t end) {
    part_ = Part(mask_);
    for (size_t node = begin; node < end; ++node) {
      place_ = places_[node];
      Walk(bundle_.body[node]);
    }
    Program program;
    program.name = kernel_.name.substr(0, kMaxProgramName);
    program.core_mask = mask_;
    program.timing_only = options_.timing_only;
    program.generated_loops = options_.schedule == Schedule::kPublic;
    program.address_table.assign(table_entries_, 0);
    program.lx_bytes = static_cast<uint32_t>(kernel_.plan.lx_bytes_used);
    program.sections = part_.code.Finish();
    program.core_registers = part_.columns.Rows();
    return program;
  }

  // Of its image.
  static uint64_t Bytes(const Program& program) {
    size_t instructions = 0;
    for (const Section& section : program.sections) instructions += section.code.size();
    return ImageBytes(program.sections.size(), program.core_registers.size(),
                      program.core_register_width(), program.address_table.size(), instructions);
  }
  uint64_t BytesOfNone() const { return ImageBytes(0, 0, 0, table_entries_, 0); }
  bool Fits(const Program& program) const {
    return Bytes(program) <= options_.image_bytes &&
           program.core_register_width() <= static_cast<size_t>(kMaxCoreRegisters);
  }

  // Table entries of the arguments: tensors first, then dimensions, then the pool, which correction
  // does not write.
  void Enumerate() {
    const std::vector<ArgumentUse> uses = ArgumentUses(bundle_);
    int tensors = 0;
    for (const BundleArgument& argument : bundle_.arguments) {
      if (argument.kind == BundleArgument::Kind::kTensor) ++tensors;
    }
    if (tensors != static_cast<int>(kernel_.arguments.size())) {
      throw BadInput("{}: takes {} tensors; {} are given", bundle_.name, tensors,
                     kernel_.arguments.size());
    }
    int next_tensor = 0;
    int next_dimension = tensors;
    argument_bytes_.assign(bundle_.arguments.size(), 0);
    for (size_t i = 0; i < bundle_.arguments.size(); ++i) {
      const BundleArgument& argument = bundle_.arguments[i];
      int record = 0;
      switch (argument.kind) {
        case BundleArgument::Kind::kTensor:
          CheckSize(kernel_.arguments[next_tensor], uses[i]);
          kernel_.arguments[next_tensor].written_bytes = uses[i].written_bytes;
          argument_bytes_[i] = kernel_.arguments[next_tensor].layout.DeviceBytes();
          record = next_tensor++;
          break;
        case BundleArgument::Kind::kDimension:
          kernel_.dimensions.push_back({argument.name, argument.max, argument.granularity});
          record = next_dimension++;
          break;
        case BundleArgument::Kind::kPool:
          kernel_.pool_bytes = AlignUp(uses[i].bytes, kStickBytes);
          argument_bytes_[i] = static_cast<int64_t>(kernel_.pool_bytes);
          record = -1;
          break;
      }
      entries_.push_back(record * kTableEntriesPerTensor);
    }
    const size_t records = kernel_.arguments.size() + kernel_.dimensions.size();
    size_t table = AlignUp(records * kTableEntriesPerTensor * 8, kStickBytes) / 8;
    if (kernel_.pool_bytes > 0) {
      pool_entry_ = static_cast<int>(table++);
      for (int& entry : entries_) entry = entry < 0 ? pool_entry_ : entry;
    }
    table_entries_ = table;
  }

  void CheckSize(const KernelArgument& argument, const ArgumentUse& use) const {
    const auto bytes = static_cast<uint64_t>(argument.layout.DeviceBytes());
    if (use.written_bytes <= bytes) return;  // what it reads behind them may be padding
    throw BadInput("{}: argument '{}' has {} bytes on the device; the bundle writes as far as {}",
                   bundle_.name, argument.name, bytes, use.written_bytes);
  }

  void Walk(const BundleNode& node) {
    if (const auto* execute = std::get_if<BundleExecute>(&node)) {
      Step(*execute);
      return;
    }
    const BundleLoop& loop = std::get<BundleLoop>(node);
    const int entry = loop.count_argument < 0 ? -1 : entries_[loop.count_argument];
    counts_.push_back({loop.count, entry});
    part_.code.Loop(loop.count, entry, [&] {
      for (const BundleNode& inner : loop.body) Walk(inner);
    });
    counts_.pop_back();
  }

  void Step(const BundleExecute& execute) {
    const SuperDsc& dsc = bundle_.dscs[execute.dsc];
    const std::string& file = bundle_.files[execute.dsc];
    Problem problem = StepProblem(dsc, execute, file, entries_, options_.schedule, part_.columns);
    problem.lx_base = resident_bytes_;
    problem.lx_bytes = options_.lx_bytes;
    if (dsc.index >= 0) {
      problem.index_rows = IndexedRows(bundle_, execute, [&](int argument) {
        return argument_bytes_[static_cast<size_t>(argument)];
      });
      problem.index_tensor = static_cast<int64_t>(kernel_.index_tensors.size());
      kernel_.index_tensors.push_back(IndexName(bundle_, execute));
    }
    const int step = place_.step++;
    Mark(step);
    kernel_.steps.resize(std::max(kernel_.steps.size(), static_cast<size_t>(step) + 1));
    kernel_.steps[static_cast<size_t>(step)] = file;
    const bool all = problem.core_mask == mask_;
    part_.code.set_participates(all ? -1 : part_.columns.Add(Flags(problem.core_mask)));
    const size_t before = part_.code.instructions();
    const uint64_t lx_end = BuildOp(dsc, problem, part_.code);
    CheckStep(dsc, file, part_.code.instructions() - before);
    kernel_.plan.lx_bytes_used = std::max(kernel_.plan.lx_bytes_used, lx_end);
    const std::vector<LxUse> uses = part_.code.TakeLxUses(step, problem.core_mask);
    kernel_.lx.insert(kernel_.lx.end(), uses.begin(), uses.end());
    part_.code.set_participates(-1);
    HandOver();
  }

  void CheckStep(const SuperDsc& dsc, const std::string& file, size_t instructions) {
    if (instructions > longest_.instructions)
      longest_ = {instructions, fmt::format("{} ('{}')", file, dsc.op)};
    if (part_.code.deepest() <= kMaxLoopDepth) return;
    const int around = static_cast<int>(counts_.size());
    const std::string remedy = "use fewer loops (hints) around it, or tensors of fewer dimensions";
    throw CompileError(
        "Unsupported", "loop_nest",
        fmt::format("{}: {}, operation '{}': {} loops around it and {} of its own are within each "
                    "other; the card runs {}: {}",
                    bundle_.name, file, dsc.op, around, part_.code.deepest() - around,
                    kMaxLoopDepth, remedy))
        .Remedy(remedy);
  }

  // Of one node: nothing divides it.
  void CheckFits(const Program& program) const {
    const size_t width = program.core_register_width();
    if (width > static_cast<size_t>(kMaxCoreRegisters)) {
      throw TooLarge(fmt::format("{} values that differ from core to core; a core has {}", width,
                                 kMaxCoreRegisters));
    }
    if (Bytes(program) <= options_.image_bytes) return;
    throw TooLarge(fmt::format(
        "a program of {} bytes; a core keeps at most {} (card.core.lx_reserved_bytes), and the "
        "longest operation, {}, has {} instructions of {} bytes",
        Bytes(program), options_.image_bytes, longest_.name, longest_.instructions,
        kInstructionBytes));
  }

  CompileError TooLarge(const std::string& what) const {
    const std::string remedy = "make several loops of it, each with fewer operations";
    return CompileError("Unsupported", "program_too_large",
                        fmt::format("{}: one of its outermost loops makes {}: {}", bundle_.name,
                                    what, remedy))
        .Remedy(remedy);
  }

  // The first core says so.
  void Mark(int step) {
    const uint32_t first = mask_ & ~(mask_ - 1);
    part_.code.Emit(Unit::kRing, [&](SectionBuilder& b) {
      b.If(b.Core(part_.columns.Add(Flags(first))), [&] {
        Reg iteration = place_.iteration == 0 ? kZero : b.Const(place_.iteration);
        const std::vector<Reg>& loops = part_.code.loops(Unit::kRing);
        for (size_t level = 0; level < loops.size(); ++level) {
          const auto& [count, entry] = counts_[level];
          const Reg trips = entry < 0 ? b.Const(count) : b.Table(entry);
          iteration = b.Add(b.Mul(iteration, trips), loops[level]);
        }
        b.Mark(step, iteration);
      });
    });
  }

  void HandOver() {
    for (Unit unit : kWorkers) {
      part_.code.Emit(unit, [&](SectionBuilder& b) {
        b.Signal(kStepDone);
        b.Wait(static_cast<uint8_t>(kStepGo + static_cast<int>(unit)));
      });
    }
    part_.code.Emit(Unit::kRing, [&](SectionBuilder& b) {
      for (size_t i = 0; i < std::size(kWorkers); ++i) b.Wait(kStepDone);
      b.Emit(Op::kBarrier, 0, {}, {b.Const(mask_), b.Const(kBarrierId)});
      for (Unit unit : kWorkers) b.Signal(static_cast<uint8_t>(kStepGo + static_cast<int>(unit)));
    });
  }

  struct Needs {
    uint64_t bytes = 0;
    size_t core_registers = 0;
  };

  Bundle bundle_;  // as given, but for loops that a core cannot keep, which are unrolled
  const BundleOptions& options_;
  // Of a node of the outermost level: its first execute, counted over the bundle as given, and in
  // which iteration of the loops that were unrolled it is.
  struct Place {
    int step = 0;
    int64_t iteration = 0;
  };
  std::vector<Place> places_;
  Place place_;  // of the step that comes next
  uint32_t mask_;
  struct Part {  // the program that is being made
    explicit Part(uint32_t mask) : code(mask) {}
    CoreColumns columns;
    StepCode code;
  } part_;
  uint64_t resident_bytes_;
  Kernel kernel_;
  ArgumentEntries entries_;
  std::vector<int64_t> argument_bytes_;  // on the device
  int pool_entry_ = -1;
  size_t table_entries_ = 0;
  struct {
    size_t instructions = 0;
    std::string name;
  } longest_;                                    // step so far
  std::vector<std::pair<int64_t, int>> counts_;  // of the loops around: trips, or table entry
};

}  // namespace

Kernel GenerateBundleKernel(const Bundle& bundle, const std::vector<KernelArgument>& arguments,
                            const BundleOptions& options) {
  return BundleGenerator(bundle, options).Generate(arguments);
}

}  // namespace spyre::compiler
